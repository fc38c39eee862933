use checkrein_core::principal::Role;
use serde_json::json;

use crate::job::{at_its_plan, making, of_agent};

#[test]
fn with_their_threads() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (_, id) = at_its_plan(&ann);
    let path = format!("/v1/checkpoints/{id}/comments");
    assert_eq!(ann.get(&path).expect(200).json(), json!({"items": [], "threads": []}));
    ann.post(&path, &json!({"text": "[QUESTION] why?", "file": "plan.md", "line": 1})).expect(201);
    ann.post(&path, &json!({"text": "all of it"})).expect(201);
    ann.post(&path, &json!({"text": "never mind", "reply_to": "c1"})).expect(201);
    let told = ann.get(&path).expect(200).json();
    let items: Vec<_> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            json!([item["id"], item["tag"], item["file"], item["line"], item["reply_to"], item["by"]])
        })
        .collect();
    assert_eq!(
        json!(items),
        json!([
            ["c1", "QUESTION", "plan.md", 1, null, "ann"],
            ["c2", null, null, null, null, "ann"],
            ["c3", null, "plan.md", 1, "c1", "ann"],
        ])
    );
    let threads: Vec<_> = told["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| json!([thread["line"], thread["comments"]]))
        .collect();
    assert_eq!(json!(threads), json!([[1, ["c1", "c3"]], [null, ["c2"]]]));
}

#[test]
fn an_agent_sees_those_at_its_own() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, theirs) = at_its_plan(&ann);
    let token = place.token(Role::Agent, "bot");
    let (_, own) = of_agent(&place, &token);
    let bot = place.bearer(&token);
    bot.get(&format!("/v1/checkpoints/{own}/comments")).expect(200);
    bot.get(&format!("/v1/checkpoints/{theirs}/comments")).refused(404, "not-found");
    place.as_role(Role::Viewer).get(&format!("/v1/checkpoints/{own}/comments")).expect(200);
}
