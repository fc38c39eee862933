//! Commands: which may be run, for how long, with which environment, and how much of what they say is told.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use checkrein_core::config::agent::{CommandLimits, single_commands, stands_for};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// So much of what a command says is told, from its beginning and its end.
const OUTPUT_BYTES_MAX: usize = 24 << 10;

/// Why a command may not be run.
pub fn forbidden(limits: &CommandLimits, command: &str) -> Option<String> {
    if let Some(part) = single_commands(command).find(|part| stands_for(&limits.deny, part)) {
        return Some(format!("`{part}` may not be run here"));
    }
    if limits.allow.is_empty() {
        return None;
    }
    if let Some(sign) = ["$(", "`", "<(", ">("].into_iter().find(|sign| command.contains(sign)) {
        return Some(format!("commands with `{sign}` may not be run here; run them one by one"));
    }
    let other = single_commands(command).find(|part| !stands_for(&limits.allow, part))?;
    Some(format!("`{other}` may not be run here; these may: {}", limits.allow.join(", ")))
}

/// Runs it to its end: what it said, and whether that was an error.
pub async fn run(root: &Path, command: &str, timeout: Duration, hidden: &[String]) -> Result<String, String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).current_dir(root).kill_on_drop(true);
    // What reaches the model, and what speaks for a person, is not for commands.
    for name in hidden {
        shell.env_remove(name);
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = shell.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ran = tokio::time::timeout(timeout, async {
        let (out, err) = tokio::join!(told(stdout), told(stderr));
        (child.wait().await, out, err)
    })
    .await;
    // What it left in the background ends with it.
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let Ok((status, out, err)) = ran else {
        return Err(format!("it took longer than {}s and was ended", timeout.as_secs()));
    };
    let status = status.map_err(|error| error.to_string())?;
    let mut text = out;
    if !err.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&err);
    }
    match status.code() {
        Some(0) if text.trim().is_empty() => Ok("(no output)".to_owned()),
        Some(0) => Ok(text),
        Some(code) => Err(format!("{}\n(exit code {code})", text.trim_end())),
        None => Err(format!("{}\n(ended by a signal)", text.trim_end())),
    }
}

async fn told(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let (mut head, mut tail, mut left_out) = (Vec::new(), std::collections::VecDeque::new(), 0_usize);
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read) = stream.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let piece = buffer.get(..read).unwrap_or_default();
        let room = (OUTPUT_BYTES_MAX / 2).saturating_sub(head.len()).min(piece.len());
        let (first, rest) = piece.split_at(room);
        head.extend_from_slice(first);
        tail.extend(rest);
        let over = tail.len().saturating_sub(OUTPUT_BYTES_MAX / 2);
        tail.drain(..over);
        left_out += over;
    }
    let tail: Vec<u8> = tail.into();
    let (head, tail) =
        (String::from_utf8_lossy(&head).into_owned(), String::from_utf8_lossy(&tail).into_owned());
    match left_out {
        0 => head + &tail,
        left_out => format!("{head}\n… {left_out} bytes left out …\n{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_commands_may_be_run() {
        let limits = |allow: &[&str], deny: &[&str]| CommandLimits {
            allow: allow.iter().map(|text| (*text).to_owned()).collect(),
            deny: deny.iter().map(|text| (*text).to_owned()).collect(),
        };
        for (limits, command, allowed) in [
            (limits(&[], &[]), "rm -rf /", true),
            (limits(&[], &["rm *"]), "cd x && rm -rf /tmp/y", false),
            (limits(&[], &["git push*"]), "git push origin main", false),
            (limits(&[], &["git push*"]), "git status", true),
            (limits(&["cargo *", "git *"], &[]), "cargo test; git commit -m x", true),
            (limits(&["cargo *"], &[]), "cargo test | sh", false),
            (limits(&["cargo *"], &[]), "cargo test $(evil)", false),
            (limits(&["cargo *"], &["cargo publish*"]), "cargo publish", false),
        ] {
            assert_eq!(forbidden(&limits, command).is_none(), allowed, "{limits:?} {command}");
        }
    }
}
