//! Looking after the store itself.

use std::io::{BufRead, Write};
use std::path::Path;

use checkrein_core::config::{Keep, Kept};
use checkrein_core::principal::Principal;
use checkrein_store::{Checked, CheckpointFilter, Imported, Restored, Stats, Swept, Vacuumed};

use crate::authority::{Act, require};
use crate::run::SweptRuns;
use crate::{Engine, EngineError, now};

impl Engine {
    /// How many checkpoints wait for a person.
    pub async fn count_pending(&self, by: &Principal) -> Result<u64, EngineError> {
        require(by, Act::Read)?;
        Ok(self.store.count_pending().await?)
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
        let Some(before) = self.settings.keep(Kept::Checkpoints).old_before(now()) else {
            return Ok(SweptAll { checkpoints: Swept::default(), runs });
        };
        let checkpoints = match how {
            Sweep::Rehearse => self.store.would_sweep(before).await?,
            Sweep::Remove => self.store.sweep(before).await?,
        };
        Ok(SweptAll { checkpoints, runs })
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
