//! What a request has to pass.

use checkrein_core::principal::Role;
use serde_json::json;

use super::{initialize, post};
use crate::place::Place;
use crate::session::{by_link, from_here};

#[test]
fn a_token_is_the_only_way_in() {
    let place = Place::new();
    initialize(&place.client()).refused(401, "unauthenticated");
    initialize(&place.bearer("chk_none")).refused(401, "unauthenticated");
    let browser = from_here(&by_link(&place));
    browser.get("/v1/session").expect(200);
    // The same browser, whose cookie is good everywhere else.
    initialize(&browser).refused(401, "unauthenticated");
    browser.clone().header("Accept", "text/event-stream").get("/mcp").refused(401, "unauthenticated");
    browser.delete("/mcp").refused(401, "unauthenticated");
}

#[test]
fn only_its_own_names_and_pages_get_in() {
    let place = Place::making().name("checkrein.example").start();
    let client = place.as_role(Role::Agent);
    initialize(&client.clone().header("Host", "evil.example")).refused(421, "misdirected");
    initialize(&client.clone().header("Host", "checkrein.example")).expect(200);
    initialize(&client.clone().header("Origin", "https://evil.example")).expect(403);
    initialize(&client.clone().header("Origin", "null")).expect(403);
    initialize(&client.clone().header("Origin", "https://checkrein.example")).expect(200);
    initialize(&client.clone().header("Origin", &format!("http://{}", place.address))).expect(200);
}

#[test]
fn what_is_too_large_or_too_much_is_refused() {
    let place = Place::making().limits(|limits| limits.body_bytes_max = 10_000).start();
    let client = place.as_role(Role::Agent);
    let big = json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(20_000)});
    post(&client, &big).refused(413, "too-large");
    let place = Place::making().limits(|limits| {
        (limits.requests_max, limits.requests_every) = (2, std::time::Duration::from_secs(3600));
    });
    let place = place.start();
    let client = place.as_role(Role::Agent);
    initialize(&client).expect(200);
    initialize(&client).expect(200);
    initialize(&client).refused(429, "rate-limited");
}

#[test]
fn what_is_no_message_is_refused() {
    let place = Place::new();
    let client = place.as_role(Role::Agent).header("Accept", "application/json, text/event-stream");
    for body in ["", "{", "[]", "7", r#"{"jsonrpc": "1.0"}"#] {
        let answer = client.send("POST", "/mcp", Some(body));
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
    }
    client.send("PUT", "/mcp", Some("{}")).expect(405);
}
