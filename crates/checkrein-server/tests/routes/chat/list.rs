use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::{making, model};

#[test]
fn whoever_began_a_conversation_finds_it_again_until_its_job_is_given() {
    let model = model(json!({"otherwise": "say more"}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let bob = place.bearer(&place.token(Role::Reviewer, "bob"));
    let begin = || ann.post("/v1/chats", &json!({})).expect(201).json()["id"].as_str().unwrap().to_owned();
    let (first, second) = (begin(), begin());
    ann.post(&format!("/v1/chats/{first}/messages"), &json!({"text": "a letter"})).expect(201);
    let listed = ann.get("/v1/chats").expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(listed["items"][0]["id"], first.as_str(), "the newest first: {listed}");
    assert_eq!(listed["items"][0]["first_question"], "a letter");
    assert_eq!(
        (&listed["items"][1]["id"], &listed["items"][1]["by"]),
        (&second.as_str().into(), &"ann".into())
    );
    let part = ann.get("/v1/chats?limit=1").expect(200).json();
    assert_eq!((part["items"].as_array().unwrap().len(), &part["next"]), (1, &json!(1)));
    assert_eq!(bob.get("/v1/chats").expect(200).json()["items"], json!([]));
    let all = place.as_role(Role::Admin).get("/v1/chats").expect(200).json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all}");
    place.as_role(Role::Agent).get("/v1/chats").refused(403, "forbidden");

    crate::job::give(&ann, &json!({"description": "Write to Zoe.", "chat": first}));
    let left = ann.get("/v1/chats").expect(200).json();
    let ids: Vec<&Value> = left["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [second.as_str()]);
}
