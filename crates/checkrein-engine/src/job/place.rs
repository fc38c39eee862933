//! Where a job keeps its files: beside the store.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use checkrein_core::run::RunId;
use checkrein_store::Store;

use crate::{Engine, EngineError};

pub(crate) struct JobPlace {
    pub directory: PathBuf,
}

impl JobPlace {
    pub fn of(store: &Store, id: &RunId) -> JobPlace {
        let beside = store.path().parent().unwrap_or(Path::new("/"));
        JobPlace { directory: beside.join("jobs").join(id.as_str()) }
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

    /// What was handed over with the job.
    pub fn documents(&self) -> PathBuf {
        self.directory.join("documents")
    }

    fn addresses(&self) -> PathBuf {
        self.directory.join("datasources.json")
    }

    pub fn make(&self) -> Result<(), EngineError> {
        for directory in [self.exchange(), self.documents()] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
            made.map_err(|error| unusable(&directory, &error))?;
        }
        Ok(())
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

/// Forgets everything that is not the record of a job.
pub(crate) fn forget(engine: &Engine, id: &RunId) {
    let _ = std::fs::remove_dir_all(JobPlace::of(&engine.store, id).directory);
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
