//! Sessions of frames, as people and clients keep them.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::{BINARY, Place};
use crate::run::data;
use crate::serve::Served;

fn frame(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["frame"];
    all.extend(arguments);
    all.push("--json");
    let ran = place.run(&all);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.seen());
    ran.json()
}

fn hook(place: &Place, client: &str, event: &Value) -> Value {
    let ran = place.run_with(&["hook", client], &event.to_string());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{event}");
    serde_json::from_str(&ran.stdout).unwrap_or_default()
}

/// An event of Claude Code.
fn claude(name: &str, fields: Value) -> Value {
    let mut event =
        json!({"hook_event_name": name, "session_id": "c1", "cwd": "/work", "transcript_path": "/none"});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

#[test]
fn every_command_in_one_walk() {
    every_command(&Place::new());
}

#[test]
fn every_command_on_postgresql() {
    let server = crate::job::server::PostgresServer::shared();
    every_command(&Place::new().env("CHECKREIN_STORE", &server.database()));
}

/// The same on a server: whoever asks sees no store.
#[test]
fn every_command_on_a_server() {
    let there = Place::new();
    let token = there.token("agent", "framer");
    let served = Served::start(&there, &["--no-worker"]);
    let url = format!("http://{}", served.address());
    let here = Place::new().env("CHECKREIN_SERVER", &url).env("CHECKREIN_TOKEN", &token);
    every_command(&here);
    assert!(!data(&here, "store.db").exists());
    // Which session is meant is said in the same ways.
    for name in ["one", "two"] {
        frame(&here, &["push", name, "--session", name]);
    }
    let ran = here.run_env(&[("CHECKREIN_SESSION", "one")], &["frame", "tree"]);
    assert_eq!(ran.stdout, "● f1 one ◀\n");
    assert_eq!(here.run(&["frame", "tree"]).stdout, "● f1 two ◀\n");
    // Somebody else's agent finds none of them.
    let other = there.token("agent", "other");
    assert_eq!(here.run_as(&other, &["frame", "tree", "--session", "one"]).code, 6);
    assert_eq!(here.run_as(&other, &["frame", "sessions"]).stdout, "There are no sessions.\n");
}

fn every_command(place: &Place) {
    assert_eq!(place.run(&["frame", "tree"]).stdout, "There are no frames yet.\n");
    assert_eq!(place.run(&["frame", "pop"]).code, 6);
    frame(place, &["push", "Build"]);
    frame(place, &["plan", "Later"]);
    frame(place, &["plan-children", "One", "Two"]);
    frame(place, &["edit", "f2", "Much later"]);
    frame(place, &["activate", "f3"]);
    frame(place, &["add-artifact", "one.rs"]);
    frame(place, &["add-decision", "in Rust"]);
    frame(place, &["summarize", "half done"]);
    frame(place, &["pop", "--status", "blocked"]);
    frame(place, &["resume"]);
    frame(place, &["pop", "-m", "one is done"]);
    frame(place, &["invalidate", "f4", "-m", "not needed"]);
    let tree = place.run(&["frame", "tree"]).stdout;
    assert_eq!(tree, "● f1 Build ◀\n├─ ✓ f3 One\n├─ – f4 Two\n└─ ○ f2 Much later\n");
    assert_eq!(frame(place, &["undo"])["undone"], "invalidation of f4");
    assert_eq!(frame(place, &["details", "f3"])["frame"]["artifacts"], json!(["one.rs"]));
    assert!(frame(place, &["context"])["context"].as_str().unwrap().contains("one is done"));
    assert!(place.run(&["frame", "status"]).stdout.contains("- **Current frame:** f1 \"Build\""));
    assert!(place.run(&["frame", "log", "f3"]).stdout.contains("summary: half done"));
    frame(place, &["config", "--push-threshold", "20", "--level", "suggest"]);
    let asked = place
        .run_with(&["frame", "should-push", "--json"], r#"{"potentialGoal": "Fix it", "errorCount": 4}"#)
        .json();
    assert_eq!((&asked["should"], &asked["threshold"]), (&json!(true), &json!(20)));
    let id = frame(place, &["suggestions"])["suggestions"][0]["id"].as_str().unwrap().to_owned();
    frame(place, &["feedback", &id, "useful"]);
    frame(place, &["ignore", &id]);
    let stats = frame(place, &["stats"])["stats"].clone();
    assert_eq!((&stats["total"], &stats["ignored"], &stats["useful"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(frame(place, &["suggestions", "--history"])["suggestions"][0]["status"], "ignored");
    assert_eq!(frame(place, &["tune"])["tuning"]["settled"], 1);
    assert_eq!(frame(place, &["config", "--reset"])["config"]["pushThreshold"], 70);
    let svg = place.run(&["frame", "flame", "--width", "time"]).stdout;
    assert!(svg.starts_with("<svg") && svg.contains("data-status=\"completed\""), "{svg}");
    assert_eq!(frame(place, &["sessions"])["items"][0]["frames"], 4);
}

#[test]
fn sessions_do_not_mix() {
    let place = Place::new();
    for session in ["one", "two"] {
        frame(&place, &["push", session, "--session", session]);
    }
    frame(&place, &["push", "deeper", "--session", "one"]);
    assert_eq!(frame(&place, &["tree", "--session", "two"])["frames"].as_array().unwrap().len(), 1);
    // Without a name it is the one that was active last here; the environment may say another.
    assert_eq!(frame(&place, &["status"])["session"], "one");
    let ran = place.run_env(&[("CHECKREIN_SESSION", "two")], &["frame", "status", "--json"]);
    assert_eq!(ran.json()["session"], "two");
    let none = place.run(&["frame", "tree", "--session", "three"]);
    assert_eq!((none.code, none.stderr.contains("there is no session `three`")), (6, true));
    assert_eq!(place.run(&["frame", "push", "x", "--session", "../up"]).code, 2);
}

/// Processes that push at the same time, some of them killed: every frame that was acknowledged is there, and
/// the tree is whole.
#[test]
fn parallel_processes_and_kills_lose_no_frame() {
    let place = Place::new();
    frame(&place, &["push", "root", "--session", "s"]);
    let mut acknowledged = 1;
    for round in 0..4_u64 {
        let pushing: Vec<_> = (0..6_u64)
            .map(|number| {
                let mut command = place.command(BINARY);
                command.args([
                    "frame",
                    "plan",
                    &format!("r{round} n{number}"),
                    "--parent",
                    "f1",
                    "--session",
                    "s",
                ]);
                (number, command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
            })
            .collect();
        for (number, mut child) in pushing {
            if number % 3 == 2 {
                std::thread::sleep(std::time::Duration::from_millis(7 * (round + 1)));
                let _ = child.kill();
            }
            let output = child.wait_with_output().unwrap();
            acknowledged += usize::from(String::from_utf8_lossy(&output.stdout).contains("Planned"));
        }
    }
    let frames = frame(&place, &["tree", "--session", "s"])["frames"].as_array().unwrap().len();
    assert!(frames >= acknowledged && acknowledged >= 17, "{frames} of {acknowledged}");
    let checked = place.run(&["store", "check", "--json"]).json();
    assert_eq!((&checked["sound"], &checked["frame_sessions"]), (&json!(true), &json!(1)));
}

#[test]
fn a_damaged_session_is_reported_and_stays_as_it_is() {
    let place = Place::new();
    let store = place.path().join("store.db");
    let place = place.env("CHECKREIN_STORE", store.to_str().unwrap());
    frame(&place, &["push", "root", "--session", "s"]);
    let broken = r#"{"id": "f1"}"#;
    let change = |sql: &str| rusqlite::Connection::open(&store).unwrap().execute(sql, [broken]).unwrap();
    assert_eq!(change("UPDATE frames SET body = ?1"), 1);
    let ran = place.run(&["frame", "push", "more", "--session", "s"]);
    assert!(ran.code == 1 && ran.stderr.contains("session `s` has a bad frame"), "{}", ran.seen());
    // A hook goes on all the same, and replaces nothing.
    assert_eq!(
        place
            .run_with(&["hook", "claude-code"], &claude("Stop", json!({"session_id": "s"})).to_string())
            .code,
        0
    );
    let kept: String = rusqlite::Connection::open(&store)
        .unwrap()
        .query_row("SELECT body FROM frames", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, broken);
}

#[test]
fn claude_code_tells_and_is_told() {
    let place = Place::new().env("FLAME_PUSH_THRESHOLD", "30");
    assert_eq!(
        hook(&place, "claude-code", &claude("SessionStart", json!({"source": "startup"}))),
        Value::Null
    );
    let answer =
        hook(&place, "claude-code", &claude("UserPromptSubmit", json!({"prompt": "Build the parser"})));
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("<goal>Build the parser</goal>"), "{context}");
    for (call, name, fields) in [
        (
            "t1",
            "PostToolUse",
            json!({"tool_name": "Edit", "tool_input": {"file_path": "/work/src/a.rs"}, "tool_response": {}}),
        ),
        (
            "t2",
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": "exit code 101"}),
        ),
        (
            "t3",
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": "exit code 101"}),
        ),
    ] {
        let mut event = claude(name, fields);
        event["tool_use_id"] = json!(call);
        // An event that comes twice counts once.
        hook(&place, "claude-code", &event);
        hook(&place, "claude-code", &event);
    }
    let signals = frame(&place, &["status", "--session", "c1"])["current"]["signals"].clone();
    assert_eq!((&signals["files"], &signals["errors"]), (&json!(["src/a.rs"]), &json!(2)));
    let event = claude("UserPromptSubmit", json!({"prompt": "Fix the login"}));
    let answer = hook(&place, "claude-code", &event);
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(
        context.contains("[FLAME SUGGESTION: Consider pushing a new frame for \"Fix the login\""),
        "{context}"
    );
    let before = frame(&place, &["tree", "--session", "c1"]);
    assert_eq!(hook(&place, "claude-code", &event), Value::Null);
    assert_eq!(frame(&place, &["tree", "--session", "c1"]), before);
    // A sub-agent has a frame of its own.
    let task = |name: &str, more: Value| {
        let mut event = claude(
            name,
            json!({"tool_name": "Task", "tool_use_id": "t9",
            "tool_input": {"description": "Look around", "subagent_type": "Explore"}}),
        );
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    hook(&place, "claude-code", &task("PreToolUse", json!({})));
    hook(
        &place,
        "claude-code",
        &task("PostToolUse", json!({"tool_response": {"content": [{"type": "text", "text": "found it"}]}})),
    );
    let frames = frame(&place, &["tree", "--session", "c1"])["frames"].clone();
    assert_eq!(
        (&frames[1]["agent"], &frames[1]["status"], &frames[1]["summary"]),
        (&json!("Explore"), &json!("completed"), &json!("found it"))
    );
    // Calls of frame tools are bound to the session.
    let bound = hook(
        &place,
        "claude-code",
        &claude(
            "PreToolUse",
            json!({"tool_name": "mcp__checkrein__flame_push", "tool_input": {"goal": "x"}}),
        ),
    );
    assert_eq!(bound["hookSpecificOutput"]["updatedInput"], json!({"goal": "x", "session": "c1"}));
}

#[test]
fn tokens_come_from_the_transcript_and_go_to_the_log_when_it_is_compacted() {
    let place = Place::new();
    let line = json!({"type": "assistant", "message": {"id": "m1", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "I think it is the lexer"}],
        "usage": {"input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 200}}});
    let place = place.file("t.jsonl", &format!("{line}\n"));
    let transcript = place.path().join("t.jsonl");
    hook(&place, "claude-code", &claude("UserPromptSubmit", json!({"prompt": "Build"})));
    hook(
        &place,
        "claude-code",
        &claude("PreCompact", json!({"trigger": "auto", "transcript_path": transcript})),
    );
    let signals = frame(&place, &["status", "--session", "c1"])["current"]["signals"].clone();
    assert_eq!((&signals["tokens"], &signals["context_tokens"]), (&json!(1200), &json!(1700)));
    let log = place.run(&["frame", "log", "--session", "c1"]).stdout;
    assert!(log.contains("assistant: I think it is the lexer") && log.contains("compacted (auto)"), "{log}");
}

#[test]
fn opencode_tells_and_is_told_and_auto_acts() {
    let place = Place::new().env("FLAME_PUSH_THRESHOLD", "10").env("FLAME_AUTONOMY_LEVEL", "auto");
    let event = |name: &str, more: Value| {
        let mut event = json!({"event": name, "session": "ses_1", "directory": "/work"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook(&place, "opencode", &event)
    };
    event("prompt", json!({"key": "m1", "text": "Build the parser", "agent": "build"}));
    event("message", json!({"key": "m2", "spent": 900, "context": 1000, "limit": 5000}));
    event("tool", json!({"key": "c1", "tool": "edit", "args": {"filePath": "a.rs"}, "output": "ok"}));
    event(
        "tool",
        json!({"key": "c2", "tool": "bash", "args": {"command": "make"}, "output": "no", "exit": 2}),
    );
    event("prompt", json!({"key": "m3", "text": "Fix the login"}));
    event("prompt", json!({"key": "m3", "text": "Fix the login"}));
    let text = event("context", json!({}))["text"].as_str().unwrap().to_owned();
    assert!(
        text.contains("<goal>Fix the login</goal>") && text.contains("[FLAME AUTO: Pushed a new frame for"),
        "{text}"
    );
    assert!(!event("context", json!({}))["text"].as_str().unwrap().contains("FLAME AUTO"), "it is told once");
    let tree = frame(&place, &["tree", "--session", "ses_1"]);
    assert_eq!((tree["frames"].as_array().unwrap().len(), &tree["current"]["id"]), (2, &json!("f2")));
    assert_eq!(tree["frames"][0]["signals"]["tokens"], 900);
    frame(&place, &["undo", "--session", "ses_1"]);
    assert_eq!(frame(&place, &["tree", "--session", "ses_1"])["current"]["id"], "f1");
    assert_eq!(frame(&place, &["stats", "--session", "ses_1"])["stats"]["undone"], 1);
}

#[test]
fn whatever_a_client_sends_it_goes_on() {
    let place = Place::new();
    for event in [
        "",
        "nonsense",
        "[]",
        "{}",
        r#"{"hook_event_name": "Stop"}"#,
        r#"{"hook_event_name": "Stop", "session_id": "../../x"}"#,
        r#"{"hook_event_name": 7, "session_id": "a"}"#,
    ] {
        for client in ["claude-code", "opencode"] {
            let ran = place.run_with(&["hook", client], event);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{event}: {}", ran.seen());
        }
    }
    // Not even settings that cannot be read are the client's fault.
    let place = place.file("checkrein.yaml", "frames: [");
    assert_eq!(place.run_with(&["hook", "claude-code"], &claude("Stop", json!({})).to_string()).code, 0);
}

#[test]
fn clients_are_set_up_once_and_cleaned_up() {
    for (client, files) in [
        ("claude-code", [".claude/settings.json", ".mcp.json"]),
        ("opencode", [".opencode/plugins/checkrein.js", "opencode.json"]),
    ] {
        let place = Place::new();
        let ran = place.run(&["init", "--client", client]);
        assert_eq!(ran.code, 0, "{}", ran.seen());
        let texts = files.map(|file| place.read(file));
        assert!(texts.iter().all(|text| text.contains("checkrein")), "{texts:?}");
        assert_eq!(place.run(&["init", "--client", client]).stdout, "nothing to change\n");
        assert_eq!(files.map(|file| place.read(file)), texts);
        assert_eq!(place.run(&["init", "--client", client, "--remove"]).code, 0);
        assert!(files.iter().all(|file| !place.path().join(file).exists()));
        assert!(!place.path().join("checkrein.yaml").exists());
        assert_eq!(place.run(&["init", "--client", client, "--remove"]).stdout, "nothing to change\n");
    }
    let place = Place::new().file(".claude/settings.json", "{ not json");
    assert_eq!(place.run(&["init", "--client", "claude-code"]).code, 2);
    assert_eq!(place.read(".claude/settings.json"), "{ not json");
}

#[test]
fn a_client_gets_frame_advice_unless_the_project_has_its_own() {
    let advice = checkrein_core::frame::RECOMMENDED_YAML;
    let own = "secrets: [DEPLOY_KEY]\n";
    let init = |place: &Place, more: &[&str]| {
        let ran = place.run(&[&["init", "--client", "claude-code"][..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.seen());
    };
    let place = Place::new();
    init(&place, &[]);
    assert_eq!(place.read("checkrein.yaml"), advice);
    assert!(advice.starts_with("# When"), "it says what it is for");
    frame(&place, &["push", "root", "--session", "s"]);
    let config = &frame(&place, &["config", "--session", "s"])["config"];
    assert_eq!((&config["aggregation"], &config["pushThreshold"]), (&json!("weighted"), &json!(67)));
    assert_eq!(
        config["ceilings"],
        json!([
            {"aggregation": "average", "push": 75, "pop": 97},
            {"aggregation": "weighted", "push": 78, "pop": 99},
            {"aggregation": "max", "push": 80, "pop": 100},
        ])
    );
    // Beside other settings, and out again.
    let place = Place::new().file("checkrein.yaml", own);
    init(&place, &[]);
    assert_eq!(place.read("checkrein.yaml"), format!("{own}\n{advice}"));
    init(&place, &["--remove"]);
    assert_eq!(place.read("checkrein.yaml"), own);
    init(&place, &["--advice", "defaults"]);
    assert_eq!(place.read("checkrein.yaml"), own);
    // What a person chose stays.
    let place = Place::new().file("checkrein.yaml", "frames: {level: manual}\n");
    init(&place, &[]);
    init(&place, &["--remove"]);
    assert_eq!(place.read("checkrein.yaml"), "frames: {level: manual}\n");
    // A file that cannot be added to changes nothing.
    let place = Place::new().file("checkrein.yaml", "{secrets: [A]}\n");
    assert_eq!(place.run(&["init", "--client", "claude-code"]).code, 2);
    assert!(!place.path().join(".claude").exists());
}

#[test]
fn secrets_are_in_no_frame_and_no_log() {
    let place =
        Place::new().file("checkrein.yaml", "secrets: [DEPLOY_KEY]\n").env("DEPLOY_KEY", "hunter2-hunter2");
    hook(
        &place,
        "claude-code",
        &claude("UserPromptSubmit", json!({"prompt": "Deploy with hunter2-hunter2"})),
    );
    let tree = frame(&place, &["tree", "--session", "c1"]);
    assert!(!tree.to_string().contains("hunter2"), "{tree}");
    assert!(!place.run(&["frame", "log", "--session", "c1"]).stdout.contains("hunter2"));
}

#[test]
fn old_sessions_are_swept_with_their_logs() {
    let place = Place::new().file("checkrein.yaml", "retention: {frame_sessions: 0s}\n");
    let pushed = frame(&place, &["push", "root", "--session", "s"]);
    let log = pushed["frame"]["log_path"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&log).exists());
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(place.run(&["store", "sweep", "--dry-run", "--json"]).json()["frame_sessions"], 1);
    assert_eq!(place.run(&["store", "sweep", "--json"]).json()["frame_sessions"], 1);
    assert!(!std::path::Path::new(&log).exists());
    assert_eq!(frame(&place, &["sessions"])["items"], json!([]));
}
