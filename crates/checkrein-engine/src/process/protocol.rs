//! What engine and supervisor say to each other: one line of JSON each.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, Ended, Stdin};

/// From the engine.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Run(Box<Run>),
    Stop,
    /// The engine is there and may go on for so long; without another word everything ends then.
    Alive {
        ms: u64,
    },
}

/// From the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// It holds the lock and waits for work.
    Ready,
    /// Somebody else holds the lock.
    Locked,
    Refused {
        reason: String,
    },
    Started {
        pid: i32,
    },
    Ended(Ended),
}

/// An attempt as it is sent.
#[derive(Serialize, Deserialize)]
pub(super) struct Run {
    key: String,
    argv: Vec<Text>,
    env: Vec<(Text, Text)>,
    cwd: Text,
    stdin: Input,
    wall_ms: Option<u64>,
    idle_ms: Option<u64>,
    grace_ms: u64,
    stdout: Text,
    stderr: Text,
    bytes_max: usize,
    secrets: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Input {
    Nothing,
    Text(String),
    File(Text),
}

/// A path, an argument or a variable: nearly always text, and if not, then bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

/// One line, with its end.
pub(super) fn line(message: &impl Serialize) -> Vec<u8> {
    // INVARIANT: these shapes have no map keys that are not text, so this cannot fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl From<&Attempt> for Run {
    fn from(attempt: &Attempt) -> Run {
        Run {
            key: attempt.key.clone(),
            argv: attempt.argv.iter().map(|argument| Text::from(argument.clone())).collect(),
            env: attempt
                .env
                .iter()
                .map(|(name, value)| (name.clone().into(), value.clone().into()))
                .collect(),
            cwd: attempt.cwd.clone().into_os_string().into(),
            stdin: match &attempt.stdin {
                Stdin::Nothing => Input::Nothing,
                Stdin::Text(text) => Input::Text(text.clone()),
                Stdin::File(path) => Input::File(path.clone().into_os_string().into()),
            },
            wall_ms: attempt.wall.map(milliseconds),
            idle_ms: attempt.idle.map(milliseconds),
            grace_ms: milliseconds(attempt.grace),
            stdout: attempt.stdout.clone().into_os_string().into(),
            stderr: attempt.stderr.clone().into_os_string().into(),
            bytes_max: attempt.bytes_max,
            secrets: attempt.secrets.clone(),
        }
    }
}

impl From<Run> for Attempt {
    fn from(run: Run) -> Attempt {
        Attempt {
            key: run.key,
            argv: run.argv.into_iter().map(OsString::from).collect(),
            env: run.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: path(run.cwd),
            stdin: match run.stdin {
                Input::Nothing => Stdin::Nothing,
                Input::Text(text) => Stdin::Text(text),
                Input::File(file) => Stdin::File(path(file)),
            },
            wall: run.wall_ms.map(Duration::from_millis),
            idle: run.idle_ms.map(Duration::from_millis),
            grace: Duration::from_millis(run.grace_ms),
            stdout: path(run.stdout),
            stderr: path(run.stderr),
            bytes_max: run.bytes_max,
            secrets: run.secrets,
        }
    }
}

impl From<OsString> for Text {
    fn from(text: OsString) -> Text {
        text.into_string().map_or_else(|odd| Text::Bytes(odd.into_vec()), Text::Text)
    }
}

impl From<Text> for OsString {
    fn from(text: Text) -> OsString {
        match text {
            Text::Text(text) => text.into(),
            Text::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

fn path(text: Text) -> PathBuf {
    PathBuf::from(OsString::from(text))
}

/// What is longer than the clock can say is as good as endless.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_arrives_as_it_was() {
        let odd = OsString::from_vec(b"a\xffb".to_vec());
        let attempt = Attempt {
            key: "k".to_owned(),
            argv: vec!["echo".into(), odd.clone()],
            env: vec![("A".into(), odd.clone())],
            cwd: "/".into(),
            stdin: Stdin::File(odd.clone().into()),
            wall: Some(Duration::from_millis(7)),
            idle: None,
            grace: Duration::MAX,
            stdout: "out\nput".into(),
            stderr: odd.clone().into(),
            bytes_max: 1,
            secrets: vec!["line\nline".to_owned()],
        };
        let sent = line(&Request::Run(Box::new(Run::from(&attempt))));
        assert_eq!(sent.iter().filter(|byte| **byte == b'\n').count(), 1);
        let Request::Run(run) = serde_json::from_slice(&sent).unwrap() else { panic!() };
        let got = Attempt::from(*run);
        assert_eq!(
            (got.argv, got.env, got.stdout, got.stderr),
            (attempt.argv, attempt.env, attempt.stdout, attempt.stderr,)
        );
        assert_eq!((got.wall, got.idle, got.grace), (attempt.wall, None, Duration::from_millis(u64::MAX)));
        assert!(matches!(got.stdin, Stdin::File(path) if path.as_os_str() == odd));
    }
}
