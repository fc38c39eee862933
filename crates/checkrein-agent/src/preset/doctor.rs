//! Which agents are there, and whether they would work.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use checkrein_core::config::agent::Preset;

/// How an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub preset: Preset,
    pub found: Found,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It answers; with its version, and how it gets to its model.
    Works {
        version: String,
        login: Option<String>,
    },
    /// It is there and does not answer.
    Broken {
        why: String,
    },
    Missing,
}

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks every program for its version, all at once.
pub fn doctor(get: impl Fn(&str) -> Option<String>) -> Vec<Health> {
    let programs: Vec<(Preset, Option<PathBuf>)> = Preset::ALL
        .into_iter()
        .filter(|preset| *preset != Preset::Builtin)
        .map(|preset| (preset, on_path(preset.name(), get("PATH").as_deref())))
        .collect();
    let asked: Vec<_> = programs
        .into_iter()
        .map(|(preset, program)| {
            (preset, std::thread::spawn(move || program.map(|program| version(&program))))
        })
        .collect();
    asked
        .into_iter()
        .map(|(preset, asking)| {
            let found = match asking.join() {
                Ok(None) | Err(_) => Found::Missing,
                Ok(Some(Err(why))) => Found::Broken { why },
                Ok(Some(Ok(version))) => Found::Works { version, login: login(preset, &get) },
            };
            Health { preset, found }
        })
        .collect()
}

fn on_path(name: &str, path: Option<&str>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path?).map(|directory| directory.join(name)).find(runs)
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
fn login(preset: Preset, get: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let (variables, files): (&[&str], &[&str]) = match preset {
        Preset::Claude => (
            &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            &[".claude/.credentials.json"],
        ),
        Preset::Codex => (&["OPENAI_API_KEY", "CODEX_API_KEY"], &[".codex/auth.json"]),
        Preset::Opencode => (
            &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"],
            &[".local/share/opencode/auth.json"],
        ),
        Preset::Gemini => (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], &[".gemini/oauth_creds.json"]),
        Preset::Aider => (
            &[
                "OPENAI_API_KEY",
                "ANTHROPIC_API_KEY",
                "DEEPSEEK_API_KEY",
                "OPENROUTER_API_KEY",
                "GEMINI_API_KEY",
            ],
            &[],
        ),
        Preset::Builtin => (&[], &[]),
    };
    let variable = variables.iter().find(|name| get(name).is_some_and(|value| !value.trim().is_empty()));
    if let Some(variable) = variable {
        return Some((*variable).to_owned());
    }
    let home = PathBuf::from(get("HOME")?);
    let file = files.iter().find(|file| home.join(file).is_file());
    file.map(|file| format!("~/{file}"))
}
