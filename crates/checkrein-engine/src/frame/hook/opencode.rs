//! Events of the plugin for OpenCode, in the plugin's own words.

use checkrein_core::frame::{Observation, ToolUse, Usage};
use serde_json::Value;

use super::{Told, Wants, line, number, success_of, text};

pub(super) fn told(event: &Value) -> Option<Told> {
    let name = text(event, &["event"])?;
    let mut told = Told {
        session: text(event, &["session"])?,
        directory: text(event, &["directory"]),
        agent_key: text(event, &["agentKey"]),
        key: text(event, &["key"]).map(|key| format!("{name} {key}")),
        ..Told::default()
    };
    match name.as_str() {
        "prompt" => {
            told.observations.push(Observation::Prompt(text(event, &["text"]).unwrap_or_default()));
            told.session_agent = text(event, &["agent"]);
        }
        "tool" => told.observations.push(Observation::Tool(tool_use(event))),
        "message" => {
            told.observations.push(Observation::Messages(1));
            told.observations.push(Observation::Usage(Usage {
                spent: number(event, &["spent"]),
                context: number(event, &["context"]),
                limit: number(event, &["limit"]),
            }));
        }
        "idle" => told.observations.push(Observation::TurnEnded),
        "agent-began" => told.observations.push(Observation::AgentBegan {
            key: told.agent_key.clone()?,
            goal: text(event, &["text"]).unwrap_or_default(),
            agent: text(event, &["agent"]),
        }),
        "agent-ended" => told.observations.push(Observation::AgentEnded {
            key: told.agent_key.clone()?,
            summary: text(event, &["text"]),
            failed: event.get("failed").and_then(Value::as_bool).unwrap_or(false),
        }),
        "compact" => {
            let said = text(event, &["text"]).unwrap_or_default();
            told.observations.push(Observation::Remark(format!("compacted\n{said}")));
            told.wants = Wants::Context;
        }
        "context" => told.wants = Wants::Context,
        _ => return None,
    }
    Some(told)
}

fn tool_use(event: &Value) -> ToolUse {
    let tool = text(event, &["tool"]).unwrap_or_default();
    let changes = matches!(tool.as_str(), "edit" | "write" | "patch" | "apply_patch" | "multiedit");
    let file = text(event, &["args", "filePath"]);
    let command = text(event, &["args", "command"]);
    let output = text(event, &["output"]).unwrap_or_default();
    let exit = event.get("exit").and_then(Value::as_i64).unwrap_or(0);
    let error = text(event, &["error"]);
    let error = error.or_else(|| (exit != 0).then(|| format!("exit {exit}: {}", line(&output, 200))));
    let success = match (&command, &error) {
        (Some(command), None) => success_of(command, &output),
        _ => None,
    };
    let files = event.get("files").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(Value::as_str).map(str::to_owned).chain(file.clone());
    ToolUse {
        name: line(&tool, 100),
        on: line(&command.or(file).unwrap_or_default(), 200),
        files: if changes && error.is_none() { files.collect() } else { Vec::new() },
        error: error.map(|error| line(&error, 300)),
        success,
    }
}
