use checkrein_core::principal::Role;
use serde_json::json;

use super::ask;
use crate::job::{at_its_plan, digest, making, next_round, of_agent};

#[test]
fn at_a_line_a_file_or_the_whole() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (job, id) = at_its_plan(&ann);
    let path = format!("/v1/checkpoints/{id}/comments");
    let made =
        ann.post(&path, &json!({"text": " [fix] a dog ", "file": "plan.md", "line": 3})).expect(201).json();
    assert_eq!(
        json!([
            made["id"],
            made["tag"],
            made["text"],
            made["by"],
            made["phase"],
            made["round"],
            made["delivered"]
        ]),
        json!(["c1", "FIX", "[fix] a dog", "ann", "phase-1-strategic", 1, false])
    );
    ann.post(&path, &json!({"text": "x", "file": "plan.md"})).expect(201);
    for bad in [
        json!({"text": ""}),
        json!({"text": "x", "line": 3}),
        json!({"text": "x", "file": "", "line": 3}),
        json!({"text": "x", "file": "plan.md", "line": 0}),
        json!({"txt": "x"}),
    ] {
        ann.post(&path, &bad).refused(422, "invalid");
    }
    ann.post(&path, &json!({"text": "x", "reply_to": "c9"})).refused(409, "run-refused");
    // The agent was given them, and they are in its past.
    let next = next_round(&ann, &job, &id, &json!([]));
    let comments = ann.get(&format!("/v1/checkpoints/{next}/comments")).expect(200).json();
    assert_eq!(comments["items"][0]["delivered"], true, "{comments}");
    assert_eq!(comments["items"][2]["text"], "done", "{comments}");
    // What is over is not talked about any more.
    ann.post(&path, &json!({"text": "x"})).refused(409, "already-decided");
    ask(&ann, "plain");
    ann.post("/v1/checkpoints/plain/comments", &json!({"text": "x"})).refused(422, "invalid");
    ann.post("/v1/checkpoints/none/comments", &json!({"text": "x"})).refused(404, "not-found");
}

#[test]
fn an_agent_replies_at_its_own_and_does_nothing_else() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let token = place.token(Role::Agent, "bot");
    let ((_, own), (_, theirs)) = (of_agent(&place, &token), at_its_plan(&ann));
    let bot = place.bearer(&token);
    for id in [&own, &theirs] {
        let comment = json!({"text": "why?", "file": "plan.md", "line": 1});
        ann.post(&format!("/v1/checkpoints/{id}/comments"), &comment).expect(201);
    }
    let path = format!("/v1/checkpoints/{own}/comments");
    let reply = json!({"text": "because", "reply_to": "c1"});
    let made = bot.post(&path, &reply).expect(201).json();
    assert_eq!(
        json!([made["from_agent"], made["by"], made["file"], made["line"]]),
        json!([true, "bot", "plan.md", 1])
    );
    bot.post(&path, &json!({"text": "of my own"})).refused(403, "forbidden");
    bot.post(&format!("/v1/checkpoints/{theirs}/comments"), &reply).refused(404, "not-found");
    let verdict = json!({"verdict": "approve", "digest": digest(&ann, &own)});
    bot.post(&format!("/v1/checkpoints/{own}/verdict"), &verdict).refused(403, "forbidden");
    place.as_role(Role::Viewer).post(&path, &reply).refused(403, "forbidden");
}

/// As if the server had died between saying it and keeping the answer.
#[test]
fn what_is_sent_again_is_said_once() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let path = format!("/v1/checkpoints/{id}/comments");
    let store = rusqlite::Connection::open(place.path().join("store.db")).unwrap();
    let forget = || {
        store.execute("UPDATE answered SET status = NULL, headers = NULL, body = NULL", []).unwrap();
    };
    let keyed = ann.clone().header("Idempotency-Key", "k");
    let comment = json!({"text": "a dog", "file": "plan.md", "line": 3});
    let first = keyed.post(&path, &comment).expect(201).json();
    forget();
    assert_eq!(keyed.post(&path, &comment).expect(201).json(), first);
    let count = || ann.get(&path).json()["items"].as_array().unwrap().len();
    assert_eq!(count(), 1);
    // The same with those that come with a verdict.
    let verdict = json!({
        "verdict": "request_changes", "reason": "no cats", "digest": digest(&ann, &id),
        "comments": [{"text": "here", "file": "plan.md", "line": 1}, {"text": "and in general"}],
    });
    let keyed = ann.clone().header("Idempotency-Key", "v");
    let judge = format!("/v1/checkpoints/{id}/verdict");
    let first = keyed.post(&judge, &verdict).expect(200).json();
    forget();
    assert_eq!(keyed.post(&judge, &verdict).expect(200).json(), first);
    let next = crate::job::held_again(&ann, &job, "phase-1-strategic", 2);
    let said = ann.get(&format!("/v1/checkpoints/{next}/comments")).expect(200).json();
    let by_people = said["items"].as_array().unwrap().iter().filter(|one| one["from_agent"] != true).count();
    assert_eq!(by_people, 3, "{said}");
}

#[test]
fn about_what_was_looked_at() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let stale = ann.clone().header("If-Match", "\"9\"");
    let (comments, files) = (format!("/v1/checkpoints/{id}/comments"), format!("/v1/checkpoints/{id}/files"));
    let mark = json!({"file": "plan.md", "mark": "approved"});
    stale.post(&comments, &json!({"text": "x"})).refused(412, "precondition-failed");
    stale.post(&files, &mark).refused(412, "precondition-failed");
    let level = format!("/v1/jobs/{job}/level");
    stale.post(&level, &json!({"autonomy": "full"})).refused(412, "precondition-failed");
    let etag = ann.get(&format!("/v1/checkpoints/{id}/review")).header("etag").unwrap().to_owned();
    let fresh = ann.clone().header("If-Match", &etag);
    fresh.post(&comments, &json!({"text": "x"})).expect(201);
    fresh.post(&files, &mark).expect(200);
    let etag = ann.get(&format!("/v1/jobs/{job}")).header("etag").unwrap().to_owned();
    ann.clone().header("If-Match", &etag).post(&level, &json!({"autonomy": "full"})).expect(200);
    ask(&ann, "plain");
    let withdraw = "/v1/checkpoints/plain/withdraw";
    stale.post(withdraw, &json!({})).refused(412, "precondition-failed");
    ann.clone().header("If-Match", "\"1\"").post(withdraw, &json!({})).expect(200);
}
