//! A command of one's own, with a template for what it is told; its output is text unless it is said to be more.

use checkrein_core::activity::Did;

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

/// Output that is text: every line is kept as it is, and tokens are found where aider says them.
pub struct Text {
    agent: String,
    begun: bool,
    tokens: u64,
    cost: Option<f64>,
}

impl Text {
    pub fn new(agent: &str) -> Text {
        Text { agent: agent.to_owned(), begun: false, tokens: 0, cost: None }
    }
}

impl super::Reader for Text {
    fn read(&mut self, line: &str) -> Vec<Did> {
        let mut did = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            // What it said is in files of its own; going on needs no name.
            let session = Some(self.agent.clone());
            did.push(Did::Began { agent: self.agent.clone(), model: None, session });
        }
        did.extend(raw(line));
        if let Some((tokens, cost)) = spoken_usage(line) {
            self.tokens += tokens;
            self.cost = match (self.cost, cost) {
                (None, None) => None,
                (before, now) => Some(before.unwrap_or(0.0) + now.unwrap_or(0.0)),
            };
            did.push(Did::Used { tokens: self.tokens, cost: self.cost });
        }
        did
    }
}

/// `Tokens: 2.4k sent, 36 received. Cost: $0.01 message, $0.02 session.`
fn spoken_usage(line: &str) -> Option<(u64, Option<f64>)> {
    let rest = line.trim().strip_prefix("Tokens: ")?;
    let (tokens, cost) = rest.split_once(" received").unwrap_or((rest, ""));
    let count = |word: &str| -> Option<f64> {
        let word = word.trim().trim_end_matches(',');
        match (word.strip_suffix('k'), word.strip_suffix('M')) {
            (Some(thousands), _) => Some(thousands.parse::<f64>().ok()? * 1e3),
            (_, Some(millions)) => Some(millions.parse::<f64>().ok()? * 1e6),
            _ => word.replace(',', "").parse().ok(),
        }
    };
    let total: f64 = tokens.split_whitespace().filter_map(count).sum();
    let cost = cost.split('$').nth(1).and_then(|text| text.split_whitespace().next()?.parse().ok());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens")]
    Some((total.max(0.0) as u64, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_aider_says_about_tokens() {
        for (line, expected) in [
            ("Tokens: 2.4k sent, 36 received.", Some((2436, None))),
            ("Tokens: 1,234 sent, 5 received. Cost: $0.01 message, $0.02 session.", Some((1239, Some(0.01)))),
            ("Tokens are fun", None),
        ] {
            assert_eq!(spoken_usage(line), expected, "{line}");
        }
    }
}
