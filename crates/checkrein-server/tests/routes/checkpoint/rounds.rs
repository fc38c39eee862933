use checkrein_core::principal::Role;
use serde_json::json;

use crate::job::{at_its_plan, making, next_round};

#[test]
fn from_the_first_to_the_one_asked_about() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (job, id) = at_its_plan(&ann);
    let rounds =
        |id: &str| ann.get(&format!("/v1/checkpoints/{id}/rounds")).expect(200).json()["items"].clone();
    assert_eq!(rounds(&id).as_array().unwrap().len(), 1);
    let second = next_round(&ann, &job, &id, &json!([]));
    let told = rounds(&second);
    let row = |index: usize| {
        json!([told[index]["round"], told[index]["id"], told[index]["status"], told[index]["resolved_by"]])
    };
    assert_eq!(row(0), json!([1, id, "changes_requested", "ann"]));
    assert_eq!(row(1), json!([2, second, "pending", null]));
    assert_ne!(told[0]["head"], told[1]["head"]);
    assert_eq!(told[0]["reason"], "no cats");
    assert_eq!(rounds(&id).as_array().unwrap().len(), 1, "what was asked about is the last one");
}
