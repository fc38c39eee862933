pub mod create;
mod level;
mod list;
mod show;

use checkrein_core::principal::Role;
use checkrein_engine::NewJob;
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
    let wanted = |event: &Value| event["phase"] == phase && event["round"] == round;
    created(client, id, wanted).unwrap_or_else(|| panic!("round {round} of {phase} never came"))
}

/// Waits until a job waits at another checkpoint than this one.
pub fn held_anew(client: &Client, id: &str, known: &str) -> String {
    created(client, id, |event| event["checkpoint_id"] != known).unwrap()
}

fn created(client: &Client, id: &str, wanted: impl Fn(&Value) -> bool) -> Option<String> {
    let mut events = client.listen(&format!("/v1/runs/{id}/events"));
    loop {
        let event = events.next()?.data;
        // Nothing that is waited for comes after the end.
        assert!(event["event"] != "run_ended", "{event}");
        if event["event"] == "checkpoint_created" && wanted(&event) {
            return event["checkpoint_id"].as_str().map(str::to_owned);
        }
    }
}

/// The digest a verdict names.
pub fn digest(client: &Client, checkpoint: &str) -> Value {
    client.get(&format!("/v1/checkpoints/{checkpoint}")).expect(200).json()["digest"].clone()
}

/// A job that a program with an agent's token started on the server's machine; the same as above.
pub fn of_agent(place: &Place, token: &str) -> (String, String) {
    let bot = place.wait(place.engine.authenticate(token)).unwrap();
    let new = NewJob {
        description: "write it".to_owned(),
        directory: place.path().to_owned(),
        ..NewJob::default()
    };
    let (id, _) = place.wait(place.engine.create_job(&bot, new)).unwrap();
    let checkpoint = held(&place.as_role(Role::Admin), id.as_str());
    (id.to_string(), checkpoint)
}

/// Requests changes, and waits for the next round of the plan; its checkpoint.
pub fn next_round(client: &Client, id: &str, checkpoint: &str, comments: &Value) -> String {
    let verdict = json!({
        "verdict": "request_changes", "reason": "no cats", "digest": digest(client, checkpoint), "comments": comments,
    });
    client.post(&format!("/v1/checkpoints/{checkpoint}/verdict"), &verdict).expect(200);
    held_again(client, id, "phase-1-strategic", 2)
}
