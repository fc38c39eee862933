//! A command of one's own, with a template for what it is told; its output is text unless it is said to be more.

use checkrein_core::activity::Did;

use super::aider::Usage;
use super::{Invocation, Prompt, path, raw};
use crate::task::AgentTask;

pub fn invocation(task: &AgentTask, command: &str, prompt: &Prompt<'_>) -> Invocation {
    let model = task.spec.model(task.kind).unwrap_or_default();
    let brief = task.home.join("prompt.md");
    let filled = command.replace("{brief}", &quoted(&path(&brief))).replace("{model}", &quoted(model));
    let mut env = Vec::new();
    if !model.is_empty() {
        env.push(("CHECKREIN_MODEL".to_owned(), model.to_owned()));
    }
    Invocation {
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), filled],
        env,
        stdin: prompt.text.to_owned(),
        files: vec![(brief, prompt.text.to_owned())],
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Output that is text: every line is kept as it is, and tokens are found where they are told as aider tells them.
pub struct Text {
    agent: String,
    begun: bool,
    usage: Usage,
}

impl Text {
    pub fn new(agent: &str) -> Text {
        Text { agent: agent.to_owned(), begun: false, usage: Usage::default() }
    }
}

impl super::Reader for Text {
    fn read(&mut self, line: &str) -> Vec<Did> {
        let mut did = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            did.push(Did::Began { agent: self.agent.clone(), model: None, session: None });
        }
        did.extend(raw(line));
        did.extend(self.usage.read(line));
        did
    }

    fn is_text(&self) -> bool {
        true
    }
}
