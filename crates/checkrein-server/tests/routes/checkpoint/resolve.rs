use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::job::{at_its_plan, making, next_round};

#[test]
fn a_settled_thread_is_not_the_agents_matter() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (job, id) = at_its_plan(&ann);
    let (comments, threads) =
        (format!("/v1/checkpoints/{id}/comments"), format!("/v1/checkpoints/{id}/threads"));
    ann.post(&comments, &json!({"text": "why?", "file": "plan.md", "line": 1})).expect(201);
    ann.post(&comments, &json!({"text": "ah", "reply_to": "c1"})).expect(201);
    let resolved = || -> Value { ann.get(&comments).expect(200).json()["threads"][0]["resolved_by"].clone() };
    assert_eq!(resolved(), json!(null));
    // Any comment of it names the thread.
    ann.post(&threads, &json!({"comment": "c2", "resolved": true})).expect(200);
    assert_eq!(resolved(), json!("ann"));
    ann.post(&threads, &json!({"comment": "c1", "resolved": false})).expect(200);
    assert_eq!(resolved(), json!(null));
    ann.post(&threads, &json!({"comment": "c1", "resolved": true})).expect(200);
    ann.post(&threads, &json!({"comment": "c9", "resolved": true})).refused(409, "run-refused");
    place
        .as_role(Role::Viewer)
        .post(&threads, &json!({"comment": "c1", "resolved": true}))
        .refused(403, "forbidden");
    place
        .as_role(Role::Agent)
        .post(&threads, &json!({"comment": "c1", "resolved": true}))
        .refused(403, "forbidden");
    let second = next_round(&ann, &job, &id, &json!([]));
    let told = ann.get(&format!("/v1/checkpoints/{second}/comments")).expect(200).json();
    let first = told["items"].as_array().unwrap().iter().find(|item| item["id"] == "c1").unwrap().clone();
    assert_eq!(first["delivered"], json!(false), "{told}");
    ann.post(&threads, &json!({"comment": "c1", "resolved": false})).refused(409, "already-decided");
}
