use checkrein_core::principal::Role;
use serde_json::json;

use crate::job::{at_its_plan, making, next_round};

#[test]
fn between_any_two_rounds() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let second = next_round(&ann, &job, &id, &json!([]));
    let plan = |query: &str| {
        let diff = ann.get(&format!("/v1/checkpoints/{second}/changes{query}")).expect(200).json();
        let files = diff["files"].as_array().unwrap().clone();
        files.into_iter().find(|file| file["path"] == "plan.md").map(|file| file["change"].clone())
    };
    for (query, change) in [
        ("", Some("modified")),
        ("?from=1&to=2", Some("modified")),
        ("?from=0&to=2", Some("added")),
        ("?from=0&to=1", Some("added")),
        ("?from=2&to=2", None),
    ] {
        assert_eq!(plan(query), change.map(|change| json!(change)), "{query}");
    }
    ann.get(&format!("/v1/checkpoints/{second}/changes?from=1&to=9")).refused(404, "not-found");
    ann.get(&format!("/v1/checkpoints/{second}/changes?from=x")).refused(400, "malformed");
}
