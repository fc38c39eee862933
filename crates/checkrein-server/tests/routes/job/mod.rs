pub mod create;
mod level;
mod list;
mod show;

use serde_json::{Value, json};

use crate::place::{Client, Making, Place};
use crate::run::until;

/// An agent that plans, works and is done. It leaves what it was given of a datasource in its plan, as a
/// careless one would.
pub const AGENT: &str = r#"cat > /dev/null
answer() { printf '%s\n' "$1" > "$CHECKREIN_RESULT"; }
case $CHECKREIN_PHASE_NUMBER.$CHECKREIN_ROUND in
  1.1) printf '# Plan\n\nthe cat sat on the mat\nread %s\n' "$CHECKREIN_DATASOURCE_DB" > plan.md
       answer '{"summary": "planned", "next_todos": ["write it"]}' ;;
  1.*) printf '# Plan\n\nthe dog sat on the mat\n' > plan.md
       answer '{"summary": "planned again", "next_todos": ["write it"], "comment_replies": [{"id": "c1", "text": "done"}]}' ;;
  2.*) echo work > work.txt; answer '{"summary": "worked"}' ;;
  *) answer '{"outcome": "job_complete", "summary": "all is done"}' ;;
esac
"#;

/// A server that knows an agent.
pub fn making() -> Making {
    let settings = json!({"agent": AGENT}).to_string();
    Place::making().settings(&settings).env("PATH", &std::env::var("PATH").unwrap()).working()
}

/// Gives a job; its id.
pub fn give(client: &Client, job: &Value) -> String {
    let made = client.post("/v1/jobs", job).expect(201).json();
    made["run_id"].as_str().unwrap().to_owned()
}

/// A job that waits for the review of its plan: its id, and the checkpoint's.
pub fn at_its_plan(client: &Client) -> (String, String) {
    let id = give(client, &json!({"description": "write it"}));
    let checkpoint = held(client, &id);
    (id, checkpoint)
}

/// Waits until a job waits; the checkpoint.
pub fn held(client: &Client, id: &str) -> String {
    until(client, id, "run_held")["checkpoint"].as_str().unwrap().to_owned()
}

/// Waits until a job comes to a certain round of a review; the checkpoint.
pub fn held_again(client: &Client, id: &str, phase: &str, round: u64) -> String {
    let mut events = client.listen(&format!("/v1/runs/{id}/events"));
    loop {
        let event = events.next().unwrap_or_else(|| panic!("round {round} of {phase} never came")).data;
        if event["event"] == "checkpoint_created" && event["phase"] == phase && event["round"] == round {
            return event["checkpoint_id"].as_str().unwrap().to_owned();
        }
    }
}

/// The digest a verdict names.
pub fn digest(client: &Client, checkpoint: &str) -> Value {
    client.get(&format!("/v1/checkpoints/{checkpoint}")).expect(200).json()["digest"].clone()
}
