use checkrein_core::principal::Role;
use serde_json::json;

use super::{making, model};

#[test]
fn what_a_person_writes_down_is_told_to_the_model_and_given_as_the_job() {
    let model = model(json!({"otherwise": "say more"}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let chat = ann.post("/v1/chats", &json!({})).expect(201).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chats/{chat}");
    let to = format!("{path}/draft");
    let draft =
        json!({"description": "Write to Zoe about the zebra.", "autonomy": "guided", "expert": "writer"});
    assert_eq!(ann.post(&to, &draft).expect(200).json(), draft);
    assert_eq!(ann.get(&path).expect(200).json()["draft"], draft);
    ann.post(&format!("{path}/messages"), &json!({"text": "is that all?"})).expect(201);
    let told = model.asked().last().unwrap().body["system"].to_string();
    assert!(told.contains("about the zebra"), "{told}");

    for (wrong, status, kind) in [
        (json!({"autonomy": "boundless"}), 422, "invalid"),
        (json!({"description": "x".repeat(65 << 10)}), 422, "invalid"),
        (json!({"agent": "cmd:true"}), 422, "invalid"),
    ] {
        ann.post(&to, &wrong).refused(status, kind);
    }
    place.bearer(&place.token(Role::Reviewer, "bob")).post(&to, &draft).refused(404, "not-found");
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post(&to, &draft).refused(403, "forbidden");
    }
    assert_eq!(ann.get(&path).expect(200).json()["draft"], draft, "what was refused changed nothing");

    // What is left out is not written down any more.
    let shorter = json!({"description": "Write to Zoe.", "autonomy": "guided"});
    assert_eq!(ann.post(&to, &shorter).expect(200).json(), shorter);

    // The job takes what is written down where nothing else is said.
    let id = crate::job::give(&ann, &json!({"chat": chat}));
    let job = ann.get(&format!("/v1/jobs/{id}")).expect(200).json();
    assert_eq!((&job["description"], &job["level"]), (&"Write to Zoe.".into(), &"guided".into()));
    ann.post(&to, &shorter).refused(409, "already-decided");
    ann.post("/v1/jobs", &json!({})).refused(422, "invalid");
}
