use checkrein_core::principal::Role;
use serde_json::json;

use crate::checkpoint::ask;
use crate::place::Place;

#[test]
fn several_are_decided_one_after_the_other() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    for id in ["a", "b", "c"] {
        ask(&reviewer, id);
    }
    let verdicts = json!({"verdicts": [
        {"id": "a", "verdict": "approve"},
        {"id": "none", "verdict": "approve"},
        {"id": "b", "verdict": "reject"},
        {"id": "c", "verdict": "reject", "reason": "no"},
        {"id": "a", "verdict": "reject", "reason": "too late"},
    ]});
    let given = reviewer.post("/v1/verdicts", &verdicts).expect(200).json();
    let items = given["items"].as_array().unwrap();
    let words: Vec<String> = items
        .iter()
        .map(|item| {
            let status = item["checkpoint"]["status"].as_str();
            let problem = item["problem"]["type"].as_str().and_then(|kind| kind.rsplit(':').next());
            format!("{} {}", item["id"].as_str().unwrap(), status.or(problem).unwrap())
        })
        .collect();
    assert_eq!(words, ["a approved", "none not-found", "b rejected", "c rejected", "a already-decided"]);
}

#[test]
fn what_nobody_knows_decides_nothing() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "a");
    for odd in [
        json!({"id": "a", "verdict": "approve", "digst": "0000"}),
        json!({"verdict": "approve"}),
        json!({"id": 1, "verdict": "approve"}),
        json!({"id": "a"}),
    ] {
        reviewer.post("/v1/verdicts", &json!({"verdicts": [odd]})).refused(422, "invalid");
    }
    // The last of two equal keys is not what a person read (R2).
    let twice = r#"{"verdicts": [{"id": "a", "verdict": "reject", "reason": "no", "verdict": "approve"}]}"#;
    reviewer.send("POST", "/v1/verdicts", Some(twice)).refused(400, "malformed");
    let seen = reviewer.get("/v1/checkpoints/a").expect(200).json();
    assert_eq!(seen["status"], "pending");
}

#[test]
fn none_and_too_many_are_refused() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let many: Vec<_> =
        (0..101).map(|number| json!({"id": number.to_string(), "verdict": "approve"})).collect();
    for verdicts in [json!([]), json!(many)] {
        reviewer.post("/v1/verdicts", &json!({"verdicts": verdicts})).refused(422, "invalid");
    }
}
