//! The companion's own tools, as a model is told of them. Those that look are described where they are.

use checkrein_agent::llm::Tool;
use serde_json::{Value, json};

/// A tool of this conversation; none where it is none of its own.
pub(super) fn offer(name: &str) -> Option<Tool> {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 1}));
    let (description, properties, required): (&str, Value, &[&str]) = match name {
        "update_instructions" => (
            "Write down what the job is to be: its description, and how it is given. What you leave out stays as it is. Nothing begins by that.",
            json!({
                "description": {"type": "string", "description": "The whole description, in Markdown"},
                "expert": {"type": "string", "description": "Who does it: coder, debugger, researcher, validator, writer, or one of the user's"},
                "autonomy": {"type": "string", "enum": ["full", "review", "partial", "guided", "dependent"]},
                "config_override": {"type": "object", "description": "What an expert's file may say, for this job alone"},
            }),
            &[],
        ),
        "web_search" => {
            ("Search the web; titles, addresses and excerpts.", json!({"query": text}), &["query"])
        }
        "write_file" => (
            "Propose a whole file as it is to be. Nothing is written: a person applies it or does not.",
            json!({"path": text, "content": text}),
            &["path", "content"],
        ),
        "edit_file" => (
            "Propose to replace `old` by `new` in a file; `old` must be in it exactly once. Nothing is written: a person applies it or does not.",
            json!({"path": text, "old": text, "new": text}),
            &["path", "old", "new"],
        ),
        "draft_comment" => (
            "Draft a comment, on a line of a file that changed, or on the whole. Nothing is said: a person posts it or does not.",
            json!({"text": text, "file": text, "line": number}),
            &["text"],
        ),
        _ => return None,
    };
    let input = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    Some(Tool { name: name.to_owned(), description: description.to_owned(), input })
}
