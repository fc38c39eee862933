//! What the process of a named agent is started with.

use std::ffi::OsString;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use checkrein_agent::AgentTask;
use checkrein_core::boundary::PhaseKind;
use checkrein_core::config::Settings;
use checkrein_core::config::agent::AgentSpec;
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::process::this_program;

/// The files of a hosted attempt.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    /// What its process reads first.
    pub task: PathBuf,
    /// Where messages of people appear.
    pub messages: PathBuf,
    /// Where what it asked of its model is kept while it works.
    pub requests: PathBuf,
}

/// Everything about an attempt that its agent is told.
pub(crate) struct Hosting<'h> {
    pub spec: &'h AgentSpec,
    pub brief: &'h Path,
    pub kind: Option<PhaseKind>,
    pub level: &'h str,
    pub sandboxed: bool,
    pub session: Option<String>,
    pub home: PathBuf,
    pub datasources: Vec<(String, String)>,
    pub own_files: &'h str,
}

/// The command of an agent's process.
pub(crate) fn host_argv(hosted: &Hosted) -> Vec<OsString> {
    vec![this_program().into(), checkrein_agent::HOST.into(), hosted.task.clone().into()]
}

/// Writes what an agent's process reads first. `file` names a file of the attempt by its ending.
pub(crate) fn write_task(
    hosting: Hosting<'_>,
    settings: &Settings,
    file: impl Fn(&str) -> PathBuf,
) -> Result<Hosted, EngineError> {
    let hosted = Hosted {
        task: file("agent.json"),
        messages: file("messages.json"),
        requests: file("requests.jsonl"),
    };
    let broken = |path: &Path, error: &std::io::Error| EngineError::RunFiles {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    for left in [&hosted.messages, &hosted.requests] {
        // What a lost attempt left is not this one's.
        let _ = std::fs::remove_file(left);
    }
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&hosting.home);
    made.map_err(|error| broken(&hosting.home, &error))?;
    if hosting.sandboxed {
        lend_credentials(hosting.spec, &hosting.home, settings);
    }
    let task = AgentTask {
        spec: hosting.spec.clone(),
        brief: hosting.brief.to_owned(),
        kind: hosting.kind,
        level: hosting.level.to_owned(),
        sandboxed: hosting.sandboxed,
        session: hosting.session,
        messages: hosting.kind.map(|_| hosted.messages.clone()),
        requests: Some(hosted.requests.clone()),
        home: hosting.home,
        checkrein: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("checkrein")),
        datasources: hosting.datasources,
        own_files: hosting.own_files.to_owned(),
    };
    let text = serde_json::to_vec_pretty(&task).map_err(|error| broken(&hosted.task, &error.into()))?;
    std::fs::write(&hosted.task, text).map_err(|error| broken(&hosted.task, &error))?;
    Ok(hosted)
}

/// A program whose home is another one finds its login there.
fn lend_credentials(spec: &AgentSpec, home: &Path, settings: &Settings) {
    let set = |name: &str| {
        let found = settings.environment.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let Some(own) = set("HOME") else { return };
    for (from, to) in checkrein_agent::credentials(spec) {
        let elsewhere = [(".codex/", "CODEX_HOME"), (".claude/", "CLAUDE_CONFIG_DIR")]
            .into_iter()
            .find_map(|(prefix, variable)| Some(set(variable)?.join(from.strip_prefix(prefix)?)));
        let from = elsewhere.unwrap_or_else(|| own.join(from));
        let Ok(content) = std::fs::read(&from) else { continue };
        let to = home.join(to);
        if to.exists() {
            // It may have been renewed there.
            continue;
        }
        let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = made.and_then(|()| {
            std::fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(&to)
        });
        let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, &content));
    }
}

/// The variables an agent's program gets beside those every program does: names, and whether each is secret.
pub(crate) fn variables_of(spec: &AgentSpec) -> Vec<(String, bool)> {
    let names = checkrein_agent::variables(spec);
    names.into_iter().map(|name| (name.clone(), checkrein_agent::is_secret(&name))).collect()
}

/// The session of an agent, as a round leaves it for the next one.
#[derive(Serialize, Deserialize)]
struct Session {
    agent: String,
    phase: u32,
    session: String,
}

pub(crate) fn session_kept(home: &Path, agent: &str, phase: u32) -> Option<String> {
    let text = std::fs::read(home.join("session.json")).ok()?;
    let kept: Session = serde_json::from_slice(&text).ok()?;
    (kept.agent == agent && kept.phase == phase).then_some(kept.session)
}

/// It is a convenience: where it cannot be kept, the next round begins anew.
pub(crate) fn keep_session(home: &Path, agent: &str, phase: u32, session: Option<&str>) {
    let Some(session) = session else { return };
    let kept = Session { agent: agent.to_owned(), phase, session: session.to_owned() };
    if let Ok(text) = serde_json::to_vec(&kept) {
        let _ = std::fs::write(home.join("session.json"), text);
    }
}
