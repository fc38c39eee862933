//! A program's output as lines of JSON: what every such stream has in common.

use checkrein_core::activity::Did;
use serde_json::Value;

use super::{Reader, raw, text};

/// How the events of one program are read.
pub(crate) trait Events: Send {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did>;
}

/// Whose stream it is, and what went wrong in it so far.
pub(crate) struct Heard {
    agent: String,
    pub trouble: Option<String>,
}

impl Heard {
    /// The agent begins; whatever the program does not say of it is empty.
    pub fn began(&self, model: &str, session: &str) -> Did {
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Did::Began { agent: self.agent.clone(), model: said(model), session: said(session) }
    }

    /// The program says that something went wrong: that is what came of it, unless it goes on all the same.
    pub fn went_wrong(&mut self, what: &str, said: &str) -> Did {
        self.trouble = Some(said.to_owned());
        Did::Raw { text: format!("{what}: {said}") }
    }
}

pub(crate) struct Stream<E> {
    events: E,
    heard: Heard,
}

impl<E: Events> Stream<E> {
    pub fn new(agent: &str, events: E) -> Stream<E> {
        Stream { events, heard: Heard { agent: agent.to_owned(), trouble: None } }
    }
}

impl<E: Events> Reader for Stream<E> {
    fn read(&mut self, line: &str) -> Vec<Did> {
        match serde_json::from_str::<Value>(line) {
            Ok(event) => self.events.read(&event, line, &mut self.heard),
            Err(_) => raw(line),
        }
    }

    fn trouble(&self) -> Option<String> {
        self.heard.trouble.clone()
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

    fn told(output: AgentOutput, lines: &str) -> (Vec<Did>, Option<String>) {
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
        let mut reader = reader(&spec, std::path::Path::new(""));
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
    fn what_means_nothing_is_kept_as_it_is() {
        for (output, _) in STREAMS {
            for line in ["no JSON at all", r#"{"type":"invented"}"#, "[1]", "{\"type\":"] {
                let (did, trouble) = told(output, line);
                assert_eq!((did, trouble), (raw(line), None), "{output:?}");
            }
        }
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
            assert_eq!(told(output, &line.to_string()).1.as_deref(), Some("it broke"), "{output:?}");
        }
    }
}
