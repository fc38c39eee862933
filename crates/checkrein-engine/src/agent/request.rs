//! What the built-in agent asked of its model, whole, for whoever audits it.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use checkrein_agent::requests;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunEvent;
use serde_json::Value;

use crate::authority::{Act, require};
use crate::job::JobPlace;
use crate::run::{Place, output_name, redact, secrets_of};
use crate::{Engine, EngineError};

/// A request to a model, and what came back.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub task: String,
    pub attempt: u32,
    /// Which start of an attempt it was.
    pub start: u64,
    pub kept: requests::Kept,
}

impl Engine {
    /// Every request of a run; `wanted` picks one as START.NUMBER. Secrets are masked.
    pub async fn model_requests(
        &self,
        by: &Principal,
        id: &str,
        wanted: Option<&str>,
    ) -> Result<Vec<ModelRequest>, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, id).await?).await?;
        let place = Place::at(&self.store, &view.run.id);
        let job = JobPlace::of(&self.store, &view.run.id);
        let mut secrets: Vec<String> = secrets_of(&view.run, &self.settings);
        let addresses = job.addresses_kept();
        secrets.extend(
            addresses.iter().flat_map(|(_, address)| checkrein_core::run::job::Datasource::secrets(address)),
        );
        let mut found = Vec::new();
        for (_, _, event) in &view.history {
            let RunEvent::AttemptStarted { task, attempt, start } = event else { continue };
            let settled = place.file(&output_name(*start, task), "requests.jsonl");
            let under_way = job.exchange().join(format!("{start:04}.requests.jsonl"));
            let path = if settled.exists() { settled } else { under_way };
            for mut kept in requests::read(&path) {
                if wanted.is_some_and(|wanted| wanted != format!("{start}.{}", kept.number)) {
                    continue;
                }
                clean(&mut kept, &secrets);
                found.push(ModelRequest { task: task.clone(), attempt: *attempt, start: *start, kept });
            }
        }
        Ok(found)
    }
}

fn clean(kept: &mut requests::Kept, secrets: &[String]) {
    redact(&mut kept.exchange.request, secrets);
    if let Some(answer) = &mut kept.exchange.answer {
        redact(answer, secrets);
    }
    if let Some(error) = &mut kept.exchange.error {
        let mut value = Value::String(std::mem::take(error));
        redact(&mut value, secrets);
        *error = value.as_str().unwrap_or_default().to_owned();
    }
}

/// Takes the requests of an attempt that ended to where its output is, out of its agent's reach.
pub(crate) fn keep_requests(from: &Path, to: &Path, secrets: &[String]) {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let Ok(mut file) = std::fs::File::options().read(true).custom_flags(nofollow).open(from) else { return };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return;
    }
    let mut text = String::new();
    if std::io::Read::read_to_string(&mut file, &mut text).is_err() {
        return;
    }
    let lines = text.lines().filter_map(|line| {
        let mut value: Value = serde_json::from_str(line).ok()?;
        redact(&mut value, secrets);
        Some(format!("{value}\n"))
    });
    let kept: String = lines.collect();
    let written = std::fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(to);
    if written.and_then(|mut file| std::io::Write::write_all(&mut file, kept.as_bytes())).is_ok() {
        let _ = std::fs::remove_file(from);
    }
}
