use checkrein_core::principal::Role;
use serde_json::json;

use super::{hidden, page, person, post, send};
use crate::checkpoint::ask;
use crate::place::Place;

#[test]
fn what_waits_is_shown_with_its_reasons_and_decided_in_place() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    ask(&agent, "c1");
    ask(&agent, "c2");
    let ann = person(&place, Role::Reviewer, "ann");
    let inbox = page(&ann, "/inbox");
    let (first, second) = (inbox.find("data-key=\"c1\""), inbox.find("data-key=\"c2\""));
    assert!(first.is_some() && first < second, "{inbox}");
    assert!(inbox.contains("class=\"because\""), "{inbox}");
    let digest = hidden(&inbox, "digest");
    let approve = [("verdict", "approve"), ("digest", digest.as_str()), ("back", "/inbox?type=x")];
    let answer = send(&ann, "/checkpoints/c1/verdict", &approve).expect(303);
    assert_eq!(answer.header("location"), Some("/inbox?type=x"));
    assert_eq!(agent.get("/v1/checkpoints/c1").expect(200).json()["resolved_by"], "ann");
    let inbox = page(&ann, "/inbox");
    assert!(!inbox.contains("data-key=\"c1\"") && inbox.contains("data-key=\"c2\""));
    let silent =
        send(&ann, "/checkpoints/c2/verdict", &[("verdict", "request_changes"), ("digest", &digest)]);
    assert!(silent.expect(422).body.contains("Say why"));
    let other = send(
        &ann,
        "/checkpoints/c1/verdict",
        &[("verdict", "reject"), ("digest", &digest), ("reason", "no")],
    );
    assert!(other.expect(409).body.contains("Somebody was faster"));
}

/// What a row or a page does not show is looked at elsewhere, or confirmed (R17).
#[test]
fn nothing_is_approved_that_is_not_shown() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let ask = |asked: serde_json::Value| agent.post("/v1/checkpoints", &asked).expect(201);
    let disguised =
        json!({"question": "Continue?", "run_id": "r", "kind": "check_in", "payload": "the rest"});
    ask(json!({"id": "disguised", "worker": "w", "deliverable": disguised}));
    ask(json!({"id": "long", "worker": "w", "deliverable": format!("{}the end", "x ".repeat(400))}));
    ask(json!({"id": "bytes", "worker": "w", "deliverable_base64": "/wA="}));
    let ann = person(&place, Role::Reviewer, "ann");
    assert!(page(&ann, "/checkpoints/disguised").contains("the rest"));
    assert!(page(&ann, "/checkpoints/long").contains("the end"));
    let inbox = page(&ann, "/inbox");
    let row = inbox.split("<article").find(|row| row.contains("data-key=\"long\"")).unwrap();
    assert!(row.contains("Look at all of it") && !row.contains("data-approve"), "{row}");
    let bytes = page(&ann, "/checkpoints/bytes");
    assert!(bytes.contains("Not shown: 2 bytes that are not text"), "{bytes}");
    let digest = hidden(&bytes, "digest");
    let status = || agent.get("/v1/checkpoints/bytes").expect(200).json()["status"].clone();
    let approve = [("verdict", "approve"), ("digest", digest.as_str()), ("confirmed", "yes")];
    send(&ann, "/checkpoints/bytes/verdict", &approve[..2]).expect(303);
    assert_eq!(status(), "pending");
    send(&ann, "/checkpoints/bytes/verdict", &approve).expect(303);
    assert_eq!(status(), "approved");
}

#[test]
fn a_verdict_is_bound_to_what_was_on_the_screen() {
    let place = Place::new();
    ask(&place.as_role(Role::Agent), "c1");
    let ann = person(&place, Role::Reviewer, "ann");
    send(&ann, "/checkpoints/c1/verdict", &[("verdict", "approve")]).expect(422);
    let other = format!("sha256:{}", "0".repeat(64));
    let stale = send(&ann, "/checkpoints/c1/verdict", &[("verdict", "approve"), ("digest", &other)]);
    assert!(stale.expect(409).body.contains("It changed while you looked"));
}

#[test]
fn several_are_decided_at_once() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let asked: Vec<String> = ["c1", "c2", "c3"]
        .iter()
        .map(|id| format!("{} {id}", ask(&agent, id)["digest"].as_str().unwrap()))
        .collect();
    let ann = person(&place, Role::Reviewer, "ann");
    let both =
        [("chosen", asked[0].as_str()), ("chosen", &asked[1]), ("verdict", "reject"), ("reason", "too long")];
    let answer = send(&ann, "/verdicts", &both).expect(303);
    let said = answer.headers.iter().find(|(_, value)| value.starts_with("checkrein_said=")).unwrap();
    assert!(said.1.contains("2%20checkpoints%20rejected"), "{said:?}");
    for (id, status) in [("c1", "rejected"), ("c2", "rejected"), ("c3", "pending")] {
        let checkpoint = agent.get(&format!("/v1/checkpoints/{id}")).expect(200).json();
        assert_eq!(checkpoint["status"], json!(status), "{id}");
    }
}

#[test]
fn who_only_looks_gets_no_buttons_and_no_verdict() {
    let place = Place::new();
    ask(&place.as_role(Role::Agent), "c1");
    let vic = person(&place, Role::Viewer, "vic");
    let inbox = page(&vic, "/inbox");
    assert!(inbox.contains("data-key=\"c1\"") && !inbox.contains("/verdict"), "{inbox}");
    let refused = send(&vic, "/checkpoints/c1/verdict", &[("verdict", "approve")]).expect(403);
    assert!(refused.body.contains("Your role does not allow that"), "{}", refused.body);
    let nobody = place.client().header("Sec-Fetch-Site", "same-origin");
    post(&nobody, "/checkpoints/c1/verdict", &[("verdict", "approve")]).expect(401);
}

#[test]
fn what_others_write_is_text() {
    let place = Place::new();
    let evil = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>";
    let agent = place.as_role(Role::Agent);
    let body = json!({"id": evil, "worker": evil, "phase": evil, "type": "deliverable", "deliverable": evil});
    agent.post("/v1/checkpoints", &body).expect(201);
    let ann = person(&place, Role::Reviewer, "ann");
    let path =
        format!("/checkpoints/{}", form_urlencoded::byte_serialize(evil.as_bytes()).collect::<String>());
    for path in ["/inbox".to_owned(), path.replace('+', "%20")] {
        let page = page(&ann, &path);
        assert!(page.contains("&lt;img src=x"), "{page}");
        assert!(!page.contains("<img src=x") && !page.contains("<script>"), "{page}");
    }
}
