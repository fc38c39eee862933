use super::{path, with_webhook};

#[test]
fn they_are_paged_and_filtered() {
    let (_place, admin, made) = with_webhook();
    let ids: Vec<_> = (0..3)
        .map(|_| admin.send("POST", &path(&made, "/test"), None).expect(200).json()["id"].clone())
        .collect();
    let page = admin.get(&path(&made, "/deliveries?status=dead&limit=2")).expect(200).json();
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    assert_eq!(page["items"][0]["id"], ids[2]);
    let rest = admin.get(&path(&made, &format!("/deliveries?before={}", page["next"]))).json();
    assert_eq!((&rest["items"][0]["id"], rest["next"].is_null()), (&ids[0], true));
    let none = admin.get(&path(&made, "/deliveries?status=waiting")).json();
    assert_eq!(none["items"], serde_json::json!([]));
    admin.get(&path(&made, "/deliveries?status=lost")).refused(400, "malformed");
    admin.get("/v1/webhooks/none/deliveries").refused(404, "not-found");
}
