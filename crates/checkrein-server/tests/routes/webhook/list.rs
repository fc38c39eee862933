use super::with_webhook;

#[test]
fn all_without_secrets() {
    let (_place, admin, made) = with_webhook();
    let listed = admin.get("/v1/webhooks").expect(200);
    let mut expected = made.clone();
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(listed.json(), serde_json::json!({"items": [expected], "next": null}));
    for secret in [made["secret"].as_str().unwrap(), "whsec_", "secret-path"] {
        assert!(!listed.body.contains(secret), "{}", listed.body);
    }
}
