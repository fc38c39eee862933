use checkrein_core::principal::Role;
use serde_json::json;

use super::{browser, by_link, from_here};
use crate::place::Place;

#[test]
fn a_link_works_once() {
    let place = Place::new();
    let sam = by_link(&place);
    assert_eq!(
        sam.get("/v1/session").expect(200).json(),
        json!({"name": "sam", "kind": "person", "role": "admin"})
    );
    let again =
        place.client().post("/v1/session", &json!({"link": place.link})).refused(401, "unauthenticated");
    assert!(again["detail"].as_str().unwrap().contains("works once"), "{again}");
    place.client().post("/v1/session", &json!({"link": ""})).refused(401, "unauthenticated");
}

#[test]
fn a_token_signs_in_as_whom_it_names() {
    let place = Place::new();
    let ann = browser(&place, &json!({"token": place.token(Role::Reviewer, "ann")}));
    assert_eq!(ann.get("/v1/session").expect(200).json()["name"], "ann");
    let agent = crate::checkpoint::ask(&place.as_role(Role::Agent), "c1");
    let verdict = json!({"verdict": "approve", "digest": agent["digest"]});
    let given = from_here(&ann).post("/v1/checkpoints/c1/verdict", &verdict).expect(200).json();
    assert_eq!(given["resolved_by"], "ann");
    place.client().post("/v1/session", &json!({"token": "chk_nonsense"})).refused(401, "unauthenticated");
    for body in [json!({}), json!({"tokn": "x"}), json!({"token": "a", "link": "b"})] {
        place.client().post("/v1/session", &body).refused(422, "invalid");
    }
}

/// A page elsewhere must not sign its visitor in as somebody else.
#[test]
fn another_site_signs_nobody_in() {
    let place = Place::new();
    let elsewhere = place.client().header("Origin", "http://evil.example");
    elsewhere.post("/v1/session", &json!({"link": place.link})).refused(403, "cross-site");
    by_link(&place);
}
