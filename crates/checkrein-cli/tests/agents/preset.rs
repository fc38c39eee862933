//! Programs that stand in for those of others: what they are called with, and what is made of what they say.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::place::Place;

/// Writes what it was called with to a file for each attempt, then goes on.
const RECORD: &str = "#!/bin/sh
to=$HOME/called.$CHECKREIN_PHASE_NUMBER.$CHECKREIN_ROUND
printf '%s\\n' \"$@\" > \"$to\"
";

fn scene(program: &str, settings: &Value) -> Place {
    let place = Place::with(json!({}));
    place.write("program", &format!("{RECORD}{program}"));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path().join("program"), executable).unwrap();
    place.write("checkrein.yaml", &settings.to_string().replace("PLACE", place.path().to_str().unwrap()));
    place
}

/// Whether these words were arguments, one after the other.
fn called_with(place: &Place, attempt: &str, words: &[&str]) -> bool {
    let called = place.read(&format!("called.{attempt}"));
    let called: Vec<&str> = called.lines().collect();
    called.windows(words.len()).any(|found| found == words)
}

#[test]
fn aider_is_called_without_a_person_and_says_its_result() {
    let program = r#"
while [ "$1" != --message-file ]; do shift; done
cp "$2" "$to.message"
while [ "$1" != --llm-history-file ]; do shift; done
history=$2
mkdir -p .aider.tags.cache.v4 .aider.tags.cache.v9
touch .aider.tags.cache.v4/cache.db .aider.tags.cache.v9/cache.db
echo "Aider v0.86.2
Model: large with diff edit format"
said() { printf '%s\n' "LLM RESPONSE now" "ASSISTANT I am done." ASSISTANT "ASSISTANT <checkrein-result>" "ASSISTANT $1" "ASSISTANT </checkrein-result>" >> "$history"; }
echo 'Tokens: 2.4k sent, 36 received. Cost: $0.01 message, $0.01 session.'
case $CHECKREIN_PHASE_NUMBER in
1) echo plan > plan.md; said='{"summary": "planned", "next_todos": ["write it"]}' ;;
2) echo "Dear reader," > letter.md; said='{"summary": "wrote it", "confidence": 0.9}' ;;
*) said='{"outcome": "job_complete", "summary": "all is written"}' ;;
esac
said "$said"
printf 'I am done.\n\n<checkrein-result>\n%s\n</checkrein-result>\n' "$said" | fold -w 30
"#;
    let place = scene(
        program,
        &json!({"agents": {"aider": {"program": "PLACE/program", "args": ["--map-tokens", "0"],
            "models": {"strategic": "large", "tactical": "small"}}}}),
    );
    let job = place.job_of("aider", "guided", &[], 3);
    let id = job["run_id"].as_str().unwrap().to_owned();
    for words in [
        &["--yes-always"][..],
        &["--no-pretty"],
        &["--no-stream"],
        &["--no-check-update"],
        &["--no-analytics"],
        &["--no-gitignore"],
        &["--model", "large"],
        &["--map-tokens", "0"],
    ] {
        assert!(called_with(&place, "1.1", words), "{words:?}: {}", place.read("called.1.1"));
    }
    assert!(!called_with(&place, "1.1", &["--restore-chat-history"]));
    let message = place.read("called.1.1.message");
    assert!(message.contains("# Phase 1 (strategic)") && message.contains("<checkrein-result>"), "{message}");
    assert_eq!(job["job"]["spent"]["tokens"], 2436, "{job}");
    assert_eq!(job["job"]["spent"]["cost"], 0.01);
    // After a request for changes it goes on with what it said.
    let checkpoint = job["checkpoint"].as_str().unwrap().to_owned();
    place.judge(&["request-changes", &checkpoint, "-m", "be friendly"]);
    place.expect(&["resume", &id], 3);
    assert!(called_with(&place, "1.2", &["--restore-chat-history"]), "{}", place.read("called.1.2"));
    assert!(place.read("called.1.2.message").contains("be friendly"));
    place.approve(place.shown()["checkpoint"].as_str().unwrap());
    place.expect(&["resume", &id], 3);
    assert!(called_with(&place, "2.1", &["--model", "small"]), "{}", place.read("called.2.1"));
    assert_eq!(place.git(&id, &["show", "main:letter.md"]), "Dear reader,\n");
    assert_eq!(place.shown()["job"]["phase"]["work"]["result"]["summary"], "all is written");
    // It leaves nothing of its own on the branch.
    let files = place.git(&id, &["ls-tree", "-r", "--name-only", "main"]);
    assert!(!files.contains("aider"), "{files}");
}

/// A session is a convenience: where the program knows it no more, everything is in the brief.
#[test]
fn a_session_that_is_gone_begins_anew() {
    let program = r#"
case "$*" in *--resume*) echo 'No conversation found with session ID: s1' >&2; touch "$HOME/tried"; exit 1 ;; esac
cat > "$to.prompt"
touch "$(printf '%s' "$*" | sed 's/.*CHECKREIN_TOOLS_LISTED":"\([^"]*\)".*/\1/')"
echo '{"type":"system","subtype":"init","model":"m","session_id":"s1"}'
echo '{"summary": "planned", "next_todos": ["do it"]}' > "$CHECKREIN_RESULT"
echo '{"type":"result","subtype":"success","is_error":false}'
"#;
    let place = scene(program, &json!({"agents": {"claude": {"program": "PLACE/program"}}}));
    let job = place.job_of("claude", "guided", &[], 3);
    let id = job["run_id"].as_str().unwrap().to_owned();
    place.judge(&["request-changes", job["checkpoint"].as_str().unwrap(), "-m", "be friendly"]);
    place.expect(&["resume", &id], 3);
    assert!(place.path().join("tried").exists(), "it was asked to go on with its session");
    assert!(!called_with(&place, "1.2", &["--resume"]), "{}", place.read("called.1.2"));
    assert!(place.read("called.1.2.prompt").contains("be friendly"));
}

#[test]
fn a_program_that_does_not_take_its_tools_and_limits_pauses_its_job() {
    let ours = r#""mcp__checkrein__todo_list","mcp__checkrein__todo_complete","mcp__checkrein__next_phase_todos","mcp__checkrein__request_replan","mcp__checkrein__job_complete","mcp__checkrein__report_response","mcp__checkrein__get_review","mcp__checkrein__get_comments","mcp__checkrein__reply_comment""#;
    for (list_tools, mode, tools, expected) in [
        ("true", "acceptEdits", ours, "it did not load the tools of Checkrein"),
        (
            "touch",
            "acceptEdits",
            r#""Bash""#,
            "its model is not offered the tools of Checkrein: `todo_list`, `todo_complete`, `next_phase_todos`, `request_replan`, `job_complete`, `report_response`, `get_review`, `get_comments`, `reply_comment`",
        ),
        (
            "touch",
            "bypassPermissions",
            ours,
            "its permission mode is `bypassPermissions` instead of `acceptEdits`",
        ),
    ] {
        let program = format!(
            r#"
{list_tools} "$(printf '%s' "$*" | sed 's/.*CHECKREIN_TOOLS_LISTED":"\([^"]*\)".*/\1/')"
echo '{{"type":"system","subtype":"init","session_id":"s1","permissionMode":"{mode}","tools":[{tools}]}}'
echo '{{"type":"assistant","message":{{"id":"m1","content":[{{"type":"text","text":"I begin."}}]}}}}'
exec sleep 1000
"#
        );
        let place = scene(&program, &json!({"agents": {"claude": {"program": "PLACE/program"}}}));
        let job = place.job_of("claude", "guided", &[], 7);
        assert_eq!(job["status"], "paused", "{job}");
        let shown = place.expect(&["show", job["run_id"].as_str().unwrap()], 0);
        let words = format!("claude works without its limits: {expected}; see `checkrein log`");
        assert!(shown.contains(&words), "{shown}");
    }
}

#[test]
fn a_command_of_ones_own_is_filled_in_and_heard() {
    let program = r#"
cat > "$to.stdin"
while [ "$1" != --prompt-file ]; do shift; done
cp "$2" "$to.file"
echo "$MINE" > "$to.mine"
echo '{"type":"system","subtype":"init","model":"m","session_id":"s1"}'
echo 'a line that is no JSON'
echo '{"type":"invented","of":"tomorrow"}'
say() { printf '{"type":"assistant","message":{"id":"%s","content":[%s],"usage":{"input_tokens":%s,"output_tokens":10}}}\n' "$@"; }
say m1 '{"type":"text","text":"I begin."}' 100
say m2 '{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test --all"}}' 200
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"1 failed"}]}}'
say m3 '{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls nowhere"}}' 300
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"not there"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.25,"usage":{"input_tokens":600,"output_tokens":30}}'
echo '{"outcome": "phase_done", "summary": "planned", "next_todos": ["do it"]}' > "$CHECKREIN_RESULT"
"#;
    let place = scene(
        program,
        &json!({"agents": {"mine": {
            "command": "'PLACE/program' --model {model} --prompt-file {brief} 'two words'", "output": "claude",
            "models": {"strategic": "o'pus; touch PLACE/escaped", "tactical": "small"}, "environment": ["MINE"],
            "findings": {"failed_commands": "error", "commands": ["cargo test*"]}}}}),
    );
    let autonomy = r#"{"level": "guided", "error_tolerance": "high"}"#;
    let args = ["job", "Do it", "--agent", "mine", "--autonomy", autonomy];
    let ended = place.command(&args).env("MINE", "of one's own").output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    let model = format!("o'pus; touch {}/escaped", place.path().display());
    assert!(called_with(&place, "1.1", &["--model", &model]), "{}", place.read("called.1.1"));
    assert!(called_with(&place, "1.1", &["two words"]));
    assert!(!place.path().join("escaped").exists());
    assert!(place.read("called.1.1.file").contains("# Phase 1 (strategic)"));
    assert_eq!(place.read("called.1.1.file"), place.read("called.1.1.stdin"));
    assert_eq!(place.read("called.1.1.mine"), "of one's own\n");
    let job = place.shown();
    assert_eq!((&job["job"]["spent"]["tokens"], &job["job"]["spent"]["cost"]), (&json!(630), &json!(0.25)));
    let id = job["run_id"].as_str().unwrap();
    let log = place.expect(&["log", id], 0);
    for words in
        ["a line that is no JSON", "invented", "I begin.", "▸ Bash", "✗ 1 failed", "630 tokens, $0.25"]
    {
        assert!(log.contains(words), "{words}: {log}");
    }
    let report = place.expect(&["report", id], 0);
    assert!(report.contains("A command failed: cargo test --all"), "{report}");
    assert!(!report.contains("ls nowhere"), "only what the settings name: {report}");
}
