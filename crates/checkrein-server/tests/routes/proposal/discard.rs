use checkrein_core::principal::Role;
use serde_json::json;

use super::Proposing;

#[test]
fn leaves_everything_as_it_is_for_good() {
    let at = Proposing::new();
    let head = at.review()["head"].clone();
    at.place.as_role(Role::Viewer).post(&at.path("p1", "discard"), &json!({})).refused(403, "forbidden");
    let discarded = at.ann.post(&at.path("p1", "discard"), &json!({})).expect(200).json();
    assert_eq!((&discarded["status"], &discarded["settled_by"]), (&"discarded".into(), &"ann".into()));
    at.ann.post(&at.path("p1", "discard"), &json!({})).expect(200);
    at.ann.post(&at.path("p1", "apply"), &json!({})).refused(409, "already-decided");
    at.ann.post(&at.path("p9", "discard"), &json!({})).refused(404, "not-found");
    assert_eq!(at.review()["head"], head);
}
