//! How long a client waits for each of its hooks. Run by `scripts/bench`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[path = "shared/mod.rs"]
mod shared;

use shared::{Table, median, ms, verdict};

/// Frames of the session that the events are about.
const FRAMES: usize = 1_000;
const TIMES: usize = 50;
const GOAL: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "CHECKREIN_BIN names no program")?;
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let mut table = Table::default();
    let mut bare = Vec::new();
    for _ in 0..TIMES {
        bare.push(timed(Path::new("/bin/true"), place.path(), &[], &Value::Null)?);
    }
    let bare = median(bare);
    table.row("starting `true`", ms(bare), "", "the floor".into());
    let program = Path::new(&binary);
    for client in ["claude-code", "opencode"] {
        fill(program, place.path(), client)?;
        for (name, event) in events(client, place.path()) {
            let mut times = Vec::new();
            for turn in 0..TIMES {
                let event = numbered(event.clone(), turn);
                times.push(timed(program, place.path(), &["hook", client], &event)?);
            }
            times.sort_unstable();
            let slow = times.get(TIMES * 95 / 100).copied().unwrap_or_default();
            let usual = median(times);
            table.row(
                &format!("{client}: {name}"),
                format!("{}, 95 % within {}", ms(usual), ms(slow)),
                &verdict(usual <= GOAL, "≤ 20 ms"),
                format!("{:.1} × `true`", usual.as_secs_f64() / bare.as_secs_f64()),
            );
        }
    }
    println!("\nHooks of a session with {FRAMES} frames, each a process of its own:");
    table.print();
    Ok(())
}

/// A session with many frames, made as a client would.
fn fill(program: &Path, place: &Path, client: &str) -> Result<(), Box<dyn Error>> {
    let Some((_, first)) = events(client, place).into_iter().find(|(name, _)| *name == "a prompt") else {
        return Err("there is no prompt".into());
    };
    timed(program, place, &["hook", client], &first)?;
    let goals: Vec<String> = (0..100).map(|n| format!("Look at part {n} of the work")).collect();
    for _ in 0..FRAMES / goals.len() {
        let mut args = vec!["frame", "plan-children", "--session", client];
        args.extend(goals.iter().map(String::as_str));
        timed(program, place, &args, &Value::Null)?;
    }
    Ok(())
}

fn events(client: &str, place: &Path) -> Vec<(&'static str, Value)> {
    let long = "x".repeat(20_000);
    let directory = place.display().to_string();
    match client {
        "claude-code" => {
            let event = |name: &str, more: Value| {
                let mut event = json!({"hook_event_name": name, "session_id": client, "cwd": directory,
                    "transcript_path": "/none"});
                if let (Some(fields), Value::Object(more)) = (event.as_object_mut(), more) {
                    fields.extend(more);
                }
                event
            };
            let run = json!({"command": "cargo test"});
            vec![
                ("a session begins", event("SessionStart", json!({}))),
                ("a prompt", event("UserPromptSubmit", json!({"prompt": "Build the parser"}))),
                (
                    "before a frame tool",
                    event(
                        "PreToolUse",
                        json!({"tool_name": "mcp__checkrein__flame_status", "tool_input": {}}),
                    ),
                ),
                (
                    "after a tool",
                    event(
                        "PostToolUse",
                        json!({"tool_name": "Bash", "tool_input": run, "tool_response": {"stdout": long}}),
                    ),
                ),
                ("a turn ends", event("Stop", json!({}))),
            ]
        }
        _ => {
            let event = |name: &str, more: Value| {
                let mut event = json!({"event": name, "session": client, "directory": directory});
                if let (Some(fields), Value::Object(more)) = (event.as_object_mut(), more) {
                    fields.extend(more);
                }
                event
            };
            vec![
                ("a prompt", event("prompt", json!({"text": "Build the parser"}))),
                ("the context", event("context", json!({}))),
                (
                    "after a tool",
                    event("tool", json!({"tool": "bash", "args": {"command": "ls"}, "output": long})),
                ),
                ("a message", event("message", json!({"spent": 100, "context": 5000, "limit": 100_000}))),
                ("a turn ends", event("idle", json!({}))),
            ]
        }
    }
}

/// Another event of the same kind: the same one would count once.
fn numbered(mut event: Value, turn: usize) -> Value {
    if let Some(fields) = event.as_object_mut() {
        fields.insert("tool_use_id".to_owned(), json!(format!("t{turn}")));
        fields.insert("key".to_owned(), json!(format!("k{turn}")));
        for name in ["prompt", "text"] {
            if fields.contains_key(name) {
                fields.insert(name.to_owned(), json!(format!("Go on with part {turn}")));
            }
        }
    }
    event
}

/// From the start of the process to its end.
fn timed(program: &Path, place: &Path, args: &[&str], event: &Value) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(args).current_dir(place).env("CHECKREIN_STORE", place.join("store.db")).env("HOME", place);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read is done.
        let _ = stdin.write_all(event.to_string().as_bytes());
    }
    let ended = child.wait_with_output()?;
    let took = began.elapsed();
    if !ended.status.success() || !ended.stderr.is_empty() {
        return Err(format!("{args:?}: {}", String::from_utf8_lossy(&ended.stderr)).into());
    }
    Ok(took)
}
