//! Workers by their names: what is in force for each, and what waits of it.

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::config::{Reviewer, Subject};
use checkrein_core::policy::{Resolution, Scope};
use checkrein_core::principal::Principal;
use checkrein_store::CheckpointFilter;

use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// A worker as it stands.
#[derive(Clone, Debug)]
pub struct WorkerView {
    pub name: String,
    /// Whether it has an entry in the settings.
    pub declared: bool,
    pub policy: Resolution,
    pub reviewer: Reviewer,
    /// How many of its checkpoints wait, as far as they are counted.
    pub pending: usize,
}

/// So many are counted.
const PENDING_MAX: usize = 1000;

impl Engine {
    /// Every worker that has an entry in the settings.
    pub async fn workers(&self, by: &Principal) -> Result<Vec<WorkerView>, EngineError> {
        let mut all = Vec::new();
        for name in self.settings.workers() {
            all.push(self.worker_view(by, name).await?);
        }
        Ok(all)
    }

    pub async fn worker_view(&self, by: &Principal, name: &str) -> Result<WorkerView, EngineError> {
        require(by, Act::Read)?;
        let filter = CheckpointFilter {
            status: Some(CheckpointStatus::Pending),
            worker: Some(name.to_owned()),
            ..CheckpointFilter::default()
        };
        Ok(WorkerView {
            name: name.to_owned(),
            declared: self.settings.workers().contains(&name),
            policy: self.settings.resolve(Scope::Worker, Subject::Worker(name), &[])?,
            reviewer: self.settings.reviewer(name),
            pending: self.checkpoints(by, &filter, 0, PENDING_MAX).await?.items.len(),
        })
    }
}
