use super::{add, path, with_webhook};

#[test]
fn it_is_to_be_sent_again_by_its_own_webhook_alone() {
    let (_place, admin, made) = with_webhook();
    let sent = admin.send("POST", &path(&made, "/test"), None).expect(200).json();
    let rest = format!("/deliveries/{}/retry", sent["id"].as_str().unwrap());
    let again = admin.send("POST", &path(&made, &rest), None).expect(200).json();
    assert_eq!(
        (&again["id"], again["status"].as_str(), again["attempts"].as_u64()),
        (&sent["id"], Some("waiting"), Some(0))
    );
    let other = add(&admin, "https://example.com/");
    admin.send("POST", &path(&other, &rest), None).refused(404, "not-found");
    admin.send("POST", &path(&made, "/deliveries/none/retry"), None).refused(404, "not-found");
}
