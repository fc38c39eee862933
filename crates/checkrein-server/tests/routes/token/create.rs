use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn a_secret_is_shown_once_and_works() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let wanted = json!({"role": "agent", "name": "bot", "expires": "1h"});
    let made = admin.post("/v1/tokens", &wanted).expect(201).json();
    let secret = made["token"].as_str().unwrap();
    let bot = place.bearer(secret).get("/v1/session").expect(200).json();
    assert_eq!(bot, json!({"name": "bot", "kind": "agent", "role": "agent"}));
    assert!(!admin.get("/v1/tokens").body.contains(secret));
    for wanted in [
        json!({"role": "king", "name": "x"}),
        json!({"role": "admin", "name": " "}),
        json!({"role": "admin", "name": "x", "expires": "soon"}),
        json!({"role": "admin", "name": "x", "expires": "9999999999d"}),
    ] {
        admin.post("/v1/tokens", &wanted).refused(422, "invalid");
    }
    // Its answer is a secret and is not kept.
    let keyed = admin.header("Idempotency-Key", "k");
    keyed.post("/v1/tokens", &wanted).refused(400, "malformed");
}

#[test]
fn a_token_that_is_over_is_worthless() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let wanted = json!({"role": "admin", "name": "late", "expires": "0s"});
    let made = admin.post("/v1/tokens", &wanted).expect(201).json();
    let late = place.bearer(made["token"].as_str().unwrap());
    let problem = late.get("/v1/tokens").refused(401, "unauthenticated");
    assert_eq!(problem["detail"], "the token is not valid: it has expired");
}
