//! Looking after the store itself.

use std::io::{BufRead, Write};
use std::path::Path;

use checkrein_core::config::Keep;
use checkrein_core::principal::Principal;
use checkrein_store::{Checked, Imported, Restored, Stats, Swept, Vacuumed};
use jiff::Timestamp;

use crate::authority::{Act, require};
use crate::{Engine, EngineError, now};

impl Engine {
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
    pub async fn sweep_store(&self, by: &Principal, how: Sweep) -> Result<Swept, EngineError> {
        require(by, Act::ManageStore)?;
        let Some(before) = settled_before(self.settings.keep_checkpoints(), now()) else {
            return Ok(Swept::default());
        };
        Ok(match how {
            Sweep::Rehearse => self.store.would_sweep(before).await?,
            Sweep::Remove => self.store.sweep(before).await?,
        })
    }

    /// How long settled checkpoints are kept here.
    pub fn keep_checkpoints(&self) -> Keep {
        self.settings.keep_checkpoints()
    }
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

/// None where nothing is old enough, ever.
fn settled_before(keep: Keep, now: Timestamp) -> Option<Timestamp> {
    match keep {
        Keep::Forever => None,
        Keep::For(length) => now.checked_sub(length).ok(),
    }
}
