//! Events of Claude Code's hooks, and what it takes back.

use checkrein_core::frame::{Observation, ToolUse};
use serde_json::{Value, json};

use super::{Told, Wants, line, success_of, text};

/// The argument by which a tool of ours knows the session.
const SESSION: &str = "session";

/// A call of a frame tool gets the session it is made in: MCP itself does not say.
pub(super) fn bound(event: &Value) -> Option<Value> {
    let tool = event.get("tool_name")?.as_str()?;
    if event.get("hook_event_name")?.as_str()? != "PreToolUse" || !is_frame_tool(tool) {
        return None;
    }
    let mut input = event.get("tool_input").and_then(Value::as_object).cloned().unwrap_or_default();
    input.entry(SESSION).or_insert_with(|| event.get("session_id").cloned().unwrap_or(Value::Null));
    Some(json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input,
    }}))
}

fn is_frame_tool(name: &str) -> bool {
    name.starts_with("mcp__") && name.rsplit("__").next().is_some_and(|tool| tool.starts_with("flame_"))
}

pub(super) fn told(event: &Value) -> Option<Told> {
    let name = text(event, &["hook_event_name"])?;
    let tool = text(event, &["tool_name"]).unwrap_or_default();
    let call = text(event, &["tool_use_id"]);
    let transcript = text(event, &["transcript_path"]);
    let mut told = Told {
        session: text(event, &["session_id"])?,
        directory: text(event, &["cwd"]),
        agent: text(event, &["agent_type"]),
        ..Told::default()
    };
    let is_agent = matches!(tool.as_str(), "Task" | "Agent");
    match name.as_str() {
        "SessionStart" => told.wants = Wants::Context,
        "UserPromptSubmit" => {
            told.observations.push(Observation::Prompt(text(event, &["prompt"]).unwrap_or_default()));
            told.transcript.clone_from(&transcript);
            told.wants = Wants::NewContext;
        }
        "PreToolUse" if is_agent => {
            let goal = text(event, &["tool_input", "description"])
                .or_else(|| text(event, &["tool_input", "prompt"]))
                .unwrap_or_default();
            let agent = text(event, &["tool_input", "subagent_type"]);
            told.observations.push(Observation::AgentBegan { key: call.clone()?, goal, agent });
        }
        "PostToolUse" | "PostToolUseFailure" if is_agent => {
            let failed = name == "PostToolUseFailure";
            let summary = event.get("tool_response").map(said).filter(|said| !said.is_empty());
            let summary = summary.or_else(|| text(event, &["error"]));
            told.observations.push(Observation::AgentEnded { key: call.clone()?, summary, failed });
            told.transcript.clone_from(&transcript);
            told.wants = Wants::News;
        }
        "PostToolUse" | "PostToolUseFailure" => {
            told.observations.push(Observation::Tool(tool_use(event, &tool, name == "PostToolUseFailure")));
            told.transcript.clone_from(&transcript);
            told.wants = Wants::News;
        }
        "Stop" => {
            told.observations.push(Observation::TurnEnded);
            told.transcript.clone_from(&transcript);
        }
        "PreCompact" => {
            let trigger = text(event, &["trigger"]).unwrap_or_default();
            told.observations.push(Observation::Remark(format!("compacted ({trigger})")));
            told.transcript.clone_from(&transcript);
            told.keeps_transcript = true;
        }
        "SessionEnd" => {
            let reason = text(event, &["reason"]).unwrap_or_default();
            told.observations.push(Observation::Remark(format!("session ended ({reason})")));
            told.transcript.clone_from(&transcript);
        }
        _ => return None,
    }
    told.key = Some(match call {
        Some(call) => format!("{name} {call}"),
        // Saying the same again later is something else: by then the transcript has grown.
        None => {
            let length =
                transcript.and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
            format!("{event} {length}")
        }
    });
    Some(told)
}

fn tool_use(event: &Value, tool: &str, failed: bool) -> ToolUse {
    let input = |key: &str| text(event, &["tool_input", key]);
    let changes = matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit");
    let file = input("file_path").or_else(|| input("notebook_path"));
    let command = input("command");
    let response = event.get("tool_response").map(said).unwrap_or_default();
    let error = text(event, &["error"]).or_else(|| failed.then(|| "it failed".to_owned()));
    let error = error.or_else(|| {
        let response = event.get("tool_response")?;
        let bad = response.get("is_error").and_then(Value::as_bool).unwrap_or(false)
            || response.get("interrupted").and_then(Value::as_bool).unwrap_or(false);
        bad.then(|| said(response))
    });
    let success = match (&command, &error) {
        (Some(command), None) => success_of(command, &response),
        _ => None,
    };
    let on = command.or_else(|| file.clone()).or_else(|| input("pattern")).or_else(|| input("url"));
    ToolUse {
        name: line(tool, 100),
        on: line(&on.unwrap_or_default(), 200),
        files: file
            .filter(|_| changes && error.is_none())
            .map(|file| relative(event, file))
            .into_iter()
            .collect(),
        error: error.map(|error| line(&error, 300)),
        success,
    }
}

/// Inside the directory of the session a file is named from there.
fn relative(event: &Value, file: String) -> String {
    let inside = text(event, &["cwd"])
        .and_then(|cwd| Some(file.strip_prefix(&cwd)?.trim_start_matches('/').to_owned()));
    inside.filter(|inside| !inside.is_empty()).unwrap_or(file)
}

/// What a tool said, whichever way it says it.
fn said(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(said).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let known = ["text", "stdout", "stderr", "content", "result", "error"];
            let parts = known.iter().filter_map(|key| fields.get(*key)).map(said);
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Hooks can only add to what the model reads.
pub(super) fn answer(event: &Value, text: &str) -> Option<Value> {
    let name = event.get("hook_event_name")?;
    Some(json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}))
}
