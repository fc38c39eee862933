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

#[test]
fn whoever_follows_it_hears_what_is_written_down_and_when_the_job_is_given() {
    let model = model(json!({"answers": [{"says": "letter", "turns": [
        {"calls": [{"tool": "update_instructions", "input": {"description": "Write to Zoe."}}]}, {"text": "Kept."}]}]}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let chat = ann.post("/v1/chats", &json!({})).expect(201).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chats/{chat}");
    let admin = place.as_role(Role::Admin).header("Accept", "text/event-stream");
    let mut stream = std::io::BufReader::new(admin.open("GET", &path, None));
    assert_eq!(crate::place::read_head(&mut stream).0, 200);
    let mut pieces = super::pieces(stream);
    ann.post(&format!("{path}/messages"), &json!({"text": "a letter"})).expect(201);
    let heard = |pieces: &mut super::Pieces, what: &dyn Fn(&serde_json::Value) -> bool| {
        pieces.find(|piece| what(piece)).unwrap_or_else(|| panic!("it never came"))
    };
    heard(&mut pieces, &|piece| piece["draft"]["description"] == "Write to Zoe.");
    heard(&mut pieces, &|piece| piece["message"]["text"] == "Kept." && piece["message"]["status"] == "done");
    let id = crate::job::give(&ann, &json!({"chat": chat}));
    let given = heard(&mut pieces, &|piece| piece["kind"] == "given");
    assert_eq!(given["run_id"], id.as_str());
    place
        .bearer(&place.token(Role::Reviewer, "bob"))
        .header("Accept", "text/event-stream")
        .get("/v1/chats/nothing")
        .refused(404, "not-found");
}
