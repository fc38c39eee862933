//! MCP as clients and agents meet it: the binary on standard input and output, and the server.

mod companion;
mod job;
mod stdio;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::place::{BINARY, Place};

/// A client that speaks to the binary line by line, and takes nothing for a message that is none.
pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    pub fn start(place: &Place, environment: &[(&str, &str)]) -> Client {
        let mut command = place.command(BINARY);
        command.arg("mcp").envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Client { child, input, output, id: 0 }
    }

    /// One that has shaken hands.
    pub fn new(place: &Place, environment: &[(&str, &str)]) -> Client {
        let mut client = Client::start(place, environment);
        client.initialize("2025-11-25", json!({}));
        client
    }

    pub fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        let answer = self.ask("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "it is gone");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        self.id
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The same with parameters as they are written.
    pub fn ask_raw(&mut self, method: &str, params: &str) -> Value {
        self.id += 1;
        let id = self.id;
        writeln!(self.input, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
            .unwrap();
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        names(&answer)
    }

    /// What a tool says; whether it is an error, and its text.
    pub fn call(&mut self, name: &str, arguments: Value) -> (bool, String) {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        told(&answer)
    }

    /// What a tool says that works.
    pub fn works(&mut self, name: &str, arguments: Value) -> Value {
        let (failed, text) = self.call(name, arguments);
        assert!(!failed, "{name}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// What a tool says that refuses.
    pub fn refuses(&mut self, name: &str, arguments: Value) -> String {
        let (failed, text) = self.call(name, arguments);
        assert!(failed, "{name}: {text}");
        text
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

pub fn told(answer: &Value) -> (bool, String) {
    let Some(text) = answer["result"]["content"][0]["text"].as_str() else {
        return (true, answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
    };
    (answer["result"]["isError"] == true, text.to_owned())
}
