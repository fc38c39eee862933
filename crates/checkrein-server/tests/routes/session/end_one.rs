use std::time::Duration;

use checkrein_core::principal::Role;
use serde_json::json;

use super::{browser, by_link, from_here};
use crate::place::Place;

#[test]
fn a_browser_elsewhere_is_signed_out() {
    let place = Place::new();
    let token = place.token(Role::Reviewer, "ann");
    let (here, lost) = (browser(&place, &json!({"token": token})), browser(&place, &json!({"token": token})));
    let bob = browser(&place, &json!({"token": place.token(Role::Viewer, "bob")}));
    let path = |id: &str| format!("/v1/sessions/{id}");
    from_here(&bob).delete(&path(&lost.session_id)).refused(404, "not-found");
    let ended = from_here(&here).delete(&path(&lost.session_id)).expect(200).json();
    assert!(ended["ended_at"].is_string(), "{ended}");
    let refused = lost.get("/v1/session").refused(401, "unauthenticated");
    assert_eq!(refused["hint"], "sign in again");
    here.get("/v1/session").expect(200);
    place.bearer(&token).get("/v1/session").expect(200);
    place.as_role(Role::Admin).delete(&path(&bob.session_id)).expect(200);
    bob.get("/v1/session").refused(401, "unauthenticated");
    from_here(&here).delete(&path("none")).refused(404, "not-found");
}

#[test]
fn a_session_goes_with_its_token_and_outlives_the_server() {
    let place = Place::making().limits(|limits| limits.sign_of_life = Duration::from_millis(50)).start();
    let admin = place.as_role(Role::Admin);
    let ann = browser(&place, &json!({"token": place.token(Role::Reviewer, "ann")}));
    let sam = by_link(&place);
    let mut events = ann.listen("/v1/events");
    let sessions = admin.get("/v1/sessions").expect(200).json();
    let own = sessions["items"].as_array().unwrap().iter().find(|one| one["name"] == "ann").unwrap();
    admin.delete(&format!("/v1/tokens/{}", own["token_id"].as_str().unwrap())).expect(200);
    ann.get("/v1/session").refused(401, "unauthenticated");
    assert!(events.next().is_none(), "what it listens to has ended");
    sam.get("/v1/session").expect(200);
    // The address is another one then, and with it the name of the cookie.
    let (_, secret) = sam.cookie.split_once('=').unwrap();
    let (secret, csrf_token) = (secret.to_owned(), sam.csrf_token.clone());
    let place = place.restarted();
    let cookie = format!("checkrein_session_{}={secret}", place.address.port());
    let sam = place.client().header("Cookie", &cookie).header("Sec-Fetch-Site", "same-origin");
    sam.get("/v1/session").expect(200);
    sam.header("X-CSRF-Token", &csrf_token).delete("/v1/session").expect(200);
}
