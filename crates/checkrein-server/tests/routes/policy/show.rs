use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn the_policy_of_a_scope_a_worker_and_a_level() {
    let place = Place::making().settings("workers: { boss: { autonomy: manual } }").start();
    let viewer = place.as_role(Role::Viewer);
    for (query, level) in [
        ("?scope=job", json!("partial")),
        ("?scope=worker", json!("semi_supervised")),
        ("?worker=boss", json!("manual")),
        ("?scope=worker&worker=boss", json!("manual")),
        ("?scope=job&autonomy=guided", json!("guided")),
        ("", json!(null)),
    ] {
        assert_eq!(viewer.get(&format!("/v1/policies{query}")).expect(200).json()["level"], level, "{query}");
    }
    viewer.get("/v1/policies?scope=job&worker=boss").refused(400, "malformed");
    viewer.get("/v1/policies?scope=all").refused(400, "malformed");
    viewer.get("/v1/policies?scope=job&autonomy=nonsense").refused(422, "invalid");
}
