//! What the built-in agent asked of its model, whole, for whoever audits it.

use checkrein_agent::requests;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunEvent;
use serde_json::Value;

use crate::agent_dir::AgentFile;
use crate::authority::{Act, require};
use crate::job::{JobPlace, out};
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
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let mut found = Vec::new();
        for (_, _, event) in &view.history {
            let RunEvent::AttemptStarted { task, attempt, start } = event else { continue };
            let settled = AgentFile::named(&place.file(&output_name(*start, task), "requests.jsonl"));
            let under_way = job.file(out(*start).join("requests.jsonl"));
            let Ok(file) = settled.open().or_else(|_| under_way.open()) else { continue };
            for mut kept in requests::read(file) {
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
pub(crate) fn keep_requests(from: &AgentFile, to: &AgentFile, secrets: &[String]) {
    let Ok(file) = from.open() else { return };
    let mut kept = String::new();
    for line in requests::lines(file) {
        let Ok(mut value) = serde_json::from_slice::<Value>(&line) else { continue };
        redact(&mut value, secrets);
        kept.push_str(&format!("{value}\n"));
    }
    if to.replace(kept.as_bytes()).is_ok() {
        let _ = from.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Takes over what an agent left under the name of its requests; what was kept.
    fn kept(leave: impl FnOnce(&Path)) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        leave(&from);
        let (done, waits) = std::sync::mpsc::channel();
        let (took, kept) = (AgentFile::named(&from), AgentFile::named(&to));
        std::thread::spawn(move || {
            keep_requests(&took, &kept, &["hunter2".to_owned()]);
            done.send(())
        });
        waits.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits for ever");
        std::fs::read_to_string(&to).ok()
    }

    #[test]
    fn requests_are_kept_without_secrets_and_nothing_else_is() {
        let text = kept(|at| std::fs::write(at, "{\"a\":\"hunter2\"}\nno\n\n{\"b\":1}").unwrap());
        assert_eq!(text.unwrap(), "{\"a\":\"***\"}\n{\"b\":1}\n");
        let pipe = kept(|at| {
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        });
        assert_eq!(pipe, None);
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "{\"key\": \"mine\"}").unwrap();
        assert_eq!(kept(|at| std::os::unix::fs::symlink(secret.path(), at).unwrap()), None);
        assert_eq!(kept(|at| std::fs::create_dir(at).unwrap()), None);
        assert_eq!(kept(|_| ()), None);
    }
}
