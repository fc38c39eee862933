use checkrein_core::principal::Role;
use serde_json::json;

use super::{making, model};

#[test]
fn a_conversation_comes_page_by_page() {
    let model = model(json!({"otherwise": "say more"}));
    let place = making(&model).start();
    let ann = place.as_role(Role::Reviewer);
    let chat = ann.post("/v1/chats", &json!({})).expect(201).json();
    let path = format!("/v1/chats/{}", chat["id"].as_str().unwrap());
    for text in ["one", "two"] {
        ann.post(&format!("{path}/messages"), &json!({"text": text})).expect(201);
    }
    let first = ann.get(&format!("{path}?limit=3")).expect(200).json();
    let texts = |chat: &serde_json::Value| -> Vec<String> {
        let messages = chat["messages"].as_array().unwrap().iter();
        messages.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&first), ["one", "say more", "two"]);
    let rest = ann.get(&format!("{path}?limit=3&after={}", first["next"])).expect(200).json();
    assert_eq!((texts(&rest), &rest["next"]), (vec!["say more".to_owned()], &serde_json::Value::Null));
    ann.get("/v1/chats/nothing").refused(404, "not-found");
}
