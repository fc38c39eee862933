//! Where a job keeps its files: beside the store.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkrein_core::run::{Run, RunId};
use checkrein_store::Store;

use super::repository::{JobRepository, source};
use super::work::blocking;
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

    /// Briefs and results: what passes between engine and agent.
    pub fn exchange(&self) -> PathBuf {
        self.directory.join("exchange")
    }

    /// For an agent whose home cannot be written.
    pub fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// What a named agent finds again in the next attempt.
    pub fn agent_home(&self) -> PathBuf {
        self.cache().join("agent")
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
    pub fn attempt_token(&self) -> PathBuf {
        self.directory.join("attempt-token.json")
    }

    /// Under which lease this host has the files.
    fn lease(&self) -> PathBuf {
        self.directory.join("lease")
    }

    /// There where the files were made of what the forge has: the repository the job started from is elsewhere.
    fn copied(&self) -> PathBuf {
        self.directory.join("copied")
    }

    fn addresses(&self) -> PathBuf {
        self.directory.join("datasources.json")
    }

    pub fn make(&self) -> Result<(), EngineError> {
        for directory in [self.exchange(), self.documents(), self.cache()] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
            made.map_err(|error| unusable(&directory, &error))?;
        }
        Ok(())
    }

    pub fn epoch(&self) -> Option<u64> {
        std::fs::read_to_string(self.lease()).ok()?.trim().parse().ok()
    }

    /// From now on the files are worked with under this lease.
    pub fn set_epoch(&self, epoch: u64) -> Result<(), EngineError> {
        let path = self.lease();
        std::fs::write(&path, format!("{epoch}\n")).map_err(|error| unusable(&path, &error))
    }

    pub fn is_copy(&self) -> bool {
        self.copied().exists()
    }

    pub fn set_copy(&self) -> Result<(), EngineError> {
        let path = self.copied();
        std::fs::write(&path, "").map_err(|error| unusable(&path, &error))
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
        let path = self.addresses();
        let file = std::fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(&path);
        let file = file.map_err(|error| unusable(&path, &error))?;
        serde_json::to_writer(file, addresses).map_err(|error| unusable(&path, &error.into()))
    }

    pub fn addresses_kept(&self) -> Vec<(String, String)> {
        let text = std::fs::read(self.addresses()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
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
        let copy = to.documents().join(entry.file_name());
        std::fs::copy(entry.path(), &copy).map_err(|error| unusable(&copy, &error))?;
    }
    Ok(())
}

pub(crate) fn unusable(path: &Path, error: &std::io::Error) -> EngineError {
    EngineError::RunFiles { path: path.to_owned(), reason: error.to_string() }
}
