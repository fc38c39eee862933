use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::browser;
use crate::place::Place;

#[test]
fn everybody_sees_their_own_and_administrators_all() {
    let place = Place::new();
    let token = place.token(Role::Reviewer, "ann");
    let one = browser(&place, &json!({"token": token}));
    let other = browser(&place, &json!({"token": token}));
    let bob = browser(&place, &json!({"token": place.token(Role::Viewer, "bob")}));
    // The same name in another role is somebody else.
    browser(&place, &json!({"token": place.token(Role::Viewer, "ann")}));
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let seen = one.get("/v1/sessions").expect(200).json();
    assert_eq!(ids(&seen), [one.session_id.as_str(), &other.session_id]);
    assert_eq!((&seen["items"][0]["this"], &seen["items"][1]["this"]), (&json!(true), &json!(false)));
    assert_eq!(seen["items"][0]["name"], "ann");
    assert_eq!(ids(&bob.get("/v1/sessions").expect(200).json()), [bob.session_id.as_str()]);
    let admin = place.as_role(Role::Admin);
    let page = admin.get("/v1/sessions?limit=3").expect(200).json();
    assert_eq!(ids(&page).len(), 3);
    let rest = admin.get(&format!("/v1/sessions?limit=3&after={}", page["next"])).expect(200).json();
    assert_eq!((ids(&rest).len(), &rest["next"]), (1, &Value::Null));
    // Nothing by which one could come in.
    for secret in [&one.csrf_token, one.cookie.split_once('=').map(|(_, secret)| secret).unwrap()] {
        assert!(!admin.get("/v1/sessions").body.contains(secret));
    }
}
