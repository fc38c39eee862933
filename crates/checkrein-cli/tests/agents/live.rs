use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::place::{Place, job_with};

#[test]
fn a_message_reaches_an_agent_that_works() {
    let mut script = job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}]},
        {"calls": [{"run": "echo b > b.txt; while ! test -f ../../../go; do sleep 0.1; done"}]},
        {"text": "done without a word"},
    ]));
    script["answers"].as_array_mut().unwrap().insert(
        0,
        json!({"says": "sign it with love", "turns": [
        {"calls": [{"run": "echo love > signed.txt"}]}, {"text": "signed"}]}),
    );
    let place = Place::with(script);
    let mut child = place.start(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
    let id = place.until("the second command", || {
        let runs = place.json(&["runs"]);
        let id = runs["items"][0]["run_id"].as_str()?.to_owned();
        // What it does shows while it does it.
        place.expect(&["log", &id], 0).contains("echo b > b.txt").then_some(id)
    });
    place.expect(&["message", &id, "please sign it with love"], 0);
    place.until("the message", || {
        place.path().join("store/jobs").join(&id).join("exchange").read_dir().ok()?.flatten().find(|entry| {
            std::fs::read_to_string(entry.path().join("messages.json"))
                .is_ok_and(|text| text.contains("love"))
        })
    });
    place.write("store/go", "");
    assert!(child.wait().unwrap().success());
    assert_eq!(place.git(&id, &["show", "main:signed.txt"]), "love\n");
    assert!(place.expect(&["log", &id], 0).contains("message c1 was delivered"));
    // It had it once: no later brief tells it again.
    let told = place.model.asked().into_iter().map(|asked| asked.body.to_string());
    assert!(
        !told
            .into_iter()
            .any(|body| body.contains("# Phase 3 (strategic)") && body.contains("sign it with love"))
    );
}

#[test]
fn the_log_is_followed_as_it_is_written() {
    let place = Place::with(job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}], "usage": {"input": 5000, "output": 100}},
        {"calls": [{"run": "while ! test -f ../../../go; do sleep 0.1; done"}]},
        {"text": "the gate is open"},
    ])));
    let mut child = place.start(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
    let id =
        place.until("the job", || place.json(&["runs"])["items"][0]["run_id"].as_str().map(str::to_owned));
    let mut following = place.command(&["log", &id, "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut seen = Vec::new();
    // The gate is shut until what was done before it is on the screen.
    while !seen.iter().any(|line: &String| line.contains("test -f ../../../go")) {
        seen.push(lines.next().unwrap_or_else(|| panic!("it ended: {seen:?}")));
    }
    let before = seen.join("\n");
    assert!(before.contains("echo a > a.txt") && !before.contains("the gate is open"), "{before}");
    assert!(before.contains("tokens, $0.0"), "what it used so far: {before}");
    place.write("store/go", "");
    seen.extend(lines);
    let whole = seen.join("\n");
    assert!(whole.contains("the gate is open") && whole.contains("the end"), "{whole}");
    assert!(following.wait().unwrap().success(), "it ends with the job");
    assert!(child.wait().unwrap().success());
    assert_eq!(whole.matches("the gate is open").count(), 1, "nothing is told twice: {whole}");
}

/// A job whose work waits for a file, once its second command is on the screen.
fn waiting() -> (Place, std::process::Child, String) {
    let place = Place::with(job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}]},
        {"calls": [{"run": "while ! test -f ../../../go; do sleep 0.1; done; echo b > b.txt"}]},
        {"text": "done"},
    ])));
    let child = place.start(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
    let id = place.until("the second command", || {
        let runs = place.json(&["runs"]);
        let id = runs["items"][0]["run_id"].as_str()?.to_owned();
        place.expect(&["log", &id], 0).contains("test -f ../../../go").then_some(id)
    });
    (place, child, id)
}

#[test]
fn a_job_that_is_paused_goes_on_with_what_it_had() {
    let (place, mut child, id) = waiting();
    place.expect(&["pause", &id], 0);
    child.wait().unwrap();
    assert_eq!(place.shown()["status"], "paused");
    assert!(!place.git(&id, &["branch"]).contains("phase-3"));
    place.write("store/go", "");
    place.expect(&["resume", &id], 0);
    assert_eq!(place.shown()["status"], "completed");
    for (file, content) in [("a.txt", "a\n"), ("b.txt", "b\n")] {
        assert_eq!(place.git(&id, &["show", &format!("main:{file}")]), content);
    }
}

#[test]
fn a_job_that_is_stopped_has_ended_and_keeps_its_branch() {
    let (place, mut child, id) = waiting();
    place.expect(&["stop", &id], 0);
    child.wait().unwrap();
    assert_eq!(place.shown()["status"], "cancelled");
    assert_eq!(place.git(&id, &["show", "phase-2-tactical:a.txt"]), "a\n");
    place.write("store/go", "");
    let again = place.run(&["resume", &id]);
    assert!(!again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(place.shown()["status"], "cancelled");
}

/// A program that is asked once hears it when it ends its turn, and is asked again.
#[test]
fn a_message_reaches_a_program_that_ends_its_turn() {
    let place = Place::with(json!({}));
    let program = r#"#!/bin/sh
cat > "$HOME/prompt.$CHECKREIN_PHASE_NUMBER"
echo "$@" > "$HOME/called.$CHECKREIN_PHASE_NUMBER"
touch "$(printf '%s' "$*" | sed 's/.*CHECKREIN_TOOLS_LISTED":"\([^"]*\)".*/\1/')"
echo '{"type":"system","subtype":"init","model":"m","session_id":"s1","permissionMode":"bypassPermissions","tools":["mcp__checkrein__todo_list","mcp__checkrein__todo_complete","mcp__checkrein__next_phase_todos","mcp__checkrein__request_replan","mcp__checkrein__job_complete","mcp__checkrein__report_response","mcp__checkrein__get_review","mcp__checkrein__get_comments","mcp__checkrein__reply_comment"]}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I work."}],"usage":{"input_tokens":100,"output_tokens":0}}}'
if grep -q 'sign it with love' "$HOME/prompt.$CHECKREIN_PHASE_NUMBER"; then echo love > signed.txt
else touch "$HOME/begun"; while ! test -f "$HOME/go"; do sleep 0.1; done; fi
echo '{"outcome": "job_complete", "summary": "done"}' > "$CHECKREIN_RESULT"
echo '{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":100,"output_tokens":0}}'
"#;
    place.write("claude", program);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("claude"), executable).unwrap();
    let settings = json!({"agents": {"claude": {"program": place.path().join("claude")}}});
    place.write("checkrein.yaml", &settings.to_string());
    let mut child = place.start(&["job", "Do it", "--agent", "claude", "--autonomy", "full"]);
    place.until("its first turn", || place.path().join("begun").exists().then_some(()));
    let id = place.id();
    place.expect(&["message", &id, "please sign it with love"], 0);
    place.until("the message", || {
        place.path().join("store/jobs").join(&id).join("exchange").read_dir().ok()?.flatten().find(|entry| {
            std::fs::read_to_string(entry.path().join("messages.json"))
                .is_ok_and(|text| text.contains("love"))
        })
    });
    place.write("go", "");
    assert!(child.wait().unwrap().success(), "{}", place.expect(&["log", &id], 0));
    assert_eq!(place.git(&id, &["show", "main:signed.txt"]), "love\n");
    assert!(place.read("called.1").contains("--resume s1"), "it goes on with its session");
    let job = place.shown();
    assert_eq!(job["job"]["spent"]["tokens"], 200, "what both turns used: {}", job["job"]["spent"]);
    assert!(place.expect(&["log", &id], 0).contains("message c1 was delivered"));
}
