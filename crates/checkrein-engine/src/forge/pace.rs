//! When a forge is looked at next: a file beside each job that has one, and another that says that something
//! has happened there. Whoever looks takes the hint away first, so that one that comes meanwhile is not lost.

use std::path::PathBuf;
use std::time::Duration;

use checkrein_core::run::RunId;
use checkrein_core::run::job::ForgeAt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::at::repository_name;
use crate::agent_dir::AgentFile;
use crate::job::JobPlace;
use crate::{Engine, EngineError, LOOK_EVERY};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Paced {
    url: String,
    repository: String,
    next: Timestamp,
    /// Looks in a row at which nothing had happened, or that failed.
    #[serde(default)]
    idle: u32,
    #[serde(default)]
    failures: u32,
}

/// How a look went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    /// Something had happened.
    News,
    Nothing,
    Failed {
        retry_after: Option<Duration>,
    },
}

/// The rhythm of one job.
pub(crate) struct Pace {
    directory: PathBuf,
}

/// No such file is longer.
const BYTES_MAX: u64 = 1 << 20;
const REST_MIN: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(5 * 60);
const FAILED_FIRST: Duration = Duration::from_secs(5);
/// However long a forge wants to be left alone.
const LATER_MAX: Duration = Duration::from_secs(60 * 60);

impl Pace {
    pub fn of(engine: &Engine, id: &RunId) -> Pace {
        Pace { directory: JobPlace::of(&engine.store, id).directory }
    }

    fn file(&self) -> AgentFile {
        AgentFile::new(&self.directory, "forge.json")
    }

    fn hint_file(&self) -> AgentFile {
        AgentFile::new(&self.directory, "forge.hint")
    }

    pub fn hint(&self) {
        // Where it cannot be written the next look finds out.
        let _ = self.hint_file().replace(b"");
    }

    pub fn take_hint(&self) {
        let _ = self.hint_file().remove();
    }

    pub fn is_hinted(&self) -> bool {
        self.hint_file().open().is_ok()
    }

    pub fn begin(&self, at: &ForgeAt, id: &RunId, now: Timestamp) -> Result<(), EngineError> {
        let paced = Paced {
            url: at.url.clone(),
            repository: repository_name(at, id),
            next: now,
            idle: 0,
            failures: 0,
        };
        self.write(&paced)
    }

    /// Whether it is to be looked at; what was never begun is due.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.is_hinted() || self.read().is_none_or(|paced| paced.next <= now)
    }

    /// How long it is left alone.
    pub fn rest(&self, now: Timestamp) -> Duration {
        let next = self.read().filter(|_| !self.is_hinted()).map(|paced| paced.next);
        next.map_or(Duration::ZERO, |next| Duration::try_from(next.duration_since(now)).unwrap_or_default())
    }

    /// Remembers how a look went, and when the next one is.
    pub fn went(
        &self,
        at: &ForgeAt,
        id: &RunId,
        went: Went,
        poll: Duration,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let before = self.read();
        let (idle, failures) = before.as_ref().map_or((0, 0), |before| (before.idle, before.failures));
        let (idle, failures, rest) = match went {
            Went::News => (0, 0, poll),
            Went::Nothing => (idle.saturating_add(1), 0, doubled(poll, idle, REST_MAX.max(poll))),
            Went::Failed { retry_after } => {
                let rest = doubled(FAILED_FIRST.min(poll), failures, REST_MAX);
                let rest = retry_after.map_or(rest, |after| after.max(rest).min(LATER_MAX));
                (idle, failures.saturating_add(1), rest)
            }
        };
        let next = now.checked_add(rest).unwrap_or(now);
        let repository = before.map_or_else(|| repository_name(at, id), |before| before.repository);
        self.write(&Paced { url: at.url.clone(), repository, next, idle, failures })
    }

    /// Somebody else is to see to it within this time; the hint is theirs.
    pub fn put_off(&self, rest: Duration, now: Timestamp) -> Result<(), EngineError> {
        self.take_hint();
        match self.read() {
            Some(paced) => self.write(&Paced { next: now.checked_add(rest).unwrap_or(now), ..paced }),
            None => Ok(()),
        }
    }

    /// The repository has another name now: hints are about that.
    pub fn called(&self, name: &str) -> Result<(), EngineError> {
        match self.read() {
            Some(paced) if paced.repository != name => {
                self.write(&Paced { repository: name.to_owned(), ..paced })
            }
            _ => Ok(()),
        }
    }

    /// There is nothing to be looked at any more.
    pub fn end(&self) {
        let _ = self.file().remove();
        self.take_hint();
    }

    fn read(&self) -> Option<Paced> {
        serde_json::from_slice(&self.file().read(BYTES_MAX).ok()??).ok()
    }

    fn write(&self, paced: &Paced) -> Result<(), EngineError> {
        let file = self.file();
        let failed = |reason: String| EngineError::RunFiles { path: file.path(), reason };
        let text = serde_json::to_vec(paced).map_err(|error| failed(error.to_string()))?;
        file.replace(&text).map_err(|error| failed(error.to_string()))
    }
}

fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times.min(16))).min(most)
}

impl Engine {
    /// Jobs whose forge is to be looked at.
    pub fn due_forges(&self, now: Timestamp) -> Vec<RunId> {
        let due = |id: &RunId| {
            let pace = Pace::of(self, id);
            pace.file().open().is_ok() && pace.is_due(now)
        };
        self.forge_jobs().into_iter().filter(due).collect()
    }

    /// How long nobody has to look around who has seen to what was due at `seen`: a while, or until a forge is to be
    /// looked at.
    pub fn rest(&self, seen: Timestamp) -> Duration {
        let next =
            self.forge_jobs().into_iter().filter_map(|id| Pace::of(self, &id).read()).map(|paced| paced.next);
        let next = next.filter(|next| *next > seen).min();
        let left = next.map(|next| Duration::try_from(next.duration_since(self.now())).unwrap_or_default());
        left.map_or(LOOK_EVERY, |left| left.clamp(REST_MIN, LOOK_EVERY))
    }

    /// Hints at every job in a repository of the forge; how many there are.
    pub(super) fn hint_at(&self, url: &str, repository: &str) -> usize {
        let wake = |id: &RunId| drop(checkrein_store::block_on(self.store.wake_run(id.to_string())));
        let mut hinted = Vec::new();
        for id in self.forge_jobs() {
            let pace = Pace::of(self, &id);
            let there = |paced: Paced| paced.url == url && paced.repository.eq_ignore_ascii_case(repository);
            if pace.read().is_some_and(there) {
                pace.hint();
                // One that waits for its forge is not waited for any more.
                wake(&id);
                hinted.push(id);
            }
        }
        if self.store.is_shared() {
            // Those whose files are on other machines: whoever takes one up looks.
            let of = format!("{url}/{repository}");
            let mut elsewhere =
                checkrein_store::block_on(self.store.runs_in_repository(&of)).unwrap_or_default();
            // A repository that was made for a job is called after it.
            let made = repository.rsplit_once("/checkrein-").map(|(_, id)| id);
            elsewhere.extend(made.filter(|id| RunId::looks_like(id)).map(RunId::new));
            elsewhere.retain(|id| !hinted.contains(id));
            elsewhere.iter().for_each(wake);
            hinted.extend(elsewhere);
        }
        hinted.len()
    }

    fn forge_jobs(&self) -> Vec<RunId> {
        let beside = self.store.directory().join("jobs");
        let entries = std::fs::read_dir(beside).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).map(RunId::new).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_finds_nothing_looks_less_often() {
        let directory = tempfile::tempdir().unwrap();
        let pace = Pace { directory: directory.path().to_owned() };
        let at = ForgeAt {
            kind: checkrein_core::run::job::ForgeKind::Gitea,
            url: "https://git.example.com".into(),
            repository: "team/app".into(),
            made: false,
        };
        let (id, now) = (RunId::new("1"), "2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap());
        assert!(pace.is_due(now), "what was never looked at is due");
        let poll = Duration::from_secs(30);
        for (went, seconds) in [
            (Went::News, 30),
            (Went::Nothing, 30),
            (Went::Nothing, 60),
            (Went::Nothing, 120),
            (Went::Nothing, 240),
            (Went::Nothing, 300),
            (Went::Failed { retry_after: None }, 5),
            (Went::Failed { retry_after: None }, 10),
            (Went::Failed { retry_after: Some(Duration::from_secs(90)) }, 90),
            (Went::Failed { retry_after: Some(Duration::from_secs(90_000)) }, 3600),
            (Went::News, 30),
        ] {
            pace.went(&at, &id, went, poll, now).unwrap();
            let next = pace.read().unwrap().next;
            assert_eq!(next.duration_since(now).as_secs(), seconds, "{went:?}");
        }
        assert!(!pace.is_due(now));
        // Under another name it is hinted at by that, and goes on being so.
        pace.called("team/application").unwrap();
        pace.went(&at, &id, Went::Nothing, poll, now).unwrap();
        assert_eq!(pace.read().unwrap().repository, "team/application");
        pace.hint();
        assert!(pace.is_due(now), "a hint does not wait");
        let before = pace.read().unwrap();
        pace.put_off(Duration::from_secs(5), now).unwrap();
        assert!(!pace.is_due(now), "somebody else has the hint");
        let after = pace.read().unwrap();
        assert_eq!(after.next.duration_since(now).as_secs(), 5);
        assert_eq!((after.idle, after.failures), (before.idle, before.failures));
    }
}
