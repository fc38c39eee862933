//! Another level for a job that runs.

use checkrein_core::config::env;
use checkrein_core::policy::{LayerRank, Resolution};
use checkrein_core::principal::Principal;
use checkrein_core::run::Command;
use checkrein_store::Version;

use crate::authority::{Act, require};
use crate::run::RunView;
use crate::{Engine, EngineError};

impl Engine {
    /// From the next boundary on; what is held stays held.
    pub async fn change_level(
        &self,
        by: &Principal,
        id: &str,
        autonomy: &str,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        require(by, Act::ManageRuns)?;
        let id = self.named_run(id).await?;
        let layer = env::layer(LayerRank::Change, "--autonomy", autonomy.trim())?;
        let mut view = self.load_run(&id).await?;
        loop {
            view.expect_version(expected)?;
            let current = view.run.policy().clone();
            // A run that is no job refuses by itself.
            let policy = match view.run.job() {
                Some(_) => Resolution::of(current).amend(&layer)?.policy,
                None => current,
            };
            let command = Command::ChangePolicy { policy: Box::new(policy), by: by.name.clone() };
            match self.apply(&mut view, command).await {
                Ok(_) => return Ok(view),
                Err(EngineError::RunMoved) => view = self.load_run(&id).await?,
                Err(error) => return Err(error),
            }
        }
    }
}
