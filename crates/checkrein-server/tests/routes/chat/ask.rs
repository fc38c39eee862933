use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::{making, model, stream};

#[test]
fn a_job_is_prepared_and_given_with_its_conversation() {
    let model = model(json!({"answers": [{"says": "letter", "turns": [
        {"calls": [{"tool": "update_instructions", "input": {"description": "Write to Zoe.", "autonomy": "guided"}}]},
        {"text": "Written down."}]}]}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let chat = ann.post("/v1/chats", &json!({})).expect(201).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chats/{chat}");
    let pieces: Vec<Value> = stream(&ann, &format!("{path}/messages"), "a letter, please").collect();
    let kinds: Vec<&str> = pieces.iter().map(|piece| piece["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"asked"), Some(&"answered")), "{pieces:?}");
    assert!(kinds.contains(&"drafted") && kinds.contains(&"used"), "{kinds:?}");
    let draft = json!({"description": "Write to Zoe.", "autonomy": "guided"});
    assert_eq!(ann.get(&path).expect(200).json()["draft"], draft);

    let job = json!({"description": "Write to Zoe.", "autonomy": "guided", "chat": chat});
    let bob = place.bearer(&place.token(Role::Reviewer, "bob"));
    bob.post("/v1/jobs", &job).refused(404, "not-found");
    let id = crate::job::give(&ann, &job);
    let of_job = ann.get(&format!("/v1/runs/{id}/chat")).expect(200).json();
    assert_eq!((&of_job["id"], &of_job["run_id"]), (&chat.as_str().into(), &id.as_str().into()));
    assert_eq!(of_job["messages"][0]["text"], "a letter, please");
    // What was said is the job's now, and everybody's who sees the job.
    assert_eq!(bob.get(&path).expect(200).json()["run_id"], id.as_str());
    ann.post("/v1/jobs", &job).refused(409, "already-decided");
}

#[test]
fn only_what_is_a_question_is_taken() {
    let model = model(json!({"otherwise": "yes"}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let chat = ann.post("/v1/chats", &json!({})).expect(201).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chats/{chat}/messages");
    ann.post(&path, &json!({})).refused(422, "invalid");
    ann.post(&path, &json!({"text": "  "})).refused(422, "invalid");
    ann.post(&path, &json!({"text": "x".repeat(33 << 10)})).refused(422, "invalid");
    ann.post("/v1/chats/nothing/messages", &json!({"text": "x"})).refused(404, "not-found");
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post(&path, &json!({"text": "x"})).refused(403, "forbidden");
    }
    assert!(model.asked().is_empty());
}
