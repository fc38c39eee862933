use serde_json::json;

use super::{path, with_webhook};

#[test]
fn one_that_is_removed_is_not_there() {
    let (_place, admin, made) = with_webhook();
    let removed = admin.delete(&path(&made, "")).expect(200).json();
    assert_eq!(removed["id"], made["id"]);
    admin.delete(&path(&made, "")).refused(404, "not-found");
    assert_eq!(admin.get("/v1/webhooks").json()["items"], json!([]));
}
