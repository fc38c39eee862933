//! MCP at `/mcp`: who gets in, what they find, and how it ends.

mod authorization;
mod docs;
mod door;
mod newest;
mod session;

use serde_json::{Value, json};

use crate::place::{Answer, Client};

/// A client of an older revision, which has a session.
pub struct Session {
    pub client: Client,
    pub id: String,
}

pub fn initialize(client: &Client) -> Answer {
    let who = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
    post(client, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
}

pub fn post(client: &Client, message: &Value) -> Answer {
    client.clone().header("Accept", "application/json, text/event-stream").post("/mcp", message)
}

/// The one message of an answer, whichever form it has.
pub fn message(answer: &Answer) -> Value {
    let messages = answer.body.lines().filter_map(|line| {
        let data = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(data).ok().filter(|value| value["jsonrpc"] == "2.0")
    });
    let messages: Vec<Value> = messages.collect();
    assert_eq!(messages.len(), 1, "{answer:?}");
    messages[0].clone()
}

pub fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

impl Session {
    pub fn new(client: &Client) -> Session {
        let begun = initialize(client).expect(200);
        assert_eq!(message(&begun)["result"]["protocolVersion"], "2025-06-18");
        let id = begun.header("mcp-session-id").unwrap().to_owned();
        let session = Session { client: client.clone().header("Mcp-Session-Id", &id), id };
        post(&session.client, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect(202);
        session
    }

    pub fn ask(&self, method: &str, params: &Value) -> Value {
        let asked = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        message(&post(&self.client, &asked).expect(200))
    }

    pub fn call(&self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
    }
}
