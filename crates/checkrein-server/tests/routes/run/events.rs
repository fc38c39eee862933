use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn of_a_run_and_its_checkpoints_alone() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let gated = json!({"id": "w", "autonomy": {"require_approval_for": ["build"]},
        "phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}});
    let id = start(&admin, &gated);
    let held = until(&admin, &id, "run_held");
    start(&admin, &workflow("true"));
    crate::checkpoint::ask(&admin, "of somebody else");
    let checkpoint = held["checkpoint"].as_str().unwrap();
    // Listens before and while it goes on.
    let mut events = admin.listen(&format!("/v1/runs/{id}/events"));
    crate::checkpoint::judge(&admin, checkpoint, "approve").expect(200);
    let mut words = Vec::new();
    while words.last().is_none_or(|last| last != "run_ended") {
        let event = events.next().unwrap();
        assert_eq!(event.id, event.data["position"]);
        let of_run = event.data["run_id"] == id;
        assert!(of_run || event.data["checkpoint_id"] == checkpoint, "{event:?}");
        words.push(event.data["event"].as_str().unwrap().to_owned());
    }
    for word in ["run_created", "run_held", "checkpoint_created", "checkpoint_resolved", "hold_released"] {
        assert!(words.contains(&word.to_owned()), "{word}: {words:?}");
    }
    // The same page by page.
    let mut listed = Vec::new();
    let mut after = json!(0);
    while !after.is_null() {
        let page = admin.get(&format!("/v1/runs/{id}/events?limit=3&after={after}")).expect(200).json();
        let items = page["items"].as_array().unwrap();
        listed.extend(items.iter().map(|item| item["event"].as_str().unwrap().to_owned()));
        after = page["next"].clone();
    }
    assert_eq!(listed, words);
    admin.get("/v1/runs/none/events").refused(404, "not-found");
}
