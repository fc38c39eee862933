//! Where a job keeps its files: beside the store.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkrein_core::run::{Run, RunId};
use checkrein_store::Store;

use super::repository::{JobRepository, source};
use super::work::blocking;
use crate::agent_dir::{AgentDir, AgentFile};
use crate::{Engine, EngineError};

pub(crate) struct JobPlace {
    pub directory: PathBuf,
}

impl JobPlace {
    pub fn of(store: &Store, id: &RunId) -> JobPlace {
        JobPlace { directory: store.directory().join("jobs").join(id.as_str()) }
    }

    /// The bare repository people clone from and push to.
    pub fn repository(&self) -> PathBuf {
        self.directory.join("repository.git")
    }

    /// What the agent works in.
    pub fn clone(&self) -> PathBuf {
        self.directory.join("clone")
    }

    /// For an agent whose home cannot be written.
    pub fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// What a named agent finds again in the next attempt. Whatever the agent before put in its place is removed.
    pub fn agent_home(&self) -> Result<AgentDir, EngineError> {
        self.open()
            .and_then(|job| job.make(Path::new(HOME)))
            .map_err(|error| unusable(&self.directory.join(HOME), &error))
    }

    /// A file of the job's own, which no agent in a sandbox sees.
    pub fn file(&self, below: impl Into<PathBuf>) -> AgentFile {
        AgentFile::new(&self.directory, below)
    }

    pub fn open(&self) -> std::io::Result<AgentDir> {
        AgentDir::open(&self.directory)
    }

    /// What was handed over with the job.
    pub fn documents(&self) -> PathBuf {
        self.directory.join("documents")
    }

    /// What can be found in the workspace.
    pub fn index(&self) -> PathBuf {
        self.directory.join("index.db")
    }

    /// By what the token of the attempt that is under way is known.
    pub fn attempt_token(&self) -> AgentFile {
        self.file("attempt-token.json")
    }

    /// The conversation of the named agent that the next round goes on with.
    pub fn session(&self) -> AgentFile {
        self.file("session.json")
    }

    /// Under which lease this host has the files.
    fn lease(&self) -> AgentFile {
        self.file("lease")
    }

    /// There where the files were made of what the forge has: the repository the job started from is elsewhere.
    fn copied(&self) -> AgentFile {
        self.file("copied")
    }

    fn addresses(&self) -> AgentFile {
        self.file("datasources.json")
    }

    pub fn make(&self) -> Result<(), EngineError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        let made = made.and_then(|()| {
            let job = self.open()?;
            [EXCHANGE, "documents", "cache"].iter().try_for_each(|name| job.make(Path::new(name)).map(drop))
        });
        made.map_err(|error| unusable(&self.directory, &error))
    }

    pub fn epoch(&self) -> Option<u64> {
        let text = self.lease().read(OWN_BYTES_MAX).ok()??;
        String::from_utf8(text).ok()?.trim().parse().ok()
    }

    /// From now on the files are worked with under this lease.
    pub fn set_epoch(&self, epoch: u64) -> Result<(), EngineError> {
        write(&self.lease(), format!("{epoch}\n").as_bytes())
    }

    pub fn is_copy(&self) -> bool {
        self.copied().open().is_ok()
    }

    pub fn set_copy(&self) -> Result<(), EngineError> {
        write(&self.copied(), b"")
    }

    /// Half of a clone or repository that was being made or removed when its engine died.
    fn remove_halves(&self) {
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".cloning-", ".building-", ".removing-"].iter().any(|half| name.starts_with(half)) {
                let _ = checkrein_forge::remove_all(&entry.path());
            }
        }
    }

    /// Addresses of datasources may hold passwords: they are in no record, only here.
    pub fn keep_addresses(&self, addresses: &[(String, String)]) -> Result<(), EngineError> {
        if addresses.is_empty() {
            return Ok(());
        }
        let file = self.addresses();
        let text = serde_json::to_vec(addresses).map_err(|error| unusable(&file.path(), &error.into()))?;
        write(&file, &text)
    }

    pub fn addresses_kept(&self) -> Vec<(String, String)> {
        let text = self.addresses().read(OWN_BYTES_MAX).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What was handed over with the job under a name.
    pub fn document(&self, name: &str) -> AgentFile {
        self.file(Path::new("documents").join(name))
    }
}

/// A lock of git that is older belongs to nobody.
const LOCK_STALE: Duration = Duration::from_secs(5);

/// Clears away what an engine that was killed left of its calls of git. Whoever drives the job does it first.
pub(crate) async fn clear_up(engine: &Engine, run: &Run) -> Result<(), EngineError> {
    let place = JobPlace::of(&engine.store, &run.id);
    if run.job().is_none() || !place.directory.exists() {
        return Ok(());
    }
    let run = run.clone();
    blocking(move || {
        place.remove_halves();
        let Some((definition, _)) = run.job().filter(|_| place.repository().exists()) else { return Ok(()) };
        let repository = JobRepository::look(&run, &place)?;
        let source = if place.is_copy() { None } else { source(definition)? };
        Ok(repository.bare.unlock(source.as_ref(), LOCK_STALE)?)
    })
    .await
}

/// Forgets everything that is not the record of a job.
pub(crate) fn forget(engine: &Engine, id: &RunId) {
    engine.forget_index(id);
    let _ = checkrein_forge::remove_all(&JobPlace::of(&engine.store, id).directory);
}

/// Gives a job what another one was given.
pub(crate) fn hand_on(engine: &Engine, from: &RunId, to: &RunId) -> Result<(), EngineError> {
    let (from, to) = (JobPlace::of(&engine.store, from), JobPlace::of(&engine.store, to));
    to.make()?;
    to.keep_addresses(&from.addresses_kept())?;
    for entry in std::fs::read_dir(from.documents()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let document = from.document(&name);
        let content =
            document.read(DOCUMENT_BYTES_MAX).map_err(|error| unusable(&document.path(), &error))?;
        write(&to.document(&name), &content.unwrap_or_default())?;
    }
    Ok(())
}

/// No file of the engine's own is longer.
pub(crate) const OWN_BYTES_MAX: u64 = 16 << 20;
/// No document that was taken is longer.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 1 << 30;
/// What passes between engine and agent, a directory for each attempt: see `AttemptFiles`.
pub(super) const EXCHANGE: &str = "exchange";
const HOME: &str = "cache/agent";

pub(crate) fn write(file: &AgentFile, content: &[u8]) -> Result<(), EngineError> {
    file.replace(content).map_err(|error| unusable(&file.path(), &error))
}

pub(crate) fn unusable(path: &Path, error: &std::io::Error) -> EngineError {
    EngineError::RunFiles { path: path.to_owned(), reason: error.to_string() }
}
