use checkrein_core::principal::Role;
use serde_json::json;

use super::{NOBODY, add, path, receiver};
use crate::place::Place;

#[test]
fn it_says_what_came_of_it() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let (url, got) = receiver(&["200 OK"]);
    let arrived = admin.send("POST", &path(&add(&admin, &url), "/test"), None).expect(200).json();
    assert_eq!((&arrived["status"], &arrived["answer"]), (&json!("delivered"), &json!("answered 200")));
    let (headers, _) = got.recv().unwrap();
    assert!(headers.contains(&("webhook-id".to_owned(), arrived["id"].as_str().unwrap().to_owned())));
    let failed = admin.send("POST", &path(&add(&admin, NOBODY), "/test"), None).expect(200).json();
    assert_eq!(failed["status"], "dead", "{failed}");
    assert!(!failed.to_string().contains("secret-path"), "{failed}");
    admin.send("POST", "/v1/webhooks/none/test", None).refused(404, "not-found");
}
