//! A person pauses a run, whoever drives it.

use checkrein_core::principal::Principal;
use checkrein_core::run::{Command, Effect};
use checkrein_store::Version;

use super::used_so_far;
use crate::authority::{Act, require};
use crate::run::Place;
use crate::{Engine, EngineError, RunView};

impl Engine {
    /// Ends the attempt under way; what it did and used is kept, and the run goes on when it is resumed.
    pub async fn pause_run(
        &self,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        require(by, Act::ManageRuns)?;
        let id = self.named_run(id).await?;
        let place = Place::at(&self.store, &id);
        let start = loop {
            let mut view = self.load_run(&id).await?;
            view.expect_version(expected)?;
            let mut commands = Vec::new();
            commands.extend(used_so_far(&view, &place).map(|(start, used)| Command::Spend { start, used }));
            commands.push(Command::Pause { by: by.name.clone() });
            match self.apply_all(&mut view, commands, None).await {
                Ok(effects) => {
                    break effects.into_iter().find_map(|effect| match effect {
                        Effect::End { start } => Some(start),
                        _ => None,
                    });
                }
                Err(EngineError::RunMoved) => {}
                Err(error) => return Err(error),
            }
        };
        self.end_attempt(&id, start).await?;
        self.load_run(&id).await
    }
}
