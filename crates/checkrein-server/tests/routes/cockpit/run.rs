use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::{page, person, send};
use crate::job::{give, held, making};
use crate::place::Place;
use crate::run::until;

#[test]
fn a_failed_job_is_not_under_way() {
    let settings = json!({"agent": "cat > /dev/null; echo broken >&2; exit 3"}).to_string();
    let path = std::env::var("PATH").unwrap();
    let place = Place::making().settings(&settings).env("PATH", &path).working().start();
    let admin = place.as_role(Role::Admin);
    let id = give(&admin, &json!({"description": "write it"}));
    until(&admin, &id, "run_ended");
    let bob = person(&place, Role::Reviewer, "bob");
    for path in [format!("/runs/{id}"), format!("/runs/{id}/report")] {
        let shown = page(&bob, &path);
        assert!(shown.contains("failure") && !shown.contains("under way"), "{path}: {shown}");
    }
    let report = admin.get(&format!("/v1/runs/{id}/report")).expect(200).json();
    assert_eq!(report["phases"][0]["status"], "failure", "{report}");
}

#[test]
fn a_job_is_given_followed_and_ended_by_forms() {
    let place = making().start();
    let bob = person(&place, Role::Reviewer, "bob");
    let fields = [
        ("description", "Write the letter\nsoon"),
        ("level", "guided"),
        ("datasources", "db=postgres://u:hidden-word@h/d"),
    ];
    let given = send(&bob, "/jobs", &fields).expect(303);
    let path = given.header("location").unwrap().to_owned();
    let id = path.strip_prefix("/runs/").unwrap();
    let admin = place.as_role(Role::Admin);
    held(&admin, id);
    let shown = page(&bob, &path);
    for text in ["Write the letter", "guided", "Approve", "planned", "write it", "read ***"] {
        assert!(shown.contains(text), "no `{text}` in {shown}");
    }
    // The plan is read as what it says.
    assert!(shown.contains("<div class=\"md\"><h3"), "{shown}");
    // What the agent copied into its plan is a secret all the same.
    assert!(!shown.contains("hidden-word"), "{shown}");
    let changed = send(&bob, &format!("{path}/level"), &[("level", "dependent")]).expect(303);
    assert_eq!(changed.header("location"), Some(path.as_str()));
    assert_eq!(admin.get(&format!("/v1/jobs/{id}")).expect(200).json()["level"], "dependent");
    let wrong = send(&bob, &format!("{path}/level"), &[("level", "wild")]).expect(422);
    assert!(wrong.body.contains("wild"), "{}", wrong.body);
    send(&bob, &format!("{path}/cancel"), &[("reason", "enough <b>")]).expect(303);
    let shown = page(&bob, &path);
    assert!(shown.contains("cancelled") && shown.contains("enough &lt;b&gt;"), "{shown}");
    let again = send(&bob, &format!("{path}/rerun"), &[]).expect(303);
    assert_ne!(again.header("location"), Some(path.as_str()));
    let listed = page(&bob, "/runs?kind=job&status=cancelled");
    assert!(listed.contains(id) && listed.contains("level <strong>dependent</strong>"), "{listed}");
}

#[test]
fn a_mistake_in_the_form_loses_nothing_that_was_written() {
    let place = making().start();
    let bob = person(&place, Role::Reviewer, "bob");
    let fields = [("description", "Write <it>"), ("config_override", "{"), ("plan", "- one")];
    let refused = send(&bob, "/jobs", &fields).expect(422);
    assert!(refused.body.contains("is not JSON"), "{}", refused.body);
    assert!(
        refused.body.contains(">Write &lt;it&gt;</textarea>") && refused.body.contains(">- one</textarea>")
    );
    // A command is an administrator's to send.
    let command = send(&bob, "/jobs", &[("description", "x"), ("agent", "cmd:true")]).expect(403);
    assert!(command.body.contains("command"), "{}", command.body);
}

#[test]
fn every_event_of_a_run_is_there_to_be_searched_and_kept() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let id = give(&admin, &json!({"description": "write it"}));
    held(&admin, &id);
    let vic = person(&place, Role::Viewer, "vic");
    let all = vic.get(&format!("/runs/{id}/audit.jsonl")).expect(200);
    assert_eq!(
        all.header("content-disposition"),
        Some(format!("attachment; filename=\"audit-{id}.jsonl\"").as_str())
    );
    let lines: Vec<Value> = all.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let listed = admin.get(&format!("/v1/runs/{id}/events?limit=1000")).expect(200).json();
    assert_eq!(lines.len(), listed["items"].as_array().unwrap().len());
    let shown = page(&vic, &format!("/runs/{id}/audit?q=RUN_HELD"));
    assert_eq!(shown.matches("data-key=").count(), 1, "{shown}");
    assert!(page(&vic, &format!("/runs/{id}/audit?q=nothing-like-it")).contains("No such events"));
    for tab in ["output", "report"] {
        assert!(page(&vic, &format!("/runs/{id}/{tab}")).contains("aria-current=\"page\""), "{tab}");
    }
    assert!(vic.get("/runs/none").expect(404).body.contains("none"));
}

/// A careless agent tells what it was given; no page does.
#[test]
fn what_is_secret_of_a_job_is_on_no_page() {
    let agent = r#"cat > /dev/null; echo "reads $CHECKREIN_DATASOURCE_DB"
printf '{"summary": "read %s", "next_todos": ["read %s"]}' "$CHECKREIN_DATASOURCE_DB" "$CHECKREIN_DATASOURCE_DB" > "$CHECKREIN_RESULT""#;
    let settings = json!({"agent": agent}).to_string();
    let place =
        Place::making().settings(&settings).env("PATH", &std::env::var("PATH").unwrap()).working().start();
    let admin = place.as_role(Role::Admin);
    let job = json!({"description": "read it", "datasources": {"db": "postgres://u:hid<&den-word@h/d"}});
    let id = give(&admin, &job);
    held(&admin, &id);
    let vic = person(&place, Role::Viewer, "vic");
    for path in [
        "/inbox".to_owned(),
        "/runs".to_owned(),
        format!("/runs/{id}"),
        format!("/runs/{id}/output"),
        format!("/runs/{id}/report"),
        format!("/runs/{id}/audit"),
        format!("/runs/{id}/audit.jsonl"),
    ] {
        let shown = page(&vic, &path);
        assert!(!shown.contains("den-word"), "{path}: {shown}");
    }
    assert!(page(&vic, "/inbox").contains("***"));
}
