//! What passes between an attempt and the engine while the agent works: its brief, and the result it writes
//! piece by piece. Each attempt has a directory that no agent has been at before; in a sandbox its agent writes to
//! `out` in it alone. Nothing is believed that the result would not be believed for.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkrein_core::config::env;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunStatus;
use checkrein_core::run::job::{BriefJson, HandIn};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::outcome::read;
use super::place::{EXCHANGE, JobPlace, unusable, write};
use crate::agent_dir::AgentFile;
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// How long a piece waits for another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// The files of one attempt of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFiles {
    pub(super) brief: AgentFile,
    pub(super) result: AgentFile,
    job: String,
}

/// Where an agent writes, in the directory of its attempt.
const OUT: &str = "out";

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
                let (brief, result) = (AgentFile::named(&brief), AgentFile::named(&result));
                Some(OwnAttempt::Phase(AttemptFiles { brief, result, job }))
            }
            _ => path(env::RESPONSE).map(OwnAttempt::Step),
        }
    }
}

impl AttemptFiles {
    pub(crate) fn of(place: &JobPlace, start: u64) -> AttemptFiles {
        let job = place.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        AttemptFiles {
            brief: place.file(exchange(start).join("brief.json")),
            result: place.file(exchange(start).join(OUT).join("result.json")),
            job,
        }
    }

    /// Makes the directory of an attempt before its agent is there, and puts its brief in.
    pub(super) fn begin(
        place: &JobPlace,
        start: u64,
        brief: &str,
        brief_json: Option<&BriefJson>,
    ) -> Result<AttemptFiles, EngineError> {
        let directory = place.directory.join(exchange(start));
        let broken = |error: &std::io::Error| unusable(&directory, error);
        let json = serde_json::to_vec_pretty(&brief_json).map_err(|error| broken(&error.into()))?;
        let made = place.open().and_then(|job| {
            let all = job.make(Path::new(EXCHANGE))?;
            // A lost attempt may have had the same number; what it wrote is not this one's.
            let own = all.make_fresh(OsStr::new(&number(start)))?;
            own.make_fresh(OsStr::new(OUT))?;
            own.create_new(OsStr::new("brief.md"), brief.as_bytes())?;
            own.create_new(OsStr::new("brief.json"), &json)
        });
        made.map_err(|error| broken(&error))?;
        Ok(AttemptFiles::of(place, start))
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
        let odd = |reason: String| EngineError::RunFiles { path: self.brief.path(), reason };
        let value = read(&self.brief).map_err(odd)?.unwrap_or_default();
        serde_json::from_value(value).map_err(|error| odd(error.to_string()))
    }

    /// What is handed in so far.
    pub fn result(&self) -> Result<Value, EngineError> {
        let odd = |reason: String| EngineError::RunFiles { path: self.result.path(), reason };
        Ok(read(&self.result).map_err(odd)?.unwrap_or_default())
    }

    /// Puts one piece into the result; the result with it.
    pub fn hand_in(&self, piece: HandIn) -> Result<Value, EngineError> {
        // Whoever hands in two pieces at once loses neither.
        let lock = self.brief.open().map_err(|error| unusable(&self.brief.path(), &error))?;
        let begun = Instant::now();
        while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // An agent can hold the lock of its own file for ever.
            if error != rustix::io::Errno::WOULDBLOCK || begun.elapsed() > PATIENCE {
                return Err(unusable(&self.brief.path(), &error.into()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let result = piece.into(&self.brief()?, self.result()?)?;
        write(&self.result, result.to_string().as_bytes())?;
        Ok(result)
    }
}

/// The directory of an attempt, in that of its job.
pub(super) fn exchange(start: u64) -> PathBuf {
    Path::new(EXCHANGE).join(number(start))
}

/// Where its agent writes.
pub(crate) fn out(start: u64) -> PathBuf {
    exchange(start).join(OUT)
}

fn number(start: u64) -> String {
    format!("{start:04}")
}

impl OwnAttempt {
    /// The response of a step, whole.
    pub fn respond(response_file: &Path, response: &Value) -> Result<(), EngineError> {
        write(&AgentFile::named(response_file), response.to_string().as_bytes())
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
        files.filter(|files| files.brief.open().is_ok()).ok_or(EngineError::NoAttempt(id))
    }
}

#[cfg(test)]
mod tests {
    use checkrein_core::boundary::PhaseKind;
    use checkrein_core::run::job::{BriefComments, BriefPhase, HandInRefusal, Todo};
    use serde_json::json;

    use super::*;

    fn files(directory: &Path) -> AttemptFiles {
        let place = JobPlace { directory: directory.join("20260101-000000-abcde") };
        place.make().unwrap();
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
            job: "20260101-000000-abcde".to_owned(),
            task: "t".to_owned(),
            level: "full".to_owned(),
            phase,
            todos: (1..=40).map(todo).collect(),
            plan: None,
            replan: None,
            review: None,
            comments: BriefComments::default(),
            unfinished: None,
            conflict: None,
            human_commits: Vec::new(),
            human_diff: None,
        };
        AttemptFiles::begin(&place, 7, "the brief", Some(&brief)).unwrap()
    }

    #[test]
    fn pieces_that_come_at_once_are_all_there() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        std::fs::write(files.result.path(), r#"{"summary": "mine", "more": 1}"#).unwrap();
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
        let out = files.result.path();
        assert_eq!(std::fs::read_dir(out.parent().unwrap()).unwrap().count(), 1, "nothing is left over");
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
        assert!(!files.result.path().exists());
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

    /// The files lie where an agent without a sandbox can put something else in their place.
    #[test]
    fn traps_are_not_stepped_into() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        let (brief, result) = (files.brief.path(), files.result.path());
        let secret = directory.path().join("secret");
        std::fs::write(&secret, r#"{"key": "hunter2"}"#).unwrap();
        std::os::unix::fs::symlink(&secret, &result).unwrap();
        let told = files.hand_in(HandIn::TodoDone(1)).unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), r#"{"key": "hunter2"}"#);
        std::fs::remove_file(&result).unwrap();
        std::fs::remove_file(&brief).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &brief, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        files.hand_in(HandIn::TodoDone(1)).unwrap_err();
        std::fs::remove_file(&brief).unwrap();
        std::os::unix::fs::symlink(&secret, &brief).unwrap();
        files.hand_in(HandIn::TodoDone(1)).unwrap_err();
    }

    /// Whatever an earlier agent left where the next attempt has its files, that one begins with a directory of its own.
    #[test]
    fn an_attempt_begins_in_a_directory_nobody_has_been_at() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let outside = root.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let secret = outside.join("brief.md");
        std::fs::write(&secret, "mine").unwrap();
        let place = JobPlace { directory: root.path().join("job") };
        type SetTrap = fn(&Path, &Path);
        let set: [(&str, SetTrap); 4] = [
            ("its directory is a link", |at, outside| symlink(outside, at).unwrap()),
            ("its files are links", |at, outside| {
                std::fs::create_dir_all(at.join("out")).unwrap();
                for name in ["brief.md", "brief.json", "agent.json", "messages.json", "out/result.json"] {
                    symlink(outside.join("brief.md"), at.join(name)).unwrap();
                }
            }),
            ("where it writes is a link", |at, outside| {
                std::fs::create_dir_all(at).unwrap();
                symlink(outside, at.join("out")).unwrap();
            }),
            ("all directories are one", |at, outside| {
                std::fs::remove_dir_all(at.parent().unwrap()).unwrap();
                symlink(outside, at.parent().unwrap()).unwrap();
            }),
        ];
        for (case, set) in set {
            place.make().unwrap();
            set(&place.directory.join(exchange(2)), &outside);
            let files = AttemptFiles::begin(&place, 2, "brief", None).unwrap();
            assert_eq!(files.result().unwrap(), Value::Null, "{case}");
            assert_eq!(
                std::fs::read(files.brief.path().with_file_name("brief.md")).unwrap(),
                b"brief",
                "{case}"
            );
            assert_eq!(std::fs::read_to_string(&secret).unwrap(), "mine", "{case}");
            assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{case}");
            checkrein_forge::remove_all(&place.directory).unwrap();
        }
    }
}
