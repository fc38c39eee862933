//! What becomes of a conversation that is nearly as long as the model can read.

use crate::llm::{Message, Model, Part, Usage};

/// So much of the context may be used before the conversation is made shorter.
const SHARE: u64 = 80;
/// It may take so many turns to write down what it knows.
pub const TURNS_MAX: u32 = 4;
/// So much of what was done last is kept in words.
const TRACE_CALLS_MAX: usize = 30;

pub fn is_due(model: &Model, last: Usage) -> bool {
    last.context().saturating_mul(100) > model.context_tokens.saturating_mul(SHARE)
}

pub fn ask_for_notes(own_files: &str) -> String {
    let path = workspace_path(own_files);
    format!(
        "This conversation is nearly as long as you can read and begins anew after this. Write everything you need to go on \
         to `{path}` now, without losing what is there: what you found out, what is done, what is left, in which files. \
         Then answer with one word."
    )
}

pub fn workspace_path(own_files: &str) -> String {
    match own_files {
        "" | "." => "workspace.md".to_owned(),
        own => format!("{own}/workspace.md"),
    }
}

/// The first message of a conversation that goes on.
pub fn anew(brief: &str, notes: Option<&str>, people: &[String], before: &[Message]) -> String {
    let mut text = format!("{}\n\n## You have worked on this already\n\n", brief.trim_end());
    text.push_str("The conversation so far was too long to go on with. Look at `git status` and `git log` before you repeat anything.\n");
    if let Some(notes) = notes.filter(|notes| !notes.trim().is_empty()) {
        text.push_str("\nWhat you wrote down (workspace.md), as it is now:\n\n");
        text.push_str(&notes.lines().map(|line| format!("> {line}\n")).collect::<String>());
    }
    // They were said once, to a conversation that is gone.
    for message in people {
        text.push_str(&format!("\n{}\n", message.trim_end()));
    }
    let done = done(before);
    if !done.is_empty() {
        text.push_str("\nWhat you did last, oldest first:\n\n");
        let skip = done.len().saturating_sub(TRACE_CALLS_MAX);
        done.iter().skip(skip).for_each(|line| text.push_str(&format!("- {line}\n")));
    }
    text
}

/// Every call in a line.
fn done(messages: &[Message]) -> Vec<String> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => {
                let input = match &call.input {
                    crate::llm::ToolInput::Read(value) => value.to_string(),
                    crate::llm::ToolInput::Malformed(raw) => raw.clone(),
                };
                Some(format!("{} {}", call.name, input.chars().take(160).collect::<String>()))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_person_said_is_forgotten() {
        let people = ["A message of ann (c1), while you work:\n\nsign it with love".to_owned()];
        let text = anew("the brief", Some("the tea is green"), &people, &[]);
        for words in ["the brief", "> the tea is green", "sign it with love"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
