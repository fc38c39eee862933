mod context;
mod list;
mod log;
mod moves;
mod picture;
mod should_pop;
mod should_push;
mod show;
mod stats;

use serde_json::{Value, json};

use crate::place::Client;

/// Makes a move that is allowed.
pub fn make(client: &Client, session: &str, command: &Value) -> Value {
    client.post(&format!("/v1/frames/{session}/moves"), command).expect(200).json()
}

/// A session with a suggestion; the suggestion's id.
pub fn suggested(client: &Client, session: &str) -> String {
    make(client, session, &json!({"move": "push", "goal": "theirs"}));
    make(client, session, &json!({"move": "config", "pushThreshold": 1}));
    let made =
        make(client, session, &json!({"move": "should_push", "potentialGoal": "fix it", "errorCount": 4}));
    made["suggestion"]["id"].as_str().unwrap().to_owned()
}
