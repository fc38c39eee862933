use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::ask;
use crate::job::{at_its_plan, making, next_round, of_agent};

fn file<'r>(review: &'r Value, diff: &str, path: &str) -> &'r Value {
    let files = review[diff]["files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {review}"))
}

#[test]
fn everything_a_person_looks_at() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let answer = ann.get(&format!("/v1/checkpoints/{id}/review")).expect(200);
    assert!(answer.header("etag").is_some());
    let review = answer.json();
    assert_eq!(
        json!([review["run_id"], review["status"], review["open"], review["moved"], review["round"]]),
        json!([job, "pending", true, false, 1])
    );
    assert_eq!(
        json!([review["context"], review["branch"], review["summary"], review["since_last_round"]]),
        json!(["initial_strategic", "phase-1-strategic", "planned", null])
    );
    assert_eq!(review["clone_url"], format!("http://{}/git/{job}.git", place.address));
    assert!(review.get("repository").is_none(), "a path of the server's says nothing elsewhere: {review}");
    assert!(!answer.body.contains(place.path().to_str().unwrap()), "{review}");
    let plan = file(&review, "diff", "plan.md");
    assert_eq!(json!([plan["change"], plan["mark"]]), json!(["added", null]));
    assert_eq!(plan["hunks"][0]["lines"][2]["text"], "the cat sat on the mat");
    assert_eq!(review["artefacts"][0]["path"], "plan.md");
    assert_eq!(review["commits"][0]["human"], false);
    assert!(!review["because"].as_array().unwrap().is_empty(), "{review}");
    // By the job that waits at it, too.
    assert_eq!(ann.get(&format!("/v1/checkpoints/{job}/review")).expect(200).json()["id"], id);
}

#[test]
fn the_next_round_shows_what_it_changed_down_to_words() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let comments = json!([{"file": "plan.md", "line": 3, "text": "[FIX] not a cat"}]);
    let next = next_round(&ann, &job, &id, &comments);
    let review = ann.get(&format!("/v1/checkpoints/{next}/review")).expect(200).json();
    assert_eq!((&review["round"], &review["no_change_since_last_round"]), (&json!(2), &json!(false)));
    let lines = file(&review, "since_last_round", "plan.md")["hunks"][0]["lines"].clone();
    let line = lines.as_array().unwrap().iter().find(|line| line["kind"] == "added").unwrap();
    let changed: Vec<&Value> =
        line["words"].as_array().unwrap().iter().filter(|word| word["changed"] == true).collect();
    assert_eq!(changed.len(), 1, "{line}");
    assert_eq!(changed[0]["text"], "dog");
    // The thread stands where its line is now, with the agent's answer.
    assert_eq!(
        review["threads"][0],
        json!({"id": "c1", "file": "plan.md", "line": 3, "line_changed": true, "was_at": null, "phase": null, "round": 1, "resolved_by": null, "comments": ["c1", "c2"]})
    );
    assert_eq!(review["comments"][1]["from_agent"], true);
    let old = ann.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json();
    assert_eq!((&old["status"], &old["open"]), (&json!("changes_requested"), &json!(false)));
}

#[test]
fn only_reviews_and_only_what_may_be_seen() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    ask(&admin, "plain");
    admin.get("/v1/checkpoints/plain/review").refused(422, "invalid");
    admin.get("/v1/checkpoints/none/review").refused(404, "not-found");
    let (_, theirs) = at_its_plan(&admin);
    let token = place.token(Role::Agent, "bot");
    let (_, own) = of_agent(&place, &token);
    let bot = place.bearer(&token);
    bot.get(&format!("/v1/checkpoints/{own}/review")).expect(200);
    bot.get(&format!("/v1/checkpoints/{theirs}/review")).refused(404, "not-found");
    place.as_role(Role::Viewer).get(&format!("/v1/checkpoints/{theirs}/review")).expect(200);
    place.client().get(&format!("/v1/checkpoints/{theirs}/review")).refused(401, "unauthenticated");
}
