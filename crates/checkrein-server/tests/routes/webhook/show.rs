use super::{path, with_webhook};

#[test]
fn one_without_its_secret() {
    let (_place, admin, made) = with_webhook();
    let shown = admin.get(&path(&made, "")).expect(200);
    assert_eq!(shown.json()["url"], "http://127.0.0.1:1/…");
    assert!(!shown.body.contains("whsec_") && !shown.body.contains("secret-path"), "{}", shown.body);
    admin.get("/v1/webhooks/none").refused(404, "not-found");
}
