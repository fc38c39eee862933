mod changes;
mod comment;
mod comments;
mod create;
mod edit;
mod file;
mod files;
mod list;
mod mark;
mod resolve;
mod review;
mod rounds;
mod settle;
mod show;
mod verdict;
mod wait;
mod withdraw;

use serde_json::{Value, json};

use crate::place::Client;

/// Asks about a text under an id.
pub fn ask(client: &Client, id: &str) -> Value {
    let asked = json!({"id": id, "worker": "writer", "phase": "draft", "deliverable": "the text"});
    client.post("/v1/checkpoints", &asked).expect(201).json()
}

pub fn judge(client: &Client, id: &str, verdict: &str) -> crate::place::Answer {
    let reason = (verdict != "approve").then_some("because");
    client.post(&format!("/v1/checkpoints/{id}/verdict"), &json!({"verdict": verdict, "reason": reason}))
}
