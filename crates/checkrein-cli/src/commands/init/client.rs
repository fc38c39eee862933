//! Puts the hooks of Checkrein into a client's own settings of this directory, and takes them out again.
//! What others wrote there stays as it is.

use std::path::Path;

use checkrein_engine::Client;
use serde_json::{Map, Value, json};

use super::advice::{self, Advice};
use crate::error::{CliError, note};
use crate::files;
use crate::output::{Output, quoted};

/// What is wanted of the client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Installed,
    Removed,
}

pub fn run(client: Client, wanted: Wanted, advice: Advice) -> Result<Output, CliError> {
    let program = program()?;
    // Planned before anything is changed: a file that cannot be read changes nothing.
    let settings = match (wanted, advice) {
        (Wanted::Installed, Advice::Recommended) => advice::addition()?,
        (Wanted::Installed, Advice::Defaults) => None,
        (Wanted::Removed, _) => advice::removal()?,
    };
    let mut done = Vec::new();
    match client {
        Client::ClaudeCode => {
            let hooks = |settings: &mut Map<String, Value>| claude_hooks(settings, &program, wanted);
            done.extend(change(Path::new(".claude/settings.json"), hooks)?);
            // Claude Code otherwise hides tools behind a search of its own.
            let server = json!({"type": "stdio", "command": program, "args": ["mcp"], "alwaysLoad": true});
            let servers =
                |settings: &mut Map<String, Value>| entry(settings, "mcpServers", server.clone(), wanted);
            done.extend(change(Path::new(".mcp.json"), servers)?);
        }
        Client::OpenCode => {
            done.extend(plugin(Path::new(".opencode/plugins/checkrein.js"), &program, wanted)?);
            let server = json!({"type": "local", "command": [program, "mcp"], "enabled": true});
            let servers = |settings: &mut Map<String, Value>| entry(settings, "mcp", server.clone(), wanted);
            done.extend(change(Path::new("opencode.json"), servers)?);
        }
    }
    if let Some(settings) = settings {
        done.push(settings.make()?);
    }
    if wanted == Wanted::Installed {
        note(format_args!(
            "frames of {} are kept from its next session on; `checkrein frame tree` shows them, `checkrein init --client {} --remove` takes the hooks out",
            client.name(),
            client.name()
        ));
    }
    let text = if done.is_empty() { "nothing to change\n".to_owned() } else { done.concat() };
    Ok(Output::text(text))
}

/// How a client calls this very program: by its name where that finds it, else by its place.
fn program() -> Result<String, CliError> {
    let own = std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .map_err(|error| CliError::failed(format!("this program cannot find itself: {error}")))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join("checkrein")).find(|file| file.is_file());
    let named = found.and_then(|file| std::fs::canonicalize(file).ok()) == Some(own.clone());
    if named {
        return Ok("checkrein".to_owned());
    }
    own.into_os_string().into_string().map_err(|_| CliError::failed("the path of this program is no text"))
}

/// Events of Claude Code, and the tools they are about.
const CLAUDE_EVENTS: [(&str, Option<&str>); 8] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PreToolUse", Some("Task|Agent|mcp__.*__flame_.*")),
    ("PostToolUse", Some("*")),
    ("PostToolUseFailure", Some("*")),
    ("Stop", None),
    ("PreCompact", None),
    ("SessionEnd", None),
];

const CLAUDE_CALL: &str = " hook claude-code";

fn claude_hooks(settings: &mut Map<String, Value>, program: &str, wanted: Wanted) -> Result<(), String> {
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let Some(hooks) = hooks.as_object_mut() else { return Err("`hooks` is no object".to_owned()) };
    for (event, matcher) in CLAUDE_EVENTS {
        if !hooks.contains_key(event) && wanted == Wanted::Removed {
            continue;
        }
        let groups = hooks.entry(event).or_insert_with(|| json!([]));
        let Some(groups) = groups.as_array_mut() else { return Err(format!("`hooks.{event}` is no list")) };
        // Ours are known by what they call; beside others they are taken out alone.
        for group in groups.iter_mut() {
            if let Some(own) = group.get_mut("hooks").and_then(Value::as_array_mut) {
                own.retain(|hook| !is_own(hook));
            }
        }
        groups.retain(|group| !group.get("hooks").and_then(Value::as_array).is_some_and(Vec::is_empty));
        if wanted == Wanted::Installed {
            let hook = json!({"type": "command", "command": format!("{}{CLAUDE_CALL}", quoted(program)), "timeout": 5});
            groups.push(match matcher {
                Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
                None => json!({"hooks": [hook]}),
            });
        }
        if groups.is_empty() {
            hooks.remove(event);
        }
    }
    if hooks.is_empty() {
        settings.remove("hooks");
    }
    Ok(())
}

fn is_own(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    command.ends_with(CLAUDE_CALL)
}

/// Our server in a client's list of MCP servers.
fn entry(settings: &mut Map<String, Value>, list: &str, server: Value, wanted: Wanted) -> Result<(), String> {
    if wanted == Wanted::Removed && !settings.contains_key(list) {
        return Ok(());
    }
    let servers = settings.entry(list).or_insert_with(|| json!({}));
    let Some(servers) = servers.as_object_mut() else { return Err(format!("`{list}` is no object")) };
    match wanted {
        Wanted::Installed => {
            servers.insert("checkrein".to_owned(), server);
        }
        Wanted::Removed => {
            servers.remove("checkrein");
        }
    }
    if servers.is_empty() {
        settings.remove(list);
    }
    Ok(())
}

/// Changes a file of settings; what is said of it, if it was changed. A file that is left empty goes.
fn change(
    path: &Path,
    work: impl FnOnce(&mut Map<String, Value>) -> Result<(), String>,
) -> Result<Option<String>, CliError> {
    let name = files::shown(path);
    let refuse = |why: String| {
        CliError::usage(format!("`{name}` cannot be changed: {why}"))
            .hint("mend it, or add the hooks by hand: docs/frames.md")
    };
    let there = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(refuse(error.to_string())),
    };
    let mut settings = match there.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => {
            serde_json::from_str::<Map<String, Value>>(text).map_err(|error| refuse(error.to_string()))?
        }
        None => Map::new(),
    };
    let before = settings.clone();
    work(&mut settings).map_err(refuse)?;
    if settings == before {
        return Ok(None);
    }
    if settings.is_empty() {
        std::fs::remove_file(path).map_err(|error| refuse(error.to_string()))?;
        return Ok(Some(format!("removed {name}\n")));
    }
    let mut text = serde_json::to_string_pretty(&settings).map_err(|error| refuse(error.to_string()))?;
    text.push('\n');
    match there {
        Some(_) => files::replace(path, &text)?,
        None => super::write(path, &text)?,
    }
    Ok(Some(format!("{} {name}\n", if there.is_some() { "changed" } else { "made" })))
}

/// The plugin for OpenCode is a file of ours alone.
fn plugin(path: &Path, program: &str, wanted: Wanted) -> Result<Option<String>, CliError> {
    const PLUGIN: &str = include_str!("opencode.js");
    const MARK: &str = "// The plugin of Checkrein for OpenCode.";
    let name = files::shown(path);
    let fail = |error: std::io::Error| CliError::failed(format!("`{name}` cannot be changed: {error}"));
    let there = std::fs::read_to_string(path).ok();
    if there.as_ref().is_some_and(|text| !text.starts_with(MARK)) {
        return Err(CliError::conflict(format!("`{name}` is somebody else's; nothing was changed")));
    }
    let text = PLUGIN.replace("\"checkrein\" /* program */", &json!(program).to_string());
    match (wanted, there) {
        (Wanted::Installed, Some(there)) if there == text => Ok(None),
        (Wanted::Installed, Some(_)) => {
            files::replace(path, &text)?;
            Ok(Some(format!("changed {name}\n")))
        }
        (Wanted::Installed, None) => {
            super::write(path, &text)?;
            Ok(Some(format!("made {name}\n")))
        }
        (Wanted::Removed, Some(_)) => {
            std::fs::remove_file(path).map_err(fail)?;
            Ok(Some(format!("removed {name}\n")))
        }
        (Wanted::Removed, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn hooks_of_others_stay_and_ours_are_there_once() {
        let theirs = json!({"model": "m", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}});
        let mut settings = map(theirs.clone());
        claude_hooks(&mut settings, "/old place/checkrein", Wanted::Installed).unwrap();
        let once = {
            claude_hooks(&mut settings, "checkrein", Wanted::Installed).unwrap();
            settings.clone()
        };
        claude_hooks(&mut settings, "checkrein", Wanted::Installed).unwrap();
        assert_eq!(settings, once);
        let text = Value::Object(settings.clone()).to_string();
        assert_eq!(text.matches(CLAUDE_CALL).count(), CLAUDE_EVENTS.len());
        assert!(text.contains("say done") && !text.contains("old place"));
        claude_hooks(&mut settings, "checkrein", Wanted::Removed).unwrap();
        assert_eq!(Value::Object(settings), theirs);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for odd in [json!({"hooks": []}), json!({"hooks": {"Stop": {}}})] {
            assert!(claude_hooks(&mut map(odd), "checkrein", Wanted::Installed).is_err());
        }
        assert!(entry(&mut map(json!({"mcp": 1})), "mcp", json!({}), Wanted::Installed).is_err());
    }
}
