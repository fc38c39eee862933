//! What a person at a client can say in one word: /push, /pop, /plan and /status.

use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value, json};

/// A prompt, its arguments (the last may be left out), and the tool it asks for.
struct Word {
    name: &'static str,
    about: &'static str,
    arguments: &'static [(&'static str, &'static str, Required)],
    tool: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Required {
    Yes,
    No,
}

static WORDS: &[Word] = &[
    Word {
        name: "push",
        about: "Begin a frame for a part of the work",
        arguments: &[("goal", "What the frame is for", Required::Yes)],
        tool: "flame_push",
    },
    Word {
        name: "pop",
        about: "Fold the current frame into a summary and return to its parent",
        arguments: &[
            ("status", "completed, failed or blocked", Required::No),
            ("summary", "What is worth knowing of it", Required::No),
        ],
        tool: "flame_pop",
    },
    Word {
        name: "plan",
        about: "Note a frame for later",
        arguments: &[("goal", "What the frame will be for", Required::Yes)],
        tool: "flame_plan",
    },
    Word { name: "status", about: "Where the session stands", arguments: &[], tool: "flame_status" },
];

pub fn all() -> Vec<Prompt> {
    let argument = |(name, about, required): &(&str, &str, Required)| {
        PromptArgument::new(*name).with_description(*about).with_required(*required == Required::Yes)
    };
    let prompt = |word: &Word| {
        let arguments = word.arguments.iter().map(argument).collect();
        Prompt::new(word.name, Some(word.about), Some(arguments))
    };
    WORDS.iter().map(prompt).collect()
}

/// What the model is told; none where there is no such prompt.
pub fn made(request: &GetPromptRequestParams) -> Option<GetPromptResult> {
    let word = WORDS.iter().find(|word| word.name == request.name)?;
    let given = request.arguments.clone().unwrap_or_default();
    let known = word.arguments.iter().filter_map(|(name, ..)| {
        let value =
            given.get(*name).filter(|value| !value.as_str().is_some_and(|text| text.trim().is_empty()))?;
        Some(((*name).to_owned(), json!(value)))
    });
    let arguments: serde_json::Map<String, Value> = known.collect();
    let mut text =
        format!("Call the tool `{}` with these arguments: {}", word.tool, Value::Object(arguments.clone()));
    if word.name == "pop" && !arguments.contains_key("summary") {
        text.push_str("\nAdd a `summary` of your own: what was reached, what was decided, what is left.");
    }
    text.push_str("\nThen say in a sentence what came of it.");
    Some(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(word.about))
}
