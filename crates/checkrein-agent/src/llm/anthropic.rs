//! The dialect of Anthropic: messages.

use serde_json::{Value, json};

use super::stream::{Coming, Growing, number, text};
use super::{Listener, LlmError, Message, Model, Part, Request, Role, Stop, ToolInput};

pub const PATH: &str = "/v1/messages";
pub const VERSION: &str = "2023-06-01";

pub fn body(model: &Model, request: &Request) -> Value {
    let last = request.messages.len().saturating_sub(1);
    let messages = request.messages.iter().enumerate();
    let messages: Vec<Value> = messages.map(|(at, one)| message(one, at == last)).collect();
    let mut body = json!({
        "model": model.name, "max_tokens": model.output_tokens_max, "stream": true, "messages": messages,
    });
    if let Some(fields) = body.as_object_mut() {
        if !request.system.is_empty() {
            // What every request begins with is read once.
            let system =
                json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
            fields.insert("system".to_owned(), system);
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.input})
            });
            fields.insert("tools".to_owned(), tools.collect());
        }
    }
    body
}

fn message(message: &Message, last: bool) -> Value {
    let mut parts: Vec<Value> = message.parts.iter().map(part).collect();
    if let Some(fields) = parts.last_mut().filter(|_| last).and_then(Value::as_object_mut) {
        fields.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    let role = match message.role {
        Role::User => "user",
        Role::Model => "assistant",
    };
    json!({"role": role, "content": parts})
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thought { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Part::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Read(value) => value.clone(),
                ToolInput::Malformed(_) => json!({}),
            };
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        }
        Part::ToolResult { call, text, failed } => {
            json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed})
        }
    }
}

pub fn hear(coming: &mut Coming, event: &Value, listener: &mut dyn Listener) -> Result<(), LlmError> {
    let index = number(event, "index");
    match text(event, "type") {
        "message_start" => count(coming, event.get("message").and_then(|message| message.get("usage"))),
        "content_block_start" => {
            let block = event.get("content_block").unwrap_or(&Value::Null);
            coming.part(index, || match text(block, "type") {
                "text" => Growing::Text(text(block, "text").to_owned()),
                "thinking" => Growing::Thought { text: String::new(), signature: String::new() },
                "tool_use" => Growing::Call {
                    id: text(block, "id").to_owned(),
                    name: text(block, "name").to_owned(),
                    arguments: String::new(),
                },
                _ => Growing::Other,
            });
        }
        "content_block_delta" => {
            let delta = event.get("delta").unwrap_or(&Value::Null);
            match coming.part(index, || Growing::Other) {
                Growing::Text(words) => {
                    words.push_str(text(delta, "text"));
                    listener.text(text(delta, "text"));
                }
                Growing::Thought { text: words, signature } => {
                    words.push_str(text(delta, "thinking"));
                    signature.push_str(text(delta, "signature"));
                    listener.thought(text(delta, "thinking"));
                }
                Growing::Call { arguments, .. } => arguments.push_str(text(delta, "partial_json")),
                Growing::Other => {}
            }
        }
        "message_delta" => {
            count(coming, event.get("usage"));
            let why = event.get("delta").map(|delta| text(delta, "stop_reason")).unwrap_or_default();
            coming.stop = Some(match why {
                "end_turn" | "stop_sequence" => Stop::End,
                "tool_use" => Stop::Tools,
                "max_tokens" | "model_context_window_exceeded" => Stop::Length,
                "refusal" => Stop::Refused,
                other => Stop::Other(other.to_owned()),
            });
        }
        "error" => {
            let error = event.get("error").unwrap_or(&Value::Null);
            let said = text(error, "message").to_owned();
            return Err(match text(error, "type") {
                "rate_limit_error" => LlmError::RateLimited { said, retry_after: None },
                "overloaded_error" => LlmError::Overloaded { status: 529, said },
                "authentication_error" => LlmError::Unauthorized { said },
                _ => LlmError::Cut(said),
            });
        }
        _ => {}
    }
    Ok(())
}

/// What is counted comes in two parts, of which the second is the newer.
fn count(coming: &mut Coming, usage: Option<&Value>) {
    let Some(usage) = usage else { return };
    for (name, count) in [
        ("input_tokens", &mut coming.usage.input),
        ("output_tokens", &mut coming.usage.output),
        ("cache_read_input_tokens", &mut coming.usage.cache_read),
        ("cache_creation_input_tokens", &mut coming.usage.cache_write),
    ] {
        if let Some(tokens) = usage.get(name).and_then(Value::as_u64) {
            *count = tokens;
        }
    }
}
