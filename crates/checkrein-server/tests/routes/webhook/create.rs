use checkrein_core::principal::Role;
use serde_json::json;

use super::{add, receiver};
use crate::place::Place;

#[test]
fn what_waits_is_told_and_signed_with_the_secret_that_was_shown() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let (url, got) = receiver(&["200 OK"]);
    let made = add(&admin, &url);
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{made}");
    assert_eq!(made["types"], json!(["checkpoint.created"]));
    assert!(!made.to_string().contains("secret-path"), "{made}");
    crate::checkpoint::ask(&admin, "c1");
    let (headers, body) = got.recv().unwrap();
    let header = |name: &str| headers.iter().find(|(own, _)| own == name).unwrap().1.clone();
    let own = checkrein_core::notification::WebhookSecret::parse(secret).unwrap();
    let signed = own.sign(&header("webhook-id"), header("webhook-timestamp").parse().unwrap(), &body);
    assert_eq!(header("webhook-signature"), signed);
    let said: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&said["type"], &said["subject"]), (&json!("checkpoint.created"), &json!("c1")));
}

#[test]
fn what_cannot_be_sent_to_is_refused() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    for wanted in [
        json!({"url": "http://127.0.0.1:1/"}),
        json!({"url": "http://example.com/", "allow_private": false}),
        json!({"url": "https://169.254.169.254/", "allow_private": true}),
        json!({"url": "file:///etc/passwd"}),
        json!({"url": "https://example.com/", "types": ["checkpoint.guessed"]}),
        json!({"url": "https://example.com/", "types": []}),
        json!({"url": "https://example.com/", "kind": "pigeon"}),
        json!({"url": "https://example.com/", "name": "a\u{202e}b"}),
    ] {
        admin.post("/v1/webhooks", &wanted).refused(422, "invalid");
    }
    // Its answer is a secret and is not kept.
    let keyed = admin.clone().header("Idempotency-Key", "k");
    keyed.post("/v1/webhooks", &json!({"url": "https://example.com/"})).refused(400, "malformed");
    assert_eq!(admin.get("/v1/webhooks").json()["items"], json!([]));
}
