//! What clients tell of themselves while an agent works in them, and what they get back.
//!
//! A client must never be kept from its work: whatever is odd about an event is left out, and an event
//! that was seen before changes nothing.

mod claude_code;
mod opencode;
mod transcript;

use checkrein_core::deliverable::Digest;
use checkrein_core::frame::{Around, FrameSession, Observation, ToolUse, Transcript, Usage, Who};
use checkrein_core::principal::Principal;
use serde_json::Value;

use super::{Change, check_id};
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// A client that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    OpenCode,
}

impl Client {
    pub const ALL: [Client; 2] = [Client::ClaudeCode, Client::OpenCode];

    pub const fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::OpenCode => "opencode",
        }
    }
}

/// What the client reads; nothing at all where there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer(pub Option<Value>);

/// An event, in words all clients share.
#[derive(Clone, Debug, Default)]
struct Told {
    session: String,
    directory: Option<String>,
    /// By which it is known again.
    key: Option<String>,
    /// The sub-agent it is about.
    agent_key: Option<String>,
    agent: Option<String>,
    /// The type of the session's own agent.
    session_agent: Option<String>,
    observations: Vec<Observation>,
    /// Where the client itself writes down what happens.
    transcript: Option<String>,
    /// What to do with the transcript's newest part: the log of the current frame takes it.
    keeps_transcript: bool,
    wants: Wants,
}

/// What an event is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wants {
    #[default]
    Nothing,
    /// The context of the current frame, what is suggested, and what was done without asking.
    Context,
    /// The same, unless it was told already.
    NewContext,
    /// Only what is suggested or was done because of this very event.
    News,
}

impl Engine {
    /// Takes in an event of a client's hook.
    pub async fn hook(
        &self,
        by: &Principal,
        client: Client,
        event: &[u8],
    ) -> Result<HookAnswer, EngineError> {
        require(by, Act::KeepFrames)?;
        let Ok(event) = serde_json::from_slice::<Value>(event) else { return Ok(HookAnswer::default()) };
        // What needs no memory is answered at once.
        if let Some(answer) = match client {
            Client::ClaudeCode => claude_code::bound(&event),
            Client::OpenCode => None,
        } {
            return Ok(HookAnswer(Some(answer)));
        }
        let told = match client {
            Client::ClaudeCode => claude_code::told(&event),
            Client::OpenCode => opencode::told(&event),
        };
        let Some(told) = told else { return Ok(HookAnswer::default()) };
        check_id(&told.session)?;
        let text = self.take_in(by, client, &told).await?;
        Ok(HookAnswer(text.and_then(|text| match client {
            Client::ClaudeCode => claude_code::answer(&event, &text),
            Client::OpenCode => Some(serde_json::json!({ "text": text })),
        })))
    }

    async fn take_in(
        &self,
        by: &Principal,
        client: Client,
        told: &Told,
    ) -> Result<Option<String>, EngineError> {
        let settings = self.settings.frames().0;
        let change =
            Change { id: &told.session, directory: told.directory.as_deref(), begins: true, named: true };
        self.change_session(by, &change, &settings, |session, around| {
            Ok::<_, EngineError>(self.taken_in(session, client, told, around))
        })
        .await
    }

    fn taken_in(
        &self,
        session: &mut FrameSession,
        client: Client,
        told: &Told,
        around: &Around<'_>,
    ) -> Option<String> {
        session.state.client = Some(client.name().to_owned());
        if told.session_agent.is_some() {
            session.state.agent.clone_from(&told.session_agent);
        }
        let fresh = match &told.key {
            Some(key) => session.notice(&short(key)),
            None => true,
        };
        let before: Vec<String> = pending(session, around.now_ms);
        if fresh {
            let who = Who { key: told.agent_key.as_deref(), agent: told.agent.as_deref() };
            if let Some(path) = &told.transcript {
                let from = session.state.transcript.clone().unwrap_or_default();
                let read = transcript::read(path, &from, told.keeps_transcript);
                session.state.transcript = Some(read.to);
                session.observe(who, Observation::Usage(read.usage), around);
                session.observe(who, Observation::Messages(read.messages), around);
                for text in read.texts {
                    session.observe(who, Observation::Remark(self.clean(&text)), around);
                }
            }
            for observation in &told.observations {
                session.observe(who, self.cleaned(observation.clone()), around);
            }
            session.consider(around);
        }
        match told.wants {
            Wants::Nothing => None,
            _ if !fresh && told.wants != Wants::Context => None,
            Wants::News => {
                let news = session.take_news();
                let new = session.suggestions.pending(&session.id, around.now_ms);
                let config = session.config(around.settings);
                let shown =
                    config.suggest_in_context && config.level != checkrein_core::frame::FrameLevel::Manual;
                let new = new.filter(|suggestion| shown && !before.contains(&suggestion.id));
                let lines: Vec<String> =
                    news.into_iter().chain(new.map(|suggestion| suggestion.text())).collect();
                (!lines.is_empty()).then(|| lines.join("\n"))
            }
            Wants::Context | Wants::NewContext => {
                let text = context(session, around)?;
                let digest = short(&text);
                if told.wants == Wants::NewContext && session.state.told.as_deref() == Some(&digest) {
                    return None;
                }
                session.state.told = (told.wants == Wants::NewContext).then_some(digest);
                Some(text)
            }
        }
    }

    fn clean(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redacted(text.as_bytes())).into_owned()
    }

    /// What is secret here is in no frame.
    fn cleaned(&self, observation: Observation) -> Observation {
        let clean = |text: String| self.clean(&text);
        match observation {
            Observation::Prompt(text) => Observation::Prompt(clean(text)),
            Observation::Remark(text) => Observation::Remark(clean(text)),
            Observation::Tool(tool) => Observation::Tool(ToolUse {
                on: clean(tool.on),
                error: tool.error.map(clean),
                success: tool.success.map(clean),
                ..tool
            }),
            Observation::AgentBegan { key, goal, agent } => {
                Observation::AgentBegan { key, goal: clean(goal), agent }
            }
            Observation::AgentEnded { key, summary, failed } => {
                Observation::AgentEnded { key, summary: summary.map(clean), failed }
            }
            other => other,
        }
    }
}

fn context(session: &mut FrameSession, around: &Around<'_>) -> Option<String> {
    let config = session.config(around.settings);
    let id = session.tree.current()?.id.clone();
    let context = session.context_of(&id, config.context_tokens, &config, around.now_ms).ok()?;
    let news = session.take_news();
    let news = if news.is_empty() { String::new() } else { format!("{}\n", news.join("\n")) };
    Some(format!("{context}{news}"))
}

fn pending(session: &FrameSession, now_ms: u64) -> Vec<String> {
    session.suggestions.pending(&session.id, now_ms).map(|suggestion| suggestion.id.clone()).collect()
}

/// Enough of a digest to know something again.
fn short(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string().chars().filter(char::is_ascii_hexdigit).take(24).collect()
}

/// A text somewhere in an event.
fn text(event: &Value, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(event, |value, key| value.get(key))?;
    found.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(event: &Value, path: &[&str]) -> u64 {
    let found = path.iter().try_fold(event, |value, key| value.get(key));
    found.and_then(Value::as_u64).unwrap_or(0)
}

/// The beginning of a text, on one line.
fn line(text: &str, chars: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(chars).collect()
}

/// What a command that ended well shows: that tests pass, that it builds.
fn success_of(command: &str, output: &str) -> Option<String> {
    let words: Vec<&str> = command.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    // Some runners say that something failed and end well all the same.
    if output.contains("FAILED") || output.contains("test result: FAILED") {
        return None;
    }
    if has(&["test", "tests", "pytest", "jest", "vitest", "nextest", "unittest", "rspec", "ctest"]) {
        return Some("tests passing".to_owned());
    }
    if has(&["build", "compile", "tsc"]) || words.first() == Some(&"make") {
        return Some("build succeeded".to_owned());
    }
    if has(&["clippy", "lint", "eslint", "ruff", "mypy"]) {
        return Some("lints clean".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_show_something() {
        for (command, output, expected) in [
            ("cargo test --workspace", "ok", Some("tests passing")),
            ("npm run test", "", Some("tests passing")),
            ("npm run test", "1 FAILED", None),
            ("python -m pytest -q", "3 passed", Some("tests passing")),
            ("make -j4", "", Some("build succeeded")),
            ("cargo build", "", Some("build succeeded")),
            ("npx eslint .", "", Some("lints clean")),
            ("cat latest.txt", "", None),
            ("ls", "", None),
        ] {
            assert_eq!(success_of(command, output).as_deref(), expected, "{command}");
        }
    }
}
