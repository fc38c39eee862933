//! Which agents are there, and whether they would work.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use checkrein_core::config::agent::{AgentKind, AgentSpec, Preset};

/// How an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub name: String,
    pub found: Found,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It answers; with its version, and how it gets to its model.
    Works {
        version: String,
        login: Option<String>,
    },
    /// A command of one's own, which nothing but a job can be asked of.
    Command {
        command: String,
    },
    /// It is there and does not answer.
    Broken {
        program: String,
        why: String,
    },
    Missing {
        program: String,
    },
}

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks the program of every agent for its version, all at once. The built-in agent has none.
pub fn doctor(agents: Vec<AgentSpec>, get: impl Fn(&str) -> Option<String>) -> Vec<Health> {
    let search = get("PATH");
    let asked: Vec<_> = agents
        .into_iter()
        .filter_map(|spec| Some((program_of(&spec)?, spec)))
        .map(|(program, spec)| {
            let place = on_path(&program, search.as_deref());
            let runs = matches!(spec.kind, AgentKind::Command { .. });
            let asking = std::thread::spawn(move || place.map(|place| (!runs).then(|| version(&place))));
            (spec, program, asking)
        })
        .collect();
    asked
        .into_iter()
        .map(|(spec, program, asking)| {
            let found = match (asking.join(), &spec.kind) {
                (Ok(Some(None)), AgentKind::Command { command, .. }) => {
                    Found::Command { command: command.clone() }
                }
                (Ok(Some(Some(Ok(version)))), kind) => Found::Works { version, login: login(kind, &get) },
                (Ok(Some(Some(Err(why)))), _) => Found::Broken { program, why },
                _ => Found::Missing { program },
            };
            Health { name: spec.name, found }
        })
        .collect()
}

/// What is started for an agent.
fn program_of(spec: &AgentSpec) -> Option<String> {
    let preset = match &spec.kind {
        AgentKind::Claude => Preset::Claude,
        AgentKind::Codex => Preset::Codex,
        AgentKind::Opencode => Preset::Opencode,
        AgentKind::Gemini => Preset::Gemini,
        AgentKind::Aider => Preset::Aider,
        AgentKind::Builtin(_) => return None,
        AgentKind::Command { command, .. } => {
            let word = command.split_whitespace().next().unwrap_or_default();
            let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c));
            // What a shell makes of anything else is not known before it does.
            return Some(if plain && !word.is_empty() { word.to_owned() } else { "sh".to_owned() });
        }
    };
    Some(super::program(spec, preset.name()))
}

/// Where a program is, by the directories it is looked for in.
fn on_path(program: &str, search: Option<&str>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(runs);
    }
    std::env::split_paths(search?).map(|directory| directory.join(program)).find(runs)
}

fn version(program: &PathBuf) -> Result<String, String> {
    let child = Command::new(program)
        .arg("--version")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(format!("`--version` ended with {status}")),
            Ok(None) if begun.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it does not say its version in time".to_owned());
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error.to_string()),
        }
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(line.unwrap_or("no version").chars().take(80).collect())
}

/// A key that is set, or a login that is there; none where neither is found, which need not mean that there is none.
fn login(kind: &AgentKind, get: &impl Fn(&str) -> Option<String>) -> Option<String> {
    // Its variables, the directory it keeps its login in and the variable that names another one, and the file there.
    let (variables, directory, elsewhere, file): (&[&str], &str, &str, &str) = match kind {
        AgentKind::Claude => (
            &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            ".claude",
            "CLAUDE_CONFIG_DIR",
            ".credentials.json",
        ),
        AgentKind::Codex => (&["OPENAI_API_KEY", "CODEX_API_KEY"], ".codex", "CODEX_HOME", "auth.json"),
        AgentKind::Opencode => (
            &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"],
            ".local/share/opencode",
            "",
            "auth.json",
        ),
        AgentKind::Gemini => (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], ".gemini", "", "oauth_creds.json"),
        AgentKind::Aider => (
            &[
                "OPENAI_API_KEY",
                "ANTHROPIC_API_KEY",
                "DEEPSEEK_API_KEY",
                "OPENROUTER_API_KEY",
                "GEMINI_API_KEY",
            ],
            ".aider",
            "",
            "oauth-keys.env",
        ),
        AgentKind::Builtin(_) | AgentKind::Command { .. } => return None,
    };
    let set = |name: &str| get(name).filter(|value| !value.trim().is_empty());
    if let Some(variable) = variables.iter().find(|name| set(name).is_some()) {
        return Some((*variable).to_owned());
    }
    if let Some(other) = Some(elsewhere).filter(|name| !name.is_empty()).and_then(set) {
        let file = PathBuf::from(other).join(file);
        return file.is_file().then(|| file.display().to_string());
    }
    let found = PathBuf::from(get("HOME")?).join(directory).join(file).is_file();
    found.then(|| format!("~/{directory}/{file}"))
}
