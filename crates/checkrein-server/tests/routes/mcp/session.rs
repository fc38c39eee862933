//! Sessions of the older revisions.

use std::time::Duration;

use checkrein_core::principal::Role;
use serde_json::json;

use super::{Session, post};
use crate::place::{Place, read_head};

#[test]
fn a_session_is_of_the_token_that_began_it() {
    let place = Place::new();
    let session = Session::new(&place.as_role(Role::Agent));
    let listing = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let thief = place.bearer(&place.token(Role::Admin, "thief")).header("Mcp-Session-Id", &session.id);
    post(&thief, &listing).refused(404, "not-found");
    thief.clone().header("Accept", "text/event-stream").get("/mcp").refused(404, "not-found");
    thief.delete("/mcp").refused(404, "not-found");
    post(&session.client, &listing).expect(200);
    session.client.delete("/mcp").expect(202);
    post(&session.client, &listing).refused(404, "not-found");
}

/// What is judged is what was sent (R2).
#[test]
fn a_number_that_would_be_rounded_is_refused() {
    let place = Place::new();
    let session = Session::new(&place.as_role(Role::Agent));
    let asked = json!({"id": "n", "worker": "w", "deliverable": {"n": 9_007_199_254_740_993_u64}});
    let said = session.call("request_checkpoint", &asked);
    let text = said["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        said["result"]["isError"] == true && text.contains("`9007199254740993` would come back"),
        "{said}"
    );
    assert!(text.contains("hint: send it as text"), "{text}");
    let asked = json!({"id": "n", "worker": "w", "deliverable": {"n": "9007199254740993"}});
    let said = session.call("request_checkpoint", &asked);
    assert_eq!(said["result"]["structuredContent"]["status"], "pending", "{said}");
}

/// A token that is revoked is out, whatever it began.
#[test]
fn every_request_is_asked_who_it_is_from() {
    let often = |limits: &mut checkrein_server::Limits| limits.sign_of_life = Duration::from_millis(50);
    let place = Place::making().limits(often).start();
    let secret = place.token(Role::Agent, "agent");
    let session = Session::new(&place.bearer(&secret));
    let listening = session.client.clone().header("Accept", "text/event-stream");
    let mut stream = std::io::BufReader::new(listening.open("GET", "/mcp", None));
    assert_eq!(read_head(&mut stream).0, 200);
    let admin = place.as_role(Role::Admin);
    let tokens = admin.get("/v1/tokens").expect(200).json();
    let tokens = tokens["items"].as_array().unwrap().clone();
    let id = tokens.iter().find(|token| token["name"] == "agent").unwrap()["id"].as_str().unwrap().to_owned();
    let revoked = admin.delete(&format!("/v1/tokens/{id}"));
    assert!(revoked.status < 300, "{revoked:?}");
    post(&session.client, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        .refused(401, "unauthenticated");
    // What it listened to has an end, which reading waits for.
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
}

#[test]
fn a_token_has_so_many_sessions_at_once() {
    let place = Place::new();
    let client = place.as_role(Role::Agent);
    let other = Session::new(&place.as_role(Role::Viewer));
    let first = Session::new(&client);
    let listing = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    for _ in 0..31 {
        Session::new(&client);
    }
    post(&first.client, &listing).expect(200);
    // One more ends the oldest; nobody else's.
    let last = Session::new(&client);
    post(&first.client, &listing).refused(404, "not-found");
    post(&last.client, &listing).expect(200);
    post(&other.client, &listing).expect(200);
}

/// Neither a stream that is listened to nor a call that waits keeps the server.
#[test]
fn the_server_ends_with_streams_open() {
    // If they did, it would be for the patience of the server.
    let patient = |limits: &mut checkrein_server::Limits| limits.closing_max = Duration::from_secs(3600);
    let mut place = Place::making().limits(patient).start();
    let session = Session::new(&place.as_role(Role::Agent));
    session.call("request_checkpoint", &json!({"worker": "w", "deliverable": "x", "id": "held"}));
    let listening = session.client.clone().header("Accept", "text/event-stream");
    let mut stream = std::io::BufReader::new(listening.open("GET", "/mcp", None));
    assert_eq!(read_head(&mut stream).0, 200);
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "check_checkpoint", "arguments": {"id": "held", "timeout": "50s"}}});
    let waiting = session.client.clone().header("Accept", "application/json, text/event-stream");
    let mut waiting = std::io::BufReader::new(waiting.open("POST", "/mcp", Some(&call.to_string())));
    assert_eq!(read_head(&mut waiting).0, 200);
    place.stop();
}
