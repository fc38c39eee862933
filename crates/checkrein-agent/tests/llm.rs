//! The client of models against one that is scripted, in both dialects.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use checkrein_agent::llm::{
    Answer, Client, Exchange, Listener, LlmError, Message, Model, Part, Patience, Request, Stop, Tool,
    ToolInput,
};
use checkrein_core::config::model::{ModelApi, Price};
use checkrein_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

const APIS: [ModelApi; 2] = [ModelApi::Anthropic, ModelApi::Openai];

#[derive(Default)]
struct Heard {
    text: String,
    again: Vec<String>,
    exchanges: Vec<Exchange>,
}

impl Listener for Heard {
    fn text(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    fn again(&mut self, why: &LlmError, _wait: Duration) {
        self.text.clear();
        self.again.push(why.to_string());
    }

    fn exchanged(&mut self, exchange: Exchange) {
        self.exchanges.push(exchange);
    }
}

fn model(server: &ScriptedModel, api: ModelApi) -> Model {
    Model {
        api,
        url: match api {
            ModelApi::Anthropic => server.url(),
            ModelApi::Openai => server.openai_url(),
        },
        key: Some("k-123456".to_owned()),
        name: "scripted".to_owned(),
        output_tokens_max: 100,
        context_tokens: 1000,
        price: Price { input: 1.0, output: 10.0, ..Price::default() },
    }
}

fn request() -> Request {
    Request {
        system: "You help.".to_owned(),
        messages: vec![Message::user("please do it")],
        tools: vec![Tool {
            name: "run_command".to_owned(),
            description: "runs".to_owned(),
            input: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        }],
    }
}

fn ask(server: &ScriptedModel, api: ModelApi) -> (Result<Answer, LlmError>, Heard) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let patience = Patience { wait_first: Duration::from_millis(1), ..Patience::default() };
    let client = Client::new(patience).unwrap();
    let mut heard = Heard::default();
    let answer = runtime.block_on(client.ask(&model(server, api), &request(), &mut heard));
    (answer, heard)
}

fn scripted(turn: Value) -> ScriptedModel {
    let script = Script::of(json!({"answers": [{"says": "please", "turns": [turn]}]})).unwrap();
    ScriptedModel::start(script).unwrap()
}

#[test]
fn both_dialects_give_the_same_answer() {
    let turn = json!({"text": "I look.", "calls": [{"run": "ls"}], "usage": {"input": 100, "output": 20}});
    let server = scripted(turn);
    for api in APIS {
        let (answer, heard) = ask(&server, api);
        let answer = answer.unwrap();
        assert_eq!(heard.text, "I look.");
        assert_eq!(answer.text(), "I look.");
        assert_eq!(answer.stop, Stop::Tools);
        let calls: Vec<_> = answer.calls().collect();
        let [call] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!(
            (call.name.as_str(), &call.input),
            ("run_command", &ToolInput::Read(json!({"command": "ls"})))
        );
        assert_eq!((answer.usage.input, answer.usage.output, answer.usage.tokens()), (100, 20, 120));
        let cost = answer.usage.cost(Price { input: 1.0, output: 10.0, ..Price::default() });
        assert!((cost - 0.0003).abs() < 1e-9, "{cost}");
        let [exchange] = heard.exchanges.as_slice() else { panic!("{:?}", heard.exchanges) };
        assert_eq!((exchange.status, exchange.attempt), (Some(200), 1));
        assert!(!serde_json::to_string(exchange).unwrap().contains("k-123456"), "the key is not kept");
        assert_eq!(exchange.answer.as_ref().unwrap()["stop"], "tools");
    }
    assert!(server.asked().iter().all(|asked| asked.key.as_deref() == Some("k-123456")));
}

#[test]
fn what_tools_answered_goes_back_to_the_model() {
    let script = json!({"answers": [{"says": "please", "turns": [
        {"calls": [{"run": "ls"}]}, {"text": "there is a file"}]}]});
    for api in APIS {
        let server = ScriptedModel::start(Script::of(script.clone()).unwrap()).unwrap();
        let (first, _) = ask(&server, api);
        let first = first.unwrap();
        let result =
            |call: &str| Part::ToolResult { call: call.to_owned(), text: "a.txt".to_owned(), failed: false };
        let results: Vec<Part> = first.calls().map(|call| result(&call.id)).collect();
        let mut request = request();
        request.messages.push(Message::model(&first));
        request.messages.push(Message { role: checkrein_agent::llm::Role::User, parts: results });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = Client::new(Patience::short()).unwrap();
        let second = runtime.block_on(client.ask(&model(&server, api), &request, &mut ())).unwrap();
        assert_eq!((second.text().as_str(), second.stop), ("there is a file", Stop::End));
    }
}

#[test]
fn what_passes_is_asked_again() {
    for api in APIS {
        for (fault, expected) in [
            (
                json!({"status": 429, "retry_after": 0, "times": 2}),
                "the model allows no more requests for now: slow down",
            ),
            (json!({"status": 529, "times": 2}), "the model cannot answer (529): overloaded"),
            (json!({"cut": true, "times": 2}), "the answer was cut off"),
        ] {
            let server = scripted(json!({"text": "in the end it is said", "fault": fault}));
            let (answer, heard) = ask(&server, api);
            assert_eq!(answer.unwrap().text(), "in the end it is said");
            assert_eq!(heard.text, "in the end it is said", "what was cut off does not count");
            assert_eq!(heard.again.len(), 2, "{:?}", heard.again);
            assert!(heard.again.iter().all(|why| why.starts_with(expected)), "{:?}", heard.again);
            assert_eq!(heard.exchanges.len(), 3, "every try is told");
        }
    }
}

#[test]
fn what_does_not_pass_is_said_at_once() {
    for api in APIS {
        for (status, expected) in [
            (401, "the model refused the key: invalid x-api-key"),
            (400, "the model does not take the request (400): something went wrong"),
        ] {
            let server = scripted(json!({"text": "never", "fault": {"status": status}}));
            let (answer, heard) = ask(&server, api);
            assert_eq!(answer.unwrap_err().to_string(), expected);
            assert_eq!(heard.exchanges.len(), 1);
        }
        let script = Script { context_bytes_max: Some(10), ..Script::default() };
        let server = ScriptedModel::start(script).unwrap();
        assert!(matches!(ask(&server, api).0, Err(LlmError::TooLong { .. })));
    }
}

#[test]
fn arguments_that_are_no_json_are_kept_as_they_are() {
    let server = scripted(json!({"calls": [{"tool": "run_command", "raw": "{\"command\": "}]}));
    for api in APIS {
        let answer = ask(&server, api).0.unwrap();
        let call = answer.calls().next().unwrap();
        assert_eq!(call.input, ToolInput::Malformed("{\"command\": ".to_owned()));
    }
}
