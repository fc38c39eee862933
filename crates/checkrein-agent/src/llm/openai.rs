//! The dialect of OpenAI that others speak as well: chat completions.

use serde_json::{Value, json};

use super::stream::{Coming, Growing, number, text};
use super::{Listener, LlmError, Message, Model, Part, Request, Role, Stop, ToolInput};

pub const PATH: &str = "/chat/completions";

/// Words come before calls, whose numbers begin here.
const FIRST_CALL: u64 = 1;

pub fn body(model: &Model, request: &Request) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    request.messages.iter().for_each(|one| messages.extend(message(one)));
    let mut body = json!({
        "model": model.name, "stream": true, "stream_options": {"include_usage": true}, "messages": messages,
    });
    if let Some(fields) = body.as_object_mut() {
        // The name OpenAI itself takes now, and the one everybody else knows.
        let limit =
            if model.url.contains("//api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
        fields.insert(limit.to_owned(), model.output_tokens_max.into());
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                let function =
                    json!({"name": tool.name, "description": tool.description, "parameters": tool.input});
                json!({"type": "function", "function": function})
            });
            fields.insert("tools".to_owned(), tools.collect());
        }
    }
    body
}

/// One message is several here where tools answered.
fn message(message: &Message) -> Vec<Value> {
    let texts = || {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    };
    match message.role {
        Role::Model => {
            let calls = message.parts.iter().filter_map(|part| match part {
                Part::ToolCall(call) => {
                    let arguments = match &call.input {
                        ToolInput::Read(value) => value.to_string(),
                        // Servers that look at it want it to be JSON.
                        ToolInput::Malformed(_) => "{}".to_owned(),
                    };
                    let function = json!({"name": call.name, "arguments": arguments});
                    Some(json!({"id": call.id, "type": "function", "function": function}))
                }
                _ => None,
            });
            let calls: Vec<Value> = calls.collect();
            let said = texts();
            let content = if said.is_empty() { Value::Null } else { said.into() };
            let mut answer = json!({"role": "assistant", "content": content});
            if let Some(fields) = answer.as_object_mut().filter(|_| !calls.is_empty()) {
                fields.insert("tool_calls".to_owned(), calls.into());
            }
            vec![answer]
        }
        Role::User => {
            let results = message.parts.iter().filter_map(|part| match part {
                Part::ToolResult { call, text, .. } => {
                    Some(json!({"role": "tool", "tool_call_id": call, "content": text}))
                }
                _ => None,
            });
            let mut messages: Vec<Value> = results.collect();
            let said = texts();
            if !said.is_empty() {
                messages.push(json!({"role": "user", "content": said}));
            }
            messages
        }
    }
}

pub fn hear(coming: &mut Coming, event: &Value, listener: &mut dyn Listener) -> Result<(), LlmError> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(LlmError::Cut(text(error, "message").to_owned()));
    }
    if let Some(usage) = event.get("usage").filter(|usage| !usage.is_null()) {
        let cached = usage.get("prompt_tokens_details").map_or(0, |details| number(details, "cached_tokens"));
        coming.usage.cache_read = cached;
        coming.usage.input = number(usage, "prompt_tokens").saturating_sub(cached);
        coming.usage.output = number(usage, "completion_tokens");
    }
    let choice = event.get("choices").and_then(|choices| choices.get(0));
    let Some(choice) = choice else { return Ok(()) };
    let delta = choice.get("delta").unwrap_or(&Value::Null);
    let words = text(delta, "content");
    if !words.is_empty() {
        if let Growing::Text(all) = coming.part(0, || Growing::Text(String::new())) {
            all.push_str(words);
        }
        listener.text(words);
    }
    let thought = text(delta, "reasoning_content");
    if !thought.is_empty() {
        listener.thought(thought);
    }
    for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = piece.get("function").unwrap_or(&Value::Null);
        let index = number(piece, "index").saturating_add(FIRST_CALL);
        let new = || Growing::Call { id: String::new(), name: String::new(), arguments: String::new() };
        if let Growing::Call { id, name, arguments } = coming.part(index, new) {
            // Some send the name with every piece.
            if id.is_empty() {
                id.push_str(text(piece, "id"));
            }
            if name.is_empty() {
                name.push_str(text(function, "name"));
            }
            arguments.push_str(text(function, "arguments"));
        }
    }
    if let Some(why) = choice.get("finish_reason").and_then(Value::as_str) {
        coming.stop = Some(match why {
            "stop" => Stop::End,
            "tool_calls" | "function_call" => Stop::Tools,
            "length" => Stop::Length,
            "content_filter" => Stop::Refused,
            other => Stop::Other(other.to_owned()),
        });
    }
    Ok(())
}
