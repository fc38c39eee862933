use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn words_say_what_a_text_is_about() {
    let place = Place::new();
    let texts = json!({"texts": ["Build failed: auth token missing", "hello"]});
    let answer = place.as_role(Role::Viewer).post("/v1/policies/classify", &texts).expect(200).json();
    assert_eq!(answer[0]["severity"], "high");
    assert_eq!((&answer[0]["category"], &answer[0]["category_word"]), (&json!("security"), &json!("auth")));
    assert_eq!((&answer[1]["severity"], &answer[1]["severity_word"]), (&json!("medium"), &json!(null)));
}
