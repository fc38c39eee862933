mod ask;
mod cancel;
mod chat;
mod create;
mod definition;
mod events;
mod list;
mod log;
mod output;
mod report;
mod rerun;
mod resume;
mod show;

use serde_json::{Value, json};

use crate::place::Client;

/// A workflow of one phase with one step.
pub fn workflow(command: &str) -> Value {
    json!({"id": "w", "phases": {"build": {"steps": [{"id": "a", "run": command}]}}})
}

/// Starts a run; its id.
pub fn start(client: &Client, workflow: &Value) -> String {
    let made = client.post("/v1/runs", &json!({"workflow": workflow})).expect(201).json();
    made["run_id"].as_str().unwrap().to_owned()
}

/// Waits until an event of a run says so; how the run stands then.
pub fn until(client: &Client, id: &str, event: &str) -> Value {
    let mut events = client.listen(&format!("/v1/runs/{id}/events"));
    while events.next().unwrap_or_else(|| panic!("`{event}` never happened")).data["event"] != event {}
    client.get(&format!("/v1/runs/{id}")).expect(200).json()
}
