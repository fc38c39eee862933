//! Looking after the store itself.

use std::io::{BufRead, Write};
use std::path::Path;

use checkrein_core::config::{Keep, Kept};
use checkrein_core::principal::Principal;
use checkrein_core::run::RunStatus;
use checkrein_store::{
    Checked, CheckpointFilter, Imported, Restored, RunFilter, Stats, Store, Swept, TransferError, Vacuumed,
};

use crate::authority::{Act, require};
use crate::frame::SweptFrames;
use crate::lease::host_identity;
use crate::run::{SweptRuns, is_driven};
use crate::{Engine, EngineError, now};

impl Engine {
    /// How many checkpoints wait for a person.
    pub async fn count_pending(&self, by: &Principal) -> Result<u64, EngineError> {
        require(by, Act::Read)?;
        Ok(self.store.count_pending(self.now()).await?)
    }

    /// Whether the store answers.
    pub async fn check_readiness(&self) -> Result<(), EngineError> {
        self.store.checkpoints(&CheckpointFilter::default(), i64::MAX, 1).await?;
        Ok(())
    }

    pub async fn store_stats(&self, by: &Principal) -> Result<Stats, EngineError> {
        require(by, Act::Read)?;
        Ok(self.store.stats().await?)
    }

    /// Looks whether everything in the store agrees with everything else.
    pub async fn check_store(&self, by: &Principal) -> Result<Checked, EngineError> {
        require(by, Act::Read)?;
        Ok(self.store.check().await?)
    }

    /// Copies the store to a new file; how many bytes that took.
    pub async fn back_up_store(&self, by: &Principal, to: &Path) -> Result<u64, EngineError> {
        require(by, Act::ManageStore)?;
        Ok(self.store.backup(to).await?)
    }

    /// Writes everything but the tokens as lines of JSON.
    pub async fn export_store(&self, by: &Principal, out: &mut dyn Write) -> Result<(), EngineError> {
        require(by, Act::Read)?;
        Ok(self.store.export(out, now()).await?)
    }

    /// Adds what an export holds: all of it, or nothing.
    pub async fn import_store(
        &self,
        by: &Principal,
        export: impl BufRead + Send + 'static,
    ) -> Result<Imported, EngineError> {
        require(by, Act::ManageStore)?;
        Ok(self.store.import(export).await?)
    }

    pub async fn vacuum_store(&self, by: &Principal) -> Result<Vacuumed, EngineError> {
        require(by, Act::ManageStore)?;
        Ok(self.store.vacuum().await?)
    }

    /// Removes what was settled longer ago than the settings keep it; with `Rehearse` only counts it.
    pub async fn sweep_store(&self, by: &Principal, how: Sweep) -> Result<SweptAll, EngineError> {
        require(by, Act::ManageStore)?;
        let runs = self.sweep_runs(how).await?;
        let frames = self.sweep_frames(how).await?;
        let Some(before) = self.settings.keep(Kept::Checkpoints).old_before(now()) else {
            return Ok(SweptAll { checkpoints: Swept::default(), runs, frames });
        };
        let checkpoints = match how {
            Sweep::Rehearse => self.store.would_sweep(before).await?,
            Sweep::Remove => self.store.sweep(before).await?,
        };
        Ok(SweptAll { checkpoints, runs, frames })
    }

    /// Whether there is a store, or only what it would be.
    pub fn has_store(&self) -> bool {
        self.store.is_there()
    }

    /// How long something is kept here.
    pub fn keep(&self, kept: Kept) -> Keep {
        self.settings.keep(kept)
    }
}

/// What a sweep removed, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptAll {
    pub checkpoints: Swept,
    pub runs: SweptRuns,
    pub frames: SweptFrames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    Rehearse,
    Remove,
}

/// Makes the store at `path` what a backup holds. There is no engine for it: the store may not open.
pub fn restore_store(by: &Principal, backup: &Path, path: &Path) -> Result<Restored, EngineError> {
    require(by, Act::ManageStore)?;
    Ok(checkrein_store::restore(backup, path, now())?)
}

/// What was moved to another store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedStore {
    /// Each table, and how many rows it had.
    pub tables: Vec<(String, u64)>,
    /// Files of runs and jobs.
    pub files: u64,
}

/// Moves everything a store holds to an empty one, with the files of its runs on this machine. Refused while
/// one of them is under way: what it does next would be in one store alone.
pub async fn copy_store(by: &Principal, from: &Store, to: &Store) -> Result<CopiedStore, EngineError> {
    require(by, Act::ManageStore)?;
    let elsewhere = |holder: &checkrein_store::Holder| !holder.expired && from.is_shared();
    for row in from.leases().await? {
        if row.holder.as_ref().is_some_and(elsewhere) {
            return Err(EngineError::RunBusy(row.run));
        }
    }
    for status in [RunStatus::Running, RunStatus::Held, RunStatus::Created] {
        let mut before = None;
        loop {
            let filter = RunFilter { status: Some(status), ..RunFilter::default() };
            let page = from.runs(&filter, before, 500).await?;
            if let Some(driven) = page.items.iter().find(|stored| is_driven(from, &stored.run.id)) {
                return Err(EngineError::RunBusy(driven.run.id.clone()));
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
    }
    // First the rows: a store that is not empty is refused before a file is touched.
    let tables = to.copy_from(from).await?.tables;
    // The files are here now, and so are the runs.
    to.settle_leases(to.is_shared().then(|| host_identity(to.directory()))).await?;
    let mut files = 0;
    if from.directory() != to.directory() {
        for part in ["runs", "jobs", "logs", "frames"] {
            let (source, target) = (from.directory().join(part), to.directory().join(part));
            files += copy_files(&source, &target)
                .map_err(|error| TransferError::Write(format!("`{}`: {error}", target.display())))?;
        }
    }
    Ok(CopiedStore { tables, files })
}

/// Copies a tree as it is; links stay links.
fn copy_files(from: &Path, to: &Path) -> std::io::Result<u64> {
    use std::os::unix::fs::{DirBuilderExt, symlink};
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    let mut count = 0;
    for entry in entries {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            count += copy_files(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(std::fs::read_link(&source)?, &target)?;
            count += 1;
        } else if kind.is_file() {
            std::fs::copy(&source, &target)?;
            count += 1;
        }
    }
    Ok(count)
}
