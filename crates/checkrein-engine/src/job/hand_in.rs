//! What passes between an attempt and the engine while the agent works: its brief, and the result it writes
//! piece by piece. Both lie where the agent can write, so they are read with care, and nothing is believed
//! that the result would not be believed for.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkrein_core::config::env;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunStatus;
use checkrein_core::run::job::{BriefJson, HandIn};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde_json::Value;
use uuid::Uuid;

use super::outcome::read;
use super::place::{JobPlace, unusable};
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// How long a piece waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// The files of one attempt of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFiles {
    pub(super) brief: PathBuf,
    pub(super) result: PathBuf,
    job: String,
}

/// The attempt a process is part of, as its environment tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnAttempt {
    /// Of a job.
    Phase(AttemptFiles),
    /// Of a step, whose response goes to this file.
    Step(PathBuf),
}

impl OwnAttempt {
    pub fn of_environment(get: impl Fn(&str) -> Option<String>) -> Option<OwnAttempt> {
        let path = |name: &str| get(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        match (path(env::BRIEF_JSON), path(env::RESULT)) {
            (Some(brief), Some(result)) => {
                let job = get("CHECKREIN_JOB_ID").unwrap_or_default();
                Some(OwnAttempt::Phase(AttemptFiles { brief, result, job }))
            }
            _ => path(env::RESPONSE).map(OwnAttempt::Step),
        }
    }
}

impl AttemptFiles {
    pub(crate) fn of(place: &JobPlace, start: u64) -> AttemptFiles {
        let file = |ending: &str| place.exchange().join(format!("{start:04}.{ending}"));
        let job = place.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        AttemptFiles { brief: file("brief.json"), result: file("result.json"), job }
    }

    /// Before the agent is there.
    pub(super) fn begin(&self, brief: Option<&BriefJson>) -> Result<(), EngineError> {
        // What a lost attempt wrote is not this one's answer.
        let _ = std::fs::remove_file(&self.result);
        let text = serde_json::to_vec_pretty(&brief).map_err(|error| unusable(&self.brief, &error.into()))?;
        std::fs::write(&self.brief, text).map_err(|error| unusable(&self.brief, &error))
    }

    /// Whether a text names the job; a beginning or end of its id will do.
    pub fn is_of(&self, job: &str) -> bool {
        let long_enough = job.len() >= 4;
        self.job == job || (long_enough && (self.job.starts_with(job) || self.job.ends_with(job)))
    }

    pub fn job(&self) -> &str {
        &self.job
    }

    pub fn brief(&self) -> Result<BriefJson, EngineError> {
        let odd = |reason: String| EngineError::RunFiles { path: self.brief.clone(), reason };
        let value = read(&self.brief).map_err(odd)?.unwrap_or_default();
        serde_json::from_value(value).map_err(|error| odd(error.to_string()))
    }

    /// What is handed in so far.
    pub fn result(&self) -> Result<Value, EngineError> {
        let odd = |reason: String| EngineError::RunFiles { path: self.result.clone(), reason };
        Ok(read(&self.result).map_err(odd)?.unwrap_or_default())
    }

    /// Puts one piece into the result; the result with it.
    pub fn hand_in(&self, piece: HandIn) -> Result<Value, EngineError> {
        // Whoever hands in two pieces at once loses neither.
        let nowait = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let lock = std::fs::File::options().read(true).custom_flags(nowait).open(&self.brief);
        let lock = lock.map_err(|error| unusable(&self.brief, &error))?;
        let begun = Instant::now();
        while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // An agent can hold the lock of its own file for ever.
            if error != rustix::io::Errno::WOULDBLOCK || begun.elapsed() > PATIENCE {
                return Err(unusable(&self.brief, &error.into()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let result = piece.into(&self.brief()?, self.result()?)?;
        write_whole(&self.result, &result)?;
        Ok(result)
    }
}

/// Replaces a file, or makes it; nobody ever sees half of it.
pub(crate) fn write_whole(path: &Path, value: &Value) -> Result<(), EngineError> {
    let broken = |error: &std::io::Error| unusable(path, error);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}-{}", Uuid::new_v4()));
    let written = std::fs::File::options().create_new(true).write(true).mode(0o600).open(&beside).and_then(
        |mut file| {
            file.write_all(value.to_string().as_bytes())?;
            std::fs::rename(&beside, path)
        },
    );
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        broken(&error)
    })
}

impl OwnAttempt {
    /// The response of a step, whole.
    pub fn respond(response_file: &Path, response: &Value) -> Result<(), EngineError> {
        write_whole(response_file, response)
    }
}

impl Engine {
    /// The files of the attempt of a job that is under way. Whoever may not see the job does not find it.
    pub async fn attempt_files(&self, by: &Principal, job: &str) -> Result<AttemptFiles, EngineError> {
        require(by, Act::HandIn)?;
        let id = self.seen_run(by, job).await?;
        let view = self.load_run(&id).await?;
        if view.run.job().is_none() {
            return Err(EngineError::NotAJob(id));
        }
        let under_way =
            view.run.state.under_way.as_ref().filter(|_| view.run.state.status == RunStatus::Running);
        let files =
            under_way.map(|under_way| AttemptFiles::of(&JobPlace::of(&self.store, &id), under_way.start));
        // Before its brief is there it has not begun.
        files.filter(|files| files.brief.exists()).ok_or(EngineError::NoAttempt(id))
    }
}

#[cfg(test)]
mod tests {
    use checkrein_core::boundary::PhaseKind;
    use checkrein_core::run::job::{BriefPhase, HandInRefusal, Todo};
    use serde_json::json;

    use super::*;

    fn files(directory: &Path) -> AttemptFiles {
        let files = AttemptFiles {
            brief: directory.join("b.json"),
            result: directory.join("r.json"),
            job: "20260101-000000-abcde".to_owned(),
        };
        let todo = |id| Todo { id, content: format!("todo {id}"), done: false };
        let phase = BriefPhase {
            name: "phase-2-tactical".to_owned(),
            number: 2,
            kind: PhaseKind::Tactical,
            round: 1,
            branch: "phase-2-tactical".to_owned(),
            feedback: false,
        };
        let brief = BriefJson {
            job: files.job.clone(),
            task: "t".to_owned(),
            level: "full".to_owned(),
            phase,
            todos: (1..=40).map(todo).collect(),
            plan: None,
            replan: None,
            review: None,
            comments: Vec::new(),
            conflict: None,
            human_commits: Vec::new(),
            human_diff: None,
        };
        files.begin(Some(&brief)).unwrap();
        files
    }

    #[test]
    fn pieces_that_come_at_once_are_all_there() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        std::fs::write(&files.result, r#"{"summary": "mine", "more": 1}"#).unwrap();
        std::thread::scope(|scope| {
            for id in 1..=40 {
                let files = &files;
                scope.spawn(move || files.hand_in(HandIn::TodoDone(id)).unwrap());
            }
        });
        let result = files.result().unwrap();
        assert_eq!(result["todos_done"].as_array().unwrap().len(), 40);
        assert_eq!(
            (&result["summary"], &result["more"]),
            (&json!("mine"), &json!(1)),
            "what was there stays"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn what_a_piece_is_refused_for_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        let refused = files.hand_in(HandIn::JobComplete { summary: None });
        assert!(
            matches!(refused, Err(EngineError::HandIn(HandInRefusal::StrategicOnly { .. }))),
            "{refused:?}"
        );
        assert!(!files.result.exists());
        for (text, is) in [
            ("20260101-000000-abcde", true),
            ("abcde", true),
            ("20260101", true),
            ("cde", false),
            ("", false),
            ("000000", false),
        ] {
            assert_eq!(files.is_of(text), is, "{text}");
        }
    }

    /// The files lie where an agent can put something else in their place.
    #[test]
    fn traps_are_not_stepped_into() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        let secret = directory.path().join("secret");
        std::fs::write(&secret, r#"{"key": "hunter2"}"#).unwrap();
        std::os::unix::fs::symlink(&secret, &files.result).unwrap();
        let told = files.hand_in(HandIn::TodoDone(1)).unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), r#"{"key": "hunter2"}"#);
        std::fs::remove_file(&files.result).unwrap();
        std::fs::remove_file(&files.brief).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &files.brief, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        files.hand_in(HandIn::TodoDone(1)).unwrap_err();
        std::fs::remove_file(&files.brief).unwrap();
        std::os::unix::fs::symlink(&secret, &files.brief).unwrap();
        files.hand_in(HandIn::TodoDone(1)).unwrap_err();
    }
}
