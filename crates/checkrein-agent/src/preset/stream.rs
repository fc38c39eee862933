//! A program's output as lines of JSON: what every such stream has in common.

use std::time::Instant;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::Value;

use super::trouble::{Source, Trouble};
use super::{Limits, Reader, raw, text};
use crate::task::AgentTask;

/// How the events of one program are read.
pub(crate) trait Events: Send {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did>;

    /// Reads a line of what the program complains about.
    fn complain(&mut self, _line: &str, _: &mut Heard) {}

    /// Since when it only asks its model again, and what it was told last.
    fn stuck(&self) -> Option<(Instant, &str)> {
        None
    }

    /// What is new elsewhere than in the stream.
    fn look(&mut self, _: &mut Heard) -> Vec<Did> {
        Vec::new()
    }

    /// What the program shows of the limits it was given.
    fn limits(&self) -> Limits {
        Limits::InForce
    }
}

/// Whose stream it is, and what went wrong in it so far.
#[derive(Default)]
pub(crate) struct Heard {
    agent: String,
    pub trouble: Option<Trouble>,
    /// The status its model answered last, where the program says so beside its stream.
    pub status: Option<u16>,
}

impl Heard {
    /// The agent begins; whatever the program does not say of it is empty.
    pub fn began(&self, model: &str, session: &str) -> Did {
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Did::Began { agent: self.agent.clone(), model: said(model), session: said(session) }
    }

    /// The program says that something went wrong: that is what came of it, unless it goes on all the same.
    pub fn went_wrong(&mut self, what: &str, said: &str) -> Did {
        self.trouble = Some(Trouble::told(said));
        Did::Raw { text: format!("{what}: {said}") }
    }
}

pub(crate) struct Stream<E> {
    events: E,
    heard: Heard,
}

impl<E: Events> Stream<E> {
    pub fn new(agent: &str, events: E) -> Stream<E> {
        Stream { events, heard: Heard { agent: agent.to_owned(), ..Heard::default() } }
    }
}

impl<E: Events> Reader for Stream<E> {
    fn read(&mut self, line: &str) -> Vec<Did> {
        match serde_json::from_str::<Value>(line) {
            Ok(event) => self.events.read(&event, line, &mut self.heard),
            Err(_) => raw(line),
        }
    }

    fn complain(&mut self, line: &str) {
        self.events.complain(line, &mut self.heard);
    }

    fn stuck(&self) -> Option<(Instant, &str)> {
        self.events.stuck()
    }

    fn look(&mut self) -> Vec<Did> {
        self.events.look(&mut self.heard)
    }

    fn limits(&self) -> Limits {
        self.events.limits()
    }

    fn trouble(&self) -> Option<Trouble> {
        let trouble = self.heard.trouble.clone()?;
        Some(match trouble.source {
            Source::Program => Trouble::with_status(&trouble.said, self.heard.status),
            _ => trouble,
        })
    }
}

/// Tools a program was told to do without: one that answers all the same shows that it did not listen.
#[derive(Default)]
pub(crate) struct Forbidden {
    tools: &'static [&'static str],
    calls: Vec<(String, String)>,
    used: Option<String>,
}

impl Forbidden {
    pub fn unless_free(task: &AgentTask, tools: &'static [&'static str]) -> Forbidden {
        let tools = if task.permissions() == Permissions::Workspace { tools } else { &[] };
        Forbidden { tools, ..Forbidden::default() }
    }

    pub fn watch(&mut self, did: &[Did]) {
        for did in did {
            match did {
                Did::Called { id, tool, .. } if self.tools.contains(&tool.as_str()) => {
                    self.calls.push((id.clone(), tool.clone()));
                }
                Did::Answered { id, failed: false, .. } => {
                    let used = self.calls.iter().find(|(call, _)| call == id).map(|(_, tool)| tool.clone());
                    self.used = self.used.take().or(used);
                }
                _ => {}
            }
        }
    }

    pub fn limits(&self) -> Limits {
        match &self.used {
            Some(tool) => Limits::Broken(format!("it used `{tool}`, which it was told to do without")),
            None => Limits::InForce,
        }
    }
}

/// A tool that is called; `shell` is the name of the one that runs commands.
pub(crate) fn called(id: &str, tool: &str, input: Option<&Value>, shell: &str) -> Did {
    let input = input.cloned().unwrap_or_default();
    let command = (tool == shell).then(|| text(&input, "command").to_owned());
    Did::Called { id: id.to_owned(), tool: tool.to_owned(), input, command }
}

#[cfg(test)]
mod tests {
    use checkrein_core::config::agent::{AgentFindings, AgentKind, AgentOutput, AgentSpec};
    use serde_json::json;

    use super::super::reader;
    use super::super::tests::task_of;
    use super::*;

    /// One short conversation as each program writes it.
    const STREAMS: [(AgentOutput, &str); 4] = [
        (
            AgentOutput::Claude,
            r#"{"type":"system","subtype":"init","model":"m","session_id":"s1"}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls nowhere"}}],"usage":{"input_tokens":90,"output_tokens":10}}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"not there"}]}}
{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":90,"output_tokens":10}}"#,
        ),
        (
            AgentOutput::Codex,
            r#"{"type":"thread.started","thread_id":"s1"}
{"type":"item.completed","item":{"id":"i0","type":"agent_message","text":"I look."}}
{"type":"item.started","item":{"id":"t1","type":"command_execution","command":"bash -lc 'ls nowhere'"}}
{"type":"item.completed","item":{"id":"t1","type":"command_execution","command":"x","aggregated_output":"not there","exit_code":2,"status":"failed"}}
{"type":"turn.completed","usage":{"input_tokens":90,"output_tokens":10}}"#,
        ),
        (
            AgentOutput::Opencode,
            r#"{"type":"step_start","sessionID":"s1","part":{}}
{"type":"text","sessionID":"s1","part":{"text":"I look."}}
{"type":"tool_use","sessionID":"s1","part":{"callID":"t1","tool":"bash","state":{"status":"completed","input":{"command":"ls nowhere"},"output":"not there","metadata":{"exit":2}}}}
{"type":"step_finish","sessionID":"s1","part":{"tokens":{"input":90,"output":10}}}"#,
        ),
        (
            AgentOutput::Gemini,
            r#"{"type":"init","session_id":"s1","model":"m"}
{"type":"message","role":"assistant","content":"I "}
{"type":"message","role":"assistant","content":"look."}
{"type":"tool_use","tool_id":"t1","tool_name":"run_shell_command","parameters":{"command":"ls nowhere"}}
{"type":"tool_result","tool_id":"t1","status":"error","output":"not there"}
{"type":"result","status":"success","stats":{"total_tokens":100}}"#,
        ),
    ];

    fn told(output: AgentOutput, lines: &str) -> (Vec<Did>, Option<Trouble>) {
        let spec = AgentSpec {
            name: "mine".to_owned(),
            kind: AgentKind::Command { command: String::new(), output },
            args: Vec::new(),
            program: None,
            strategic: None,
            tactical: None,
            environment: Vec::new(),
            permissions: None,
            findings: AgentFindings::default(),
        };
        let mut reader = reader(&task_of(spec), None);
        let did = lines.lines().flat_map(|line| reader.read(line)).collect();
        (did, reader.trouble())
    }

    #[test]
    fn the_same_conversation_is_the_same_whoever_writes_it() {
        for (output, lines) in STREAMS {
            let (did, trouble) = told(output, lines);
            let began = matches!(&did[0], Did::Began { agent, session, .. } if agent == "mine" && session.as_deref() == Some("s1"));
            assert!(began, "{output:?}: {did:?}");
            let called = did.iter().find_map(|did| match did {
                Did::Called { id, command, .. } => Some((id.clone(), command.clone())),
                _ => None,
            });
            assert_eq!(called, Some(("t1".to_owned(), Some("ls nowhere".to_owned()))), "{output:?}: {did:?}");
            assert!(did.contains(&Did::Said { text: "I look.".to_owned() }), "{output:?}: {did:?}");
            let answered = Did::Answered { id: "t1".to_owned(), text: "not there".to_owned(), failed: true };
            assert!(did.contains(&answered), "{output:?}: {did:?}");
            let used = did.iter().rev().find_map(|did| match did {
                Did::Used { tokens, .. } => Some(*tokens),
                _ => None,
            });
            assert_eq!((used, trouble), (Some(100), None), "{output:?}: {did:?}");
        }
    }

    #[test]
    fn what_claude_writes_is_counted_before_its_turn_ends() {
        let lines = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":90,"output_tokens":1}}},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":90,"output_tokens":1}}}
{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":700}},"parent_tool_use_id":null}
{"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null}"#;
        let used = |tokens| Did::Used { tokens, cost: None };
        assert_eq!(told(AgentOutput::Claude, lines).0, [used(91), used(790)]);
    }

    #[test]
    fn what_means_nothing_is_kept_as_it_is() {
        for (output, _) in STREAMS {
            for line in ["no JSON at all", r#"{"type":"invented"}"#, "[1]", "{\"type\":"] {
                let (did, trouble) = told(output, line);
                assert_eq!((did, trouble), (raw(line), None), "{output:?}");
            }
        }
    }

    /// How each program ended when its model answered so, as it wrote it then.
    #[test]
    fn a_model_that_does_not_answer_is_told_from_what_is_broken() {
        use super::super::trouble::{Ending, judge};
        for (output, line, expected) in [
            (
                AgentOutput::Claude,
                json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 500, "terminal_reason": "api_error",
                    "result": "API Error: 500 Scripted trouble. This is a server-side issue, usually temporary — try again in a moment."}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Claude,
                json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 529, "terminal_reason": "api_error",
                    "result": "API Error: 529 Scripted trouble. This is a server-side issue, usually temporary — try again in a moment."}),
                "was told to come back later",
            ),
            (
                AgentOutput::Claude,
                json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": null, "terminal_reason": "api_error",
                    "result": "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Claude,
                json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
                    "result": "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway"}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Codex,
                json!({"type": "turn.failed", "error": {"message": "We’re currently experiencing high demand, which may cause temporary errors."}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Codex,
                json!({"type": "turn.failed", "error": {"message": "stream disconnected before completion: stream closed before response.completed"}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Codex,
                json!({"type": "turn.failed", "error": {"message": "stream disconnected before completion: error sending request"}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Codex,
                json!({"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 503 Service Unavailable"}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Opencode,
                json!({"type": "error", "error": {"name": "APIError", "data": {"message": "Scripted trouble", "statusCode": 500, "isRetryable": true}}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Opencode,
                json!({"type": "error", "error": {"name": "APIError", "data": {"message": "Cannot connect to API: The socket connection was closed unexpectedly"}}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Gemini,
                json!({"type": "result", "status": "error", "error": {"message": "[API Error: got status: 503 Service Unavailable]"}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Gemini,
                json!({"type": "result", "status": "error", "error": {"message": "[API Error: terminated]"}}),
                "cannot reach its model",
            ),
            (
                AgentOutput::Gemini,
                json!({"type": "error", "severity": "error", "message": "Model stream ended without a finish reason."}),
                "cannot reach its model",
            ),
        ] {
            let trouble = told(output, &line.to_string()).1.unwrap();
            let Ending::Unavailable(reason) = judge("mine", &trouble) else {
                panic!("{output:?}: {trouble:?}")
            };
            assert!(reason.contains(expected), "{output:?}: {reason}");
        }
        // What Claude Code says in the place of its model is nothing its model said.
        let instead = json!({"type": "assistant", "is_api_error_message": true, "message": {"content": [{"type": "text", "text": "API Error: 500"}]}});
        assert_eq!(
            told(AgentOutput::Claude, &instead.to_string()).0,
            [Did::Raw { text: "API Error: 500".to_owned() }]
        );
    }

    /// OpenCode asks again for minutes without a word on its output; its log says so.
    #[test]
    fn a_program_that_only_asks_again_is_stuck() {
        let mut reader = Stream::new("opencode", super::super::opencode::Parts::default());
        let title = r#"timestamp=2026-11-17T22:33:44.307Z level=ERROR run=99359056 message="stream error" providerID=scripted modelID=m session.id=s small=true agent=title mode=primary error.error="AI_RetryError: Failed after 3 attempts. Last error: Scripted trouble""#;
        let work = r#"timestamp=2026-11-17T22:33:44.307Z level=ERROR run=99359056 message="stream error" providerID=scripted modelID=m session.id=s small=false agent=build mode=primary error.error="AI_APICallError: Scripted trouble""#;
        reader.complain(title);
        assert!(reader.stuck().is_none(), "a title is not needed");
        reader.complain(work);
        let (since, said) = reader.stuck().unwrap();
        assert_eq!(said, "AI_APICallError: Scripted trouble");
        reader.complain(work);
        assert_eq!(reader.stuck().unwrap().0, since, "since the first of them");
        reader.read(r#"{"type":"step_start","sessionID":"s1","part":{}}"#);
        assert!(reader.stuck().is_some(), "a step begins before there is an answer");
        reader.read(r#"{"type":"text","sessionID":"s1","part":{"text":"I look."}}"#);
        assert!(reader.stuck().is_none(), "its model answers again");
        reader.read(r#"{"type":"step_finish","sessionID":"s1","part":{"reason":"unknown","tokens":{"input":0,"output":0}}}"#);
        assert_eq!(reader.stuck().unwrap().1, "it answered nothing");
    }

    /// Gemini CLI does the same, and says what its model answered there alone.
    #[test]
    fn gemini_says_beside_its_stream_what_its_model_answered() {
        use super::super::trouble::{Ending, judge};
        let mut reader = Stream::new("gemini", super::super::gemini::Pieces::default());
        reader.complain("Warning: 256-color support not detected.");
        assert!(reader.stuck().is_none());
        reader.complain(
            r#"Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{"message":"Internal oops"}}"#,
        );
        assert_eq!(reader.stuck().unwrap().1, r#"_ApiError: {"error":{"message":"Internal oops"}}"#);
        reader.read(r#"{"type":"error","severity":"error","message":"[API Error: Internal oops]"}"#);
        // The end has no words of its own.
        reader.read(r#"{"type":"result","status":"error","stats":{"total_tokens":0}}"#);
        let trouble = reader.trouble().unwrap();
        assert_eq!(
            judge("gemini", &trouble),
            Ending::Unavailable("gemini cannot reach its model: [API Error: Internal oops]".to_owned())
        );
        reader.read(r#"{"type":"message","role":"assistant","content":"I look."}"#);
        assert!(reader.stuck().is_none(), "its model answers again");
        assert_eq!(reader.trouble().unwrap().source, Source::Program, "and that status is over");
    }

    #[test]
    fn what_went_wrong_is_heard() {
        for (output, line) in [
            (
                AgentOutput::Claude,
                json!({"type": "result", "subtype": "success", "is_error": true, "result": "it broke"}),
            ),
            (AgentOutput::Codex, json!({"type": "turn.failed", "error": {"message": "it broke"}})),
            (AgentOutput::Opencode, json!({"type": "error", "error": {"data": {"message": "it broke"}}})),
            (AgentOutput::Gemini, json!({"type": "error", "message": "it broke"})),
        ] {
            assert_eq!(told(output, &line.to_string()).1, Some(Trouble::told("it broke")), "{output:?}");
        }
    }
}
