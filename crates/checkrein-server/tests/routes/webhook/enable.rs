use checkrein_core::principal::Role;

use super::{add, path, receiver};
use crate::place::Place;

#[test]
fn one_that_was_given_up_is_told_again() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let (url, _got) = receiver(&["410 Gone", "200 OK"]);
    let made = add(&admin, &url);
    assert_eq!(admin.send("POST", &path(&made, "/test"), None).expect(200).json()["status"], "dead");
    let shown = admin.get(&path(&made, "")).json();
    assert!(shown["disabled_at"].is_string(), "{shown}");
    assert_eq!(shown["disabled_reason"], "it answered 410: it wants nothing any more");
    for _ in 0..2 {
        let enabled = admin.send("POST", &path(&made, "/enable"), None).expect(200).json();
        assert!(enabled["disabled_at"].is_null(), "{enabled}");
    }
    admin.send("POST", "/v1/webhooks/none/enable", None).refused(404, "not-found");
}
