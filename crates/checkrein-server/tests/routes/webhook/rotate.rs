use serde_json::json;

use super::{path, with_webhook};

#[test]
fn a_new_secret_is_shown_once_and_the_old_one_ends() {
    let (_place, admin, made) = with_webhook();
    let rotated = admin.post(&path(&made, "/rotate"), &json!({"overlap": "1h"})).expect(200).json();
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(rotated["old_secret_until"].is_string());
    assert!(!admin.get(&path(&made, "")).body.contains("whsec_"));
    admin.send("POST", &path(&made, "/rotate"), None).expect(200);
    for overlap in ["soon", "9999999999d"] {
        admin.post(&path(&made, "/rotate"), &json!({"overlap": overlap})).refused(422, "invalid");
    }
    admin.post("/v1/webhooks/none/rotate", &json!({})).refused(404, "not-found");
    let slack = json!({"url": "https://hooks.slack.com/services/x"});
    let slack = admin.post("/v1/webhooks", &slack).expect(201).json();
    assert_eq!((&slack["kind"], &slack["secret"]), (&json!("slack"), &json!(null)));
    admin.post(&path(&slack, "/rotate"), &json!({})).refused(422, "invalid");
}
