//! What an agent does while it works: lines that its attempt's output is made of, and what they add up to.

use indexmap::IndexMap;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::agent::{single_commands, stands_for};
use crate::shown::one_line;

/// One thing it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    #[schemars(with = "String")]
    pub at: Timestamp,
    #[serde(flatten)]
    pub did: Did,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Did {
    /// It began, or went on with a session.
    Began {
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// By which it can be gone on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    Said {
        text: String,
    },
    Thought {
        text: String,
    },
    /// It calls a tool.
    Called {
        id: String,
        tool: String,
        input: Value,
        /// Where the tool runs a shell command: that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// A tool answered.
    Answered {
        id: String,
        text: String,
        #[serde(default)]
        failed: bool,
    },
    /// What the attempt has used so far, all in all.
    Used {
        tokens: u64,
        /// In the currency of whoever says it, dollars nearly always; none where nobody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// A message of a person reached it.
    Heard {
        message: String,
    },
    /// It waits before it asks its model again.
    Waited {
        why: String,
        wait_ms: u64,
    },
    /// It made its conversation shorter.
    Compacted {
        tokens_before: u64,
    },
    /// Its model does not answer; the attempt is made again after a while.
    Unavailable {
        reason: String,
    },
    /// It cannot go on until a person has done something.
    Blocked {
        reason: String,
    },
    Failed {
        reason: String,
    },
    /// Something it wrote that means nothing to us.
    Raw {
        text: String,
    },
}

/// So much of a text is kept in a line.
const TEXT_CHARS_MAX: usize = 8_000;

impl Did {
    /// A line is no place for whole files.
    pub fn cut(self) -> Did {
        match self {
            Did::Said { text } => Did::Said { text: cut(text) },
            Did::Thought { text } => Did::Thought { text: cut(text) },
            Did::Called { id, tool, input, command } => {
                Did::Called { id, tool, input: cut_value(input), command: command.map(cut) }
            }
            Did::Answered { id, text, failed } => Did::Answered { id, text: cut(text), failed },
            Did::Raw { text } => Did::Raw { text: cut(text) },
            other => other,
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text,
        Some((at, _)) => format!("{}… ({} bytes)", text.get(..at).unwrap_or_default(), text.len()),
    }
}

fn cut_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text)),
        Value::Array(items) => items.into_iter().map(cut_value).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, cut_value(field))).collect(),
        other => other,
    }
}

impl Activity {
    /// A line of an attempt's output; what is none of ours is kept as it is.
    pub fn read(line: &str, at: Timestamp) -> Option<Activity> {
        if line.trim().is_empty() {
            return None;
        }
        Some(serde_json::from_str(line).unwrap_or_else(|_| {
            let text = cut(line.trim_end().to_owned());
            Activity { at, did: Did::Raw { text } }
        }))
    }

    /// The same for a person, in one line or more; none where there is nothing to see.
    pub fn shown(&self) -> Option<String> {
        Some(match &self.did {
            Did::Began { agent, model: Some(model), .. } => {
                format!("{agent} begins with {}", one_line(model))
            }
            Did::Began { agent, .. } => format!("{agent} begins"),
            Did::Said { text } => text.trim_end().to_owned(),
            Did::Thought { text } => format!("({})", shortened(text)),
            Did::Called { tool, command: Some(command), .. } => {
                format!("▸ {}: {}", one_line(tool), shortened(command))
            }
            Did::Called { tool, input, .. } => {
                format!("▸ {} {}", one_line(tool), shortened(&in_words(input)))
            }
            Did::Answered { text, failed, .. } => {
                let mark = if *failed { "✗" } else { "◂" };
                format!("  {mark} {}", shortened(text))
            }
            Did::Used { tokens, cost } => format!("  · {}", used(*tokens, *cost)),
            Did::Heard { message } => format!("message {message} was delivered"),
            Did::Waited { why, wait_ms } => {
                format!("waits {}s: {}", wait_ms.div_ceil(1000), one_line(why))
            }
            Did::Compacted { tokens_before } => format!("conversation shortened from {tokens_before} tokens"),
            Did::Unavailable { reason } | Did::Blocked { reason } => format!("cannot go on: {reason}"),
            Did::Failed { reason } => format!("failed: {reason}"),
            Did::Raw { text } => text.clone(),
        })
        .filter(|text| !text.trim().is_empty())
    }
}

/// An output as people read it: what an agent tells in words, everything else as it is.
pub fn told(text: &str) -> String {
    let line = |line: &str| match serde_json::from_str::<Activity>(line) {
        Ok(activity) => activity.shown().map(|shown| format!("{shown}\n")).unwrap_or_default(),
        Err(_) => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Tokens and cost as people read them.
pub fn used(tokens: u64, cost: Option<f64>) -> String {
    match cost {
        Some(cost) => format!("{tokens} tokens, ${cost:.4}"),
        None => format!("{tokens} tokens"),
    }
}

/// The arguments of a tool in a few words.
fn in_words(input: &Value) -> String {
    match input {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

const SHOWN_CHARS_MAX: usize = 160;

fn shortened(text: &str) -> String {
    let line = one_line(text.trim());
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        None => line,
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
    }
}

/// What the lines of an attempt add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub session: Option<String>,
    pub tokens: u64,
    pub cost: Option<f64>,
    /// Messages of people that reached it.
    pub heard: Vec<String>,
    /// Why it cannot go on until a person has done something.
    pub blocked: Option<String>,
    /// Why it cannot go on for the moment.
    pub unavailable: Option<String>,
    pub failed: Option<String>,
    /// What it said last.
    pub said: Option<String>,
    /// Commands it ran, and whether each failed when it was last run.
    pub commands: IndexMap<String, bool>,
    calls: IndexMap<String, String>,
}

impl Told {
    pub fn hear(&mut self, activity: &Activity) {
        match &activity.did {
            Did::Began { session: Some(session), .. } => self.session = Some(session.clone()),
            Did::Said { text } => self.said = Some(text.clone()),
            Did::Called { id, command: Some(command), .. } => {
                self.calls.insert(id.clone(), command.clone());
            }
            Did::Answered { id, failed, .. } => {
                if let Some(command) = self.calls.shift_remove(id) {
                    self.commands.insert(command, *failed);
                }
            }
            // What was used does not become less.
            Did::Used { tokens, cost } => {
                self.tokens = self.tokens.max(*tokens);
                self.cost = match (self.cost, *cost) {
                    (Some(before), Some(now)) => Some(before.max(now)),
                    (before, now) => now.or(before),
                };
            }
            Did::Heard { message } => self.heard.push(message.clone()),
            Did::Unavailable { reason } => self.unavailable = Some(reason.clone()),
            Did::Blocked { reason } => self.blocked = Some(reason.clone()),
            Did::Failed { reason } => self.failed = Some(reason.clone()),
            Did::Began { .. }
            | Did::Thought { .. }
            | Did::Called { .. }
            | Did::Waited { .. }
            | Did::Compacted { .. }
            | Did::Raw { .. } => {}
        }
    }

    /// Commands that failed when they were last run and are among these patterns; all, if there are none.
    pub fn failed_commands<'t>(&'t self, patterns: &'t [String]) -> impl Iterator<Item = &'t str> {
        // A test is run with a change of directory before it, or with a look at the end of what it says.
        let wanted = move |command: &str| {
            patterns.is_empty()
                || stands_for(patterns, command)
                || single_commands(command).any(|part| stands_for(patterns, part))
        };
        let failed = self.commands.iter().filter(|(_, failed)| **failed).map(|(command, _)| command.as_str());
        failed.filter(move |command| wanted(command))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(did: Did) -> Activity {
        Activity { at: Timestamp::UNIX_EPOCH, did }
    }

    #[test]
    fn lines_come_back_as_they_were_written() {
        let called = Did::Called {
            id: "1".to_owned(),
            tool: "bash".to_owned(),
            input: json!({"command": "ls"}),
            command: Some("ls".to_owned()),
        };
        for did in [called, Did::Used { tokens: 3, cost: None }, Did::Blocked { reason: "no key".to_owned() }]
        {
            let line = serde_json::to_string(&at(did.clone())).unwrap();
            assert_eq!(Activity::read(&line, Timestamp::MAX), Some(at(did)));
        }
        let raw = Activity::read("not ours\n", Timestamp::UNIX_EPOCH);
        assert_eq!(raw, Some(at(Did::Raw { text: "not ours".to_owned() })));
        assert_eq!(Activity::read("  \n", Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn what_lines_add_up_to() {
        let mut told = Told::default();
        let call = |id: &str, command: &str| Did::Called {
            id: id.to_owned(),
            tool: "bash".to_owned(),
            input: Value::Null,
            command: Some(command.to_owned()),
        };
        let answer = |id: &str, failed| Did::Answered { id: id.to_owned(), text: String::new(), failed };
        for did in [
            Did::Began { agent: "a".to_owned(), model: None, session: Some("s".to_owned()) },
            call("1", "cargo test"),
            answer("1", true),
            call("2", "ls x"),
            answer("2", true),
            call("3", "cargo test"),
            answer("3", false),
            Did::Used { tokens: 10, cost: Some(0.5) },
            Did::Used { tokens: 7, cost: None },
        ] {
            told.hear(&at(did));
        }
        assert_eq!((told.tokens, told.cost, told.session.as_deref()), (10, Some(0.5), Some("s")));
        assert_eq!(
            told.failed_commands(&[]).collect::<Vec<_>>(),
            ["ls x"],
            "what passed later is no failure"
        );
        assert_eq!(told.failed_commands(&["cargo *".to_owned()]).count(), 0);
    }

    #[test]
    fn which_commands_a_pattern_stands_for() {
        for (pattern, command, counts) in [
            ("cargo test*", "cargo test", true),
            ("cargo test*", "cargo test --test agents crates/one/src", true),
            ("cargo test*", "cd crates/one && cargo test 2>&1", true),
            ("./check *", "./check src/a.rs", true),
            ("cargo test*", "echo cargo test", false),
            ("cargo test*", "cargo build", false),
        ] {
            let mut told = Told::default();
            told.commands.insert(command.to_owned(), true);
            let patterns = [pattern.to_owned()];
            assert_eq!(told.failed_commands(&patterns).count() == 1, counts, "{pattern}: {command}");
        }
    }

    #[test]
    fn what_a_person_sees() {
        for (did, expected) in [
            (Did::Said { text: "I look.\n".to_owned() }, Some("I look.")),
            (
                Did::Called {
                    id: String::new(),
                    tool: "Read".to_owned(),
                    input: json!({"path": "a\nb"}),
                    command: None,
                },
                Some("▸ Read path=a b"),
            ),
            (Did::Used { tokens: 1200, cost: Some(0.01234) }, Some("  · 1200 tokens, $0.0123")),
            (Did::Raw { text: " ".to_owned() }, None),
        ] {
            let shown = at(did.clone()).shown();
            assert_eq!(shown.as_deref(), expected, "{did:?}");
        }
    }
}
