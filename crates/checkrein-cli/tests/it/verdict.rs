use checkrein_core::config::env;
use insta::{allow_duplicates, assert_snapshot};
use serde_json::json;

use crate::place::{BINARY, Place};
use crate::terminal::Terminal;

/// A place where some checkpoints wait, and a reviewer's token.
fn held(ids: &[&str]) -> (Place, String) {
    let place = Place::new();
    for id in ids {
        let ran = place.run(&["checkpoint", "create", "--worker", "w", "--id", id, "--deliverable", id]);
        assert_eq!(ran.code, 3, "{}", ran.seen());
    }
    let token = place.token("reviewer", "ann");
    (place, token)
}

fn status(place: &Place, id: &str) -> String {
    place.run(&["checkpoint", "show", id, "--json"]).json()["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_verdict_records_who_when_why_and_on_what() {
    let (place, token) = held(&["c1"]);
    let before = place.run(&["checkpoint", "show", "c1", "--json"]).json();
    let ran = place.run_as(&token, &["approve", "c1", "-m", "looks right", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    let given = ran.json();
    assert_eq!(given["status"], "approved");
    assert_eq!((&given["resolved_by"], &given["reason"]), (&json!("ann"), &json!("looks right")));
    assert_eq!(given["digest"], before["digest"]);
    assert!(given["resolved_at"].as_str().unwrap() >= given["created_at"].as_str().unwrap());
}

#[test]
fn the_log_tells_what_kind_of_principal_it_was_and_by_which_token() {
    let (place, _) = held(&["c1", "c2"]);
    let made = place.run(&["token", "create", "--role", "reviewer", "--name", "ann", "--json"]).json();
    place.run_as(made["token"].as_str().unwrap(), &["approve", "c1"]);
    let mut command = place.command(BINARY);
    command.args(["approve", "c2"]);
    assert_eq!(Terminal::start(command).end().1, 0);
    let export = place.run(&["store", "export"]).stdout;
    let resolved = |id: &str| -> serde_json::Value {
        let lines = export.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut of_stream = lines.filter(|line| line["stream"] == id);
        of_stream.find(|line| line["event"]["event"] == "checkpoint_resolved").unwrap()["event"].take()
    };
    let (by_token, at_terminal) = (resolved("c1"), resolved("c2"));
    assert_eq!((&by_token["by_kind"], &by_token["by_token"]), (&json!("person"), &made["id"]));
    assert_eq!((&at_terminal["by_kind"], at_terminal.get("by_token")), (&json!("person"), None));
}

#[test]
fn one_verdict_may_be_for_several() {
    let (place, token) = held(&["c1", "c2", "c3"]);
    assert_snapshot!(place.run_as(&token, &["approve", "c1", "c2"]).seen(), @r"
    -- stdout
    approved c1
    approved c2
    -- exit 0
    ");
    // One that cannot be decided does not keep the rest from it.
    assert_snapshot!(place.run_as(&token, &["reject", "nobody", "c1", "c3", "-m", "no"]).seen(), @r"
    -- stdout
    rejected c3
    -- stderr
    error: there is no checkpoint `nobody`
      hint: `checkrein checkpoint list` shows all there are
    error: checkpoint `c1` is already approved by ann
    -- exit 6
    ");
    assert_eq!((status(&place, "c1"), status(&place, "c3")), ("approved".into(), "rejected".into()));
    let json = place.run_as(&token, &["approve", "c1", "c2", "--json"]).json();
    assert_eq!(json.as_array().unwrap().len(), 2);
}

#[test]
fn an_unknown_id_is_an_error_that_names_it() {
    let (place, token) = held(&[]);
    for arguments in [
        &["approve", "nobody"][..],
        &["reject", "nobody", "-m", "x"],
        &["request-changes", "nobody", "-m", "x"],
        &["checkpoint", "withdraw", "nobody"],
        &["approve", "a\nb"],
    ] {
        let ran = place.run_as(&token, arguments);
        assert_eq!(ran.code, 6, "{arguments:?}: {}", ran.seen());
        assert!(ran.stderr.contains("there is no checkpoint `"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_checkpoint_is_decided_once() {
    let (place, ann) = held(&["c1"]);
    let bob = place.token("reviewer", "bob");
    let first = place.run_as(&ann, &["approve", "c1", "-m", "fine", "--json"]).json();
    let again = place.run_as(&bob, &["approve", "c1", "-m", "me too", "--json"]);
    assert_eq!((again.json(), again.code), (first.clone(), 0));
    for other in [&["reject", "c1", "-m", "no"][..], &["request-changes", "c1", "-m", "no"]] {
        allow_duplicates! { assert_snapshot!(place.run_as(&bob, other).seen(), @r"
        -- stderr
        error: checkpoint `c1` is already approved by ann
        -- exit 6
        "); }
    }
    // An admin may withdraw what others made, and comes too late as well.
    let chief = place.token("admin", "chief");
    let withdrawn = place.run_as(&chief, &["checkpoint", "withdraw", "c1"]);
    assert_eq!(withdrawn.code, 6, "{}", withdrawn.seen());
    let kept = place.run(&["checkpoint", "show", "c1", "--json"]).json();
    for (key, value) in first.as_object().unwrap() {
        assert_eq!(&kept[key], value, "{key}");
    }
}

#[test]
fn a_verdict_with_a_digest_is_for_that_content_only() {
    let (place, token) = held(&["c1"]);
    let digest = place.run(&["checkpoint", "show", "c1", "--json"]).json()["digest"].clone();
    let digest = digest.as_str().unwrap();
    let other = "0".repeat(64);
    let stale = place.run_as(&token, &["approve", "c1", "--digest", &other]);
    assert_eq!(stale.code, 6, "{}", stale.seen());
    assert!(stale.stderr.contains(&other) && stale.stderr.contains(digest), "{}", stale.stderr);
    let odd = place.run_as(&token, &["approve", "c1", "--digest", "abc"]);
    assert!(odd.code == 2 && odd.stderr.contains("64 hexadecimal digits"), "{}", odd.seen());
    assert_eq!(status(&place, "c1"), "pending");
    let named = format!("sha256:{digest}");
    assert_eq!(place.run_as(&token, &["approve", "c1", "--digest", &named]).code, 0);
}

#[test]
fn a_rejection_needs_words() {
    let (place, token) = held(&["c1"]);
    for verdict in ["reject", "request-changes"] {
        let ran = place.run_as(&token, &[verdict, "c1"]);
        assert_eq!(ran.code, 2, "{}", ran.seen());
    }
    assert_eq!(status(&place, "c1"), "pending");
}

#[test]
fn a_refusal_says_why() {
    let (place, token) = held(&["c1"]);
    let place = place.env("CHECKREIN_TOKEN", &token);
    for verdict in ["reject", "request-changes"] {
        let ran = place.run(&[verdict, "c1", "-m", "  "]);
        assert_eq!((ran.stderr.as_str(), ran.code), ("error: `message` is empty\n", 2));
    }
    assert_eq!(status(&place, "c1"), "pending");
}

/// What each verdict needs, besides its id.
const VERDICTS: [&[&str]; 4] = [
    &["approve", "c1"],
    &["reject", "c1", "-m", "no"],
    &["request-changes", "c1", "-m", "no"],
    &["checkpoint", "withdraw", "c1"],
];

#[test]
fn without_a_terminal_a_verdict_needs_a_credential() {
    let (place, _) = held(&["c1"]);
    for arguments in VERDICTS.iter().copied().filter(|arguments| !arguments.contains(&"withdraw")) {
        allow_duplicates! { assert_snapshot!(place.run(arguments).seen(), @r"
        -- stderr
        error: without a terminal a verdict needs a reviewer's credential
          hint: a person gives it in a terminal, or as CHECKREIN_TOKEN to a program of theirs
        -- exit 1
        "); }
    }
    assert_eq!(status(&place, "c1"), "pending");
}

/// Taking back one's own question takes what asking it took; what others asked stays (R3).
#[test]
fn without_a_terminal_only_ones_own_checkpoint_is_withdrawn() {
    let (place, _) = held(&["c1"]);
    let withdraw = ["checkpoint", "withdraw", "c1"];
    let stranger = place.run_env(&[("USER", "somebody-else")], &withdraw);
    assert_eq!(stranger.code, 1, "{}", stranger.seen());
    assert!(stranger.stderr.contains("did not make checkpoint `c1`"), "{}", stranger.seen());
    let inside = place.run_env(&[("CHECKREIN_RUN_ID", "r")], &withdraw);
    assert_eq!(inside.code, 1, "{}", inside.seen());
    assert_eq!(status(&place, "c1"), "pending");
    assert_eq!(place.run(&withdraw).code, 0);
    assert_eq!(status(&place, "c1"), "withdrawn");
}

#[test]
fn a_token_of_too_little_is_refused() {
    let (place, _) = held(&["c1"]);
    for role in ["viewer", "agent"] {
        let token = place.token(role, "robby");
        for arguments in VERDICTS {
            let ran = place.run_as(&token, arguments);
            let (code, expected) = match (arguments.contains(&"withdraw"), role) {
                (false, _) => (1, "that takes the role reviewer"),
                (true, "viewer") => (1, "that takes the role agent"),
                // An agent's token doesn't even see what others made.
                (true, _) => (6, "there is no checkpoint `c1`"),
            };
            assert_eq!(ran.code, code, "{role} {arguments:?}: {}", ran.seen());
            assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        }
        assert_eq!(place.run_as(&token, &["approve", "c1", "c1"]).code, 1);
    }
    assert_eq!(status(&place, "c1"), "pending");
}

#[test]
fn inside_an_attempt_nothing_gives_a_verdict() {
    let (place, reviewer) = held(&["c1"]);
    let admin = place.token("admin", "root");
    for variable in env::FOR_AGENTS {
        for token in [&reviewer, &admin] {
            for arguments in VERDICTS {
                let ran = place.run_env(&[("CHECKREIN_TOKEN", token), (variable, "")], arguments);
                assert_eq!(ran.code, 1, "{variable} {arguments:?}: {}", ran.seen());
                assert!(ran.stderr.contains("inside an agent's attempt"), "{}", ran.stderr);
            }
        }
    }
    assert_eq!(status(&place, "c1"), "pending");
    let mut command = place.command(BINARY);
    command.args(["approve", "c1"]).env("CHECKREIN_JOB_ID", "7");
    let (seen, code) = Terminal::start(command).end();
    assert!(code == 1 && seen.contains("inside an agent's attempt"), "{seen}");
    // Asking is what an attempt is for.
    let asked = ["checkpoint", "create", "--worker", "w", "--id", "c2", "--deliverable", "x"];
    assert_eq!(place.run_env(&[("CHECKREIN_JOB_ID", "7")], &asked).code, 3);
}

#[test]
fn a_worthless_token_is_refused_even_at_a_terminal() {
    let (place, revoked) = held(&["c1"]);
    let id = place.run(&["token", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(place.run(&["token", "revoke", &id]).code, 0);
    let expired = place.run(&["token", "create", "--role", "reviewer", "--expires", "0s"]).stdout;
    for (token, why) in [
        (revoked.as_str(), "it was revoked"),
        (expired.trim(), "it has expired"),
        ("chk_made_up", "nobody knows it"),
    ] {
        let ran = place.run_as(token, &["approve", "c1"]);
        assert_eq!(ran.code, 1, "{}", ran.seen());
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        let mut command = place.command(BINARY);
        command.args(["approve", "c1"]).env("CHECKREIN_TOKEN", token);
        let (seen, code) = Terminal::start(command).end();
        assert!(code == 1 && seen.contains(why), "{seen}");
    }
    assert_eq!(status(&place, "c1"), "pending");
}

#[test]
fn a_person_at_a_terminal_needs_no_token() {
    let (place, _) = held(&["c1", "c2"]);
    for (arguments, status) in
        [(&["approve", "c1"][..], "approved"), (&["reject", "c2", "-m", "the numbers are old"], "rejected")]
    {
        let mut command = place.command(BINARY);
        command.args(arguments).env("USER", "carla");
        let (seen, code) = Terminal::start(command).end();
        assert_eq!((seen, code), (format!("{status} {}\n", arguments[1]), 0));
        let kept = place.run(&["checkpoint", "show", arguments[1], "--json"]).json();
        assert_eq!((&kept["status"], &kept["resolved_by"]), (&json!(status), &json!("carla")));
    }
}
