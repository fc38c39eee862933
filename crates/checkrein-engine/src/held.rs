//! Open checkpoints as this engine left them, so that a verdict that comes soon needs no reading.
//!
//! Only a guess: a commit is made against the version that is remembered, and a conflict reads again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus};
use checkrein_store::Version;

/// More than are decided within a moment; the rest is read.
const REMEMBERED_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<String, (Checkpoint, Version)>>);

impl Held {
    pub fn remember(&self, checkpoint: &Checkpoint, version: Version) {
        if checkpoint.status != CheckpointStatus::Pending {
            return;
        }
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= REMEMBERED_MAX {
            held.clear();
        }
        held.insert(checkpoint.id.to_string(), (checkpoint.clone(), version));
    }

    pub fn take(&self, id: &str) -> Option<(Checkpoint, Version)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}
