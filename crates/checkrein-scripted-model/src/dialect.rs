//! The words of each dialect: an answer, whole or as a stream, and a refusal.

use serde_json::{Value, json};

use crate::conversation::{Conversation, Tool};
use crate::script::{Call, Turn, Usage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic messages.
    Anthropic,
    /// OpenAI chat completions.
    Chat,
    /// OpenAI responses.
    Responses,
    Gemini,
}

/// What is said: words, and tools that are called.
#[derive(Debug, Default)]
pub struct Speech {
    pub text: Option<String>,
    pub calls: Vec<Called>,
    pub usage: (u64, u64),
    /// Tells one answer from another.
    pub id: String,
}

#[derive(Debug)]
pub struct Called {
    pub tool: Tool,
    /// The arguments as text, which may not be JSON.
    pub arguments: String,
}

impl Dialect {
    pub fn of(path: &str) -> Option<Dialect> {
        let plain = path.split('?').next().unwrap_or_default();
        if plain.ends_with("/messages") {
            Some(Dialect::Anthropic)
        } else if plain.ends_with("/chat/completions") {
            Some(Dialect::Chat)
        } else if plain.ends_with("/responses") {
            Some(Dialect::Responses)
        } else if plain.ends_with("enerateContent") {
            Some(Dialect::Gemini)
        } else {
            None
        }
    }

    /// What is answered when a request is refused.
    pub fn refusal(self, status: u16, overflow: bool) -> Value {
        let (kind, message) = match status {
            400 if overflow => (
                "invalid_request_error",
                "prompt is too long: this model's maximum context length is exceeded",
            ),
            401 => ("authentication_error", "invalid x-api-key"),
            403 => ("permission_error", "not allowed"),
            429 => ("rate_limit_error", "slow down"),
            529 => ("overloaded_error", "overloaded"),
            _ => ("api_error", "something went wrong"),
        };
        match self {
            Dialect::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Dialect::Chat | Dialect::Responses => {
                let code = if overflow { "context_length_exceeded" } else { kind };
                json!({"error": {"message": message, "type": kind, "code": code}})
            }
            Dialect::Gemini => json!({"error": {"code": status, "message": message, "status": kind}}),
        }
    }

    /// The pieces of a stream.
    pub fn stream(self, asked: &Conversation, speech: &Speech) -> Vec<String> {
        match self {
            Dialect::Anthropic => anthropic(asked, speech).iter().map(named_event).collect(),
            Dialect::Chat => {
                let mut pieces: Vec<String> = chat(asked, speech).iter().map(event).collect();
                pieces.push("data: [DONE]\n\n".to_owned());
                pieces
            }
            Dialect::Responses => responses(asked, speech).iter().map(named_event).collect(),
            Dialect::Gemini => gemini(speech).iter().map(event).collect(),
        }
    }

    /// The same in one piece.
    pub fn whole(self, asked: &Conversation, speech: &Speech) -> Value {
        match self {
            Dialect::Anthropic => {
                let blocks = blocks(speech).into_iter().map(|(block, arguments)| match arguments {
                    Some(arguments) => with(block, "input", parsed(&arguments)),
                    None => block,
                });
                let (input, output) = speech.usage;
                json!({"id": speech.id, "type": "message", "role": "assistant", "model": asked.model,
                    "content": blocks.collect::<Vec<_>>(), "stop_reason": stop(speech), "stop_sequence": null,
                    "usage": {"input_tokens": input, "output_tokens": output}})
            }
            Dialect::Chat => {
                let calls: Vec<Value> =
                    speech.calls.iter().enumerate().map(|(at, call)| chat_call(speech, at, call)).collect();
                let mut message = json!({"role": "assistant", "content": speech.text});
                if !calls.is_empty() {
                    message = with(message, "tool_calls", calls.into());
                }
                json!({"id": speech.id, "object": "chat.completion", "created": 0, "model": asked.model,
                    "choices": [{"index": 0, "message": message, "finish_reason": finish(speech)}], "usage": chat_usage(speech)})
            }
            Dialect::Responses => responses_whole(asked, speech),
            Dialect::Gemini => gemini(speech).into_iter().next().unwrap_or_default(),
        }
    }
}

impl Speech {
    /// What a turn says to these tools; none where a tool it calls is not there.
    pub fn of(turn: &Turn, asked: &Conversation, id: String, asked_bytes: usize) -> Option<Speech> {
        let calls = turn.calls.iter().map(|call| called(call, &asked.tools)).collect::<Option<Vec<_>>>()?;
        let counted = Usage { input: (asked_bytes / 4) as u64, output: 10 };
        let usage = turn.usage.unwrap_or(counted);
        Some(Speech { text: turn.text.clone(), calls, usage: (usage.input, usage.output), id })
    }
}

/// Tools that run a shell command, and how each takes it.
fn shell(name: &str, command: &str) -> Option<Value> {
    Some(match name {
        "Bash" | "bash" | "run_shell_command" => json!({"command": command, "description": "does it"}),
        "run_command" | "shell_command" => json!({"command": command}),
        "exec_command" => json!({"cmd": command}),
        "shell" => json!({"command": ["bash", "-lc", command]}),
        _ => return None,
    })
}

fn called(call: &Call, tools: &[Tool]) -> Option<Called> {
    match call {
        Call::Run { run } => tools.iter().find_map(|tool| {
            let arguments = shell(&tool.name, run)?.to_string();
            Some(Called { tool: tool.clone(), arguments })
        }),
        Call::Tool { tool, input, raw } => {
            let found = tools.iter().find(|known| known.name == *tool);
            let found =
                found.or_else(|| tools.iter().find(|known| known.name.ends_with(&format!("_{tool}"))));
            let arguments = raw.clone().unwrap_or_else(|| match input {
                Value::Null => "{}".to_owned(),
                input => input.to_string(),
            });
            // What a model makes up is not among its tools.
            let made_up = Tool { group: None, name: tool.strip_prefix('!').unwrap_or_default().to_owned() };
            let tool = found.cloned().or_else(|| tool.starts_with('!').then_some(made_up))?;
            Some(Called { tool, arguments })
        }
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named_event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value.get("type").and_then(Value::as_str).unwrap_or_default())
}

fn with(mut value: Value, name: &str, field: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(name.to_owned(), field);
    }
    value
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}

fn halves(text: &str) -> (String, String) {
    let count = text.chars().count() / 2;
    (text.chars().take(count).collect(), text.chars().skip(count).collect())
}

fn stop(speech: &Speech) -> &'static str {
    if speech.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn finish(speech: &Speech) -> &'static str {
    if speech.calls.is_empty() { "stop" } else { "tool_calls" }
}

/// Blocks as they begin, and the arguments of those that are calls.
fn blocks(speech: &Speech) -> Vec<(Value, Option<String>)> {
    let text = speech.text.iter().map(|text| (json!({"type": "text", "text": text}), None));
    let calls = speech.calls.iter().enumerate().map(|(at, call)| {
        let id = format!("toolu_{}_{at}", speech.id);
        (
            json!({"type": "tool_use", "id": id, "name": call.tool.name, "input": {}}),
            Some(call.arguments.clone()),
        )
    });
    text.chain(calls).collect()
}

fn anthropic(asked: &Conversation, speech: &Speech) -> Vec<Value> {
    let (input, output) = speech.usage;
    let message = json!({"id": speech.id, "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": input, "output_tokens": 1}});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, (block, arguments)) in blocks(speech).into_iter().enumerate() {
        let words = block.get("text").and_then(Value::as_str).map(str::to_owned);
        let start = if words.is_some() { json!({"type": "text", "text": ""}) } else { block };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let (first, second) = halves(words.as_ref().or(arguments.as_ref()).map_or("", String::as_str));
        for piece in [first, second].iter().filter(|piece| !piece.is_empty()) {
            let delta = match words {
                Some(_) => json!({"type": "text_delta", "text": piece}),
                None => json!({"type": "input_json_delta", "partial_json": piece}),
            };
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events
        .push(json!({"type": "message_delta", "delta": {"stop_reason": stop(speech), "stop_sequence": null},
        "usage": {"output_tokens": output}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat_call(speech: &Speech, at: usize, call: &Called) -> Value {
    json!({"index": at, "id": format!("call_{}_{at}", speech.id), "type": "function",
        "function": {"name": call.tool.name, "arguments": call.arguments}})
}

fn chat_usage(speech: &Speech) -> Value {
    let (input, output) = speech.usage;
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

fn chat(asked: &Conversation, speech: &Speech) -> Vec<Value> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": speech.id, "object": "chat.completion.chunk", "created": 0, "model": asked.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if let Some(text) = &speech.text {
        let (first, second) = halves(text);
        events.push(chunk(json!({"content": first}), None));
        events.push(chunk(json!({"content": second}), None));
    }
    for (at, call) in speech.calls.iter().enumerate() {
        let (first, second) = halves(&call.arguments);
        let begin = with(
            chat_call(speech, at, call),
            "function",
            json!({"name": call.tool.name, "arguments": first}),
        );
        events.push(chunk(json!({"tool_calls": [begin]}), None));
        events.push(chunk(json!({"tool_calls": [{"index": at, "function": {"arguments": second}}]}), None));
    }
    events.push(chunk(json!({}), Some(finish(speech))));
    events
        .push(json!({"id": speech.id, "object": "chat.completion.chunk", "created": 0, "model": asked.model,
        "choices": [], "usage": chat_usage(speech)}));
    events
}

fn items(speech: &Speech) -> Vec<Value> {
    let text = speech.text.iter().map(|text| {
        json!({"type": "message", "id": format!("msg_{}", speech.id), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})
    });
    let calls = speech.calls.iter().enumerate().map(|(at, call)| {
        let mut item = json!({"type": "function_call", "id": format!("fc_{}_{at}", speech.id),
            "call_id": format!("call_{}_{at}", speech.id), "name": call.tool.name, "arguments": call.arguments,
            "status": "completed"});
        if let Some(group) = &call.tool.group {
            item = with(item, "namespace", group.clone().into());
        }
        item
    });
    text.chain(calls).collect()
}

fn responses_whole(asked: &Conversation, speech: &Speech) -> Value {
    let (input, output) = speech.usage;
    json!({"id": speech.id, "object": "response", "created_at": 0, "status": "completed", "model": asked.model,
        "output": items(speech),
        "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + output}})
}

fn responses(asked: &Conversation, speech: &Speech) -> Vec<Value> {
    let whole = responses_whole(asked, speech);
    let begun = with(with(whole.clone(), "output", json!([])), "status", "in_progress".into());
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (at, item) in items(speech).into_iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": item}));
        if let Some(text) = speech.text.as_ref().filter(|_| item.get("role").is_some()) {
            let id = item.get("id").cloned().unwrap_or_default();
            events.push(json!({"type": "response.output_text.delta", "item_id": id, "output_index": at,
                "content_index": 0, "delta": text}));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    events.into_iter().enumerate().map(|(at, event)| with(event, "sequence_number", at.into())).collect()
}

fn gemini(speech: &Speech) -> Vec<Value> {
    let text = speech.text.iter().map(|text| json!({"text": text}));
    let calls = speech
        .calls
        .iter()
        .map(|call| json!({"functionCall": {"name": call.tool.name, "args": parsed(&call.arguments)}}));
    let parts: Vec<Value> = text.chain(calls).collect();
    let (input, output) = speech.usage;
    vec![
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output},
        "modelVersion": "scripted", "responseId": speech.id}),
    ]
}
