//! What the process of a named agent is started with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use checkrein_agent::AgentTask;
use checkrein_core::boundary::PhaseKind;
use checkrein_core::config::Settings;
use checkrein_core::config::agent::AgentSpec;
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::agent_dir::{AgentDir, AgentFile};
use crate::process::this_program;

/// The files of a hosted attempt.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    /// What its process reads first.
    pub task: AgentFile,
    /// Where messages of people appear.
    pub messages: AgentFile,
    /// Where what it asked of its model is kept while it works.
    pub requests: AgentFile,
}

/// Everything about an attempt that its agent is told.
pub(crate) struct Hosting<'h> {
    pub spec: &'h AgentSpec,
    pub brief: &'h Path,
    pub kind: Option<PhaseKind>,
    pub level: &'h str,
    pub sandboxed: bool,
    pub session: Option<String>,
    /// What its budget leaves for it.
    pub cost_left: Option<f64>,
    pub home: AgentDir,
    pub datasources: Vec<(String, String)>,
    pub own_files: &'h str,
}

/// The command of an agent's process.
pub(crate) fn host_argv(hosted: &Hosted) -> Vec<OsString> {
    vec![this_program().into(), checkrein_agent::HOST.into(), hosted.task.path().into()]
}

/// Writes what an agent's process reads first.
pub(crate) fn write_task(
    hosting: Hosting<'_>,
    hosted: Hosted,
    settings: &Settings,
) -> Result<Hosted, EngineError> {
    let broken = |error: &std::io::Error| EngineError::RunFiles {
        path: hosted.task.path(),
        reason: error.to_string(),
    };
    for left in [&hosted.messages, &hosted.requests] {
        // What a lost attempt left is not this one's.
        left.remove().map_err(|error| broken(&error))?;
    }
    if hosting.sandboxed || checkrein_agent::has_own_home(hosting.spec) {
        lend_credentials(hosting.spec, &hosting.home, settings);
    }
    let task = AgentTask {
        spec: hosting.spec.clone(),
        brief: hosting.brief.to_owned(),
        kind: hosting.kind,
        level: hosting.level.to_owned(),
        sandboxed: hosting.sandboxed,
        session: hosting.session,
        cost_left: hosting.cost_left,
        messages: hosting.kind.map(|_| hosted.messages.path()),
        requests: Some(hosted.requests.path()),
        home: hosting.home.path().to_owned(),
        checkrein: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("checkrein")),
        datasources: hosting.datasources,
        own_files: hosting.own_files.to_owned(),
    };
    let text = serde_json::to_vec_pretty(&task).map_err(|error| broken(&error.into()))?;
    hosted.task.replace(&text).map_err(|error| broken(&error))?;
    Ok(hosted)
}

/// A program whose home is another one finds its login there.
fn lend_credentials(spec: &AgentSpec, home: &AgentDir, settings: &Settings) {
    let set = |name: &str| {
        let found = settings.environment.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let Some(own) = set("HOME") else { return };
    for (from, to) in checkrein_agent::credentials(spec) {
        let elsewhere = [
            (".codex/", "CODEX_HOME", ""),
            (".claude/", "CLAUDE_CONFIG_DIR", ""),
            (".gemini/", "GEMINI_CLI_HOME", ".gemini"),
        ]
        .into_iter()
        .find_map(|(prefix, variable, below)| {
            let name = from.strip_prefix(prefix)?;
            Some(set(variable)?.join(below).join(name))
        });
        let from = elsewhere.unwrap_or_else(|| own.join(from));
        let Ok(content) = std::fs::read(&from) else { continue };
        let to = Path::new(to);
        let Some(name) = to.file_name() else { continue };
        let Ok(directory) = home.make(to.parent().unwrap_or(Path::new(""))) else { continue };
        // What is there may have been renewed there; a login that is newer than that is the user's.
        let there = directory.open_file(name).and_then(|file| file.metadata()?.modified()).ok();
        let here = from.metadata().and_then(|found| found.modified()).ok();
        let is_old = there.is_none_or(|there| here.is_some_and(|here| here > there));
        let _ = if is_old { directory.replace(name, &content) } else { Ok(()) };
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

const SESSION_BYTES_MAX: u64 = 64 << 10;

pub(crate) fn session_kept(file: &AgentFile, agent: &str, phase: u32) -> Option<String> {
    let text = file.read(SESSION_BYTES_MAX).ok()??;
    let kept: Session = serde_json::from_slice(&text).ok()?;
    (kept.agent == agent && kept.phase == phase).then_some(kept.session)
}

/// It is a convenience: where it cannot be kept, the next round begins anew.
pub(crate) fn keep_session(file: &AgentFile, agent: &str, phase: u32, session: Option<&str>) {
    let Some(session) = session else { return };
    let kept = Session { agent: agent.to_owned(), phase, session: session.to_owned() };
    if let Ok(text) = serde_json::to_vec(&kept) {
        let _ = file.replace(&text);
    }
}
