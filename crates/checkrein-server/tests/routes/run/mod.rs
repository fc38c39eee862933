mod activity;
mod ask;
mod cancel;
mod chat;
mod create;
mod definition;
mod events;
mod list;
mod log;
mod message;
mod output;
mod pause;
mod report;
mod request;
mod requests;
mod rerun;
mod resume;
mod show;

use checkrein_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

use crate::place::{Client, Place};

/// A workflow of one phase with one step.
pub fn workflow(command: &str) -> Value {
    json!({"id": "w", "phases": {"build": {"steps": [{"id": "a", "run": command}]}}})
}

/// Starts a run; its id.
pub fn start(client: &Client, workflow: &Value) -> String {
    let made = client.post("/v1/runs", &json!({"workflow": workflow})).expect(201).json();
    made["run_id"].as_str().unwrap().to_owned()
}

/// The key of the model below.
pub const KEY: &str = "sk-hunter2-secret";

/// A server whose jobs are done by the built-in agent, and the model it asks.
pub fn by_a_model(script: Value) -> (Place, ScriptedModel) {
    let model = ScriptedModel::start(Script::of(script).unwrap()).unwrap();
    let main = json!({"api": "anthropic", "model": "scripted", "url": model.url(), "key_env": "SCRIPTED_KEY",
        "price": {"input": 1.0, "output": 10.0}});
    let settings = json!({"agent": "builtin", "models": {"main": main}}).to_string();
    let path = std::env::var("PATH").unwrap();
    let making = Place::making().settings(&settings).env("PATH", &path).env("SCRIPTED_KEY", KEY);
    (making.working().start(), model)
}

/// The same with a model that makes a plan.
pub fn planned_by_a_model() -> (Place, ScriptedModel) {
    by_a_model(json!({"answers": [{"says": "# Phase 1 (strategic) of job", "turns": [
        {"calls": [{"tool": "next_phase_todos", "input": {"todos": ["do it"]}}], "usage": {"input": 500, "output": 10}},
        {"text": "planned", "usage": {"input": 700, "output": 10}}]}]}))
}

/// Waits until an event of a run says so; how the run stands then.
pub fn until(client: &Client, id: &str, event: &str) -> Value {
    let mut events = client.listen(&format!("/v1/runs/{id}/events"));
    while events.next().unwrap_or_else(|| panic!("`{event}` never happened")).data["event"] != event {}
    client.get(&format!("/v1/runs/{id}")).expect(200).json()
}
