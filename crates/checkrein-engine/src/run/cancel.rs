//! Ends a run for good, whoever drives it.

use std::time::{Duration, Instant};

use checkrein_core::principal::Principal;
use checkrein_core::run::{Command, Effect, RunId};
use checkrein_store::Version;

use super::place::Place;
use super::{RunView, log};
use crate::agent::used_so_far;
use crate::authority::{Act, require};
use crate::process::{end_leftovers, wait_for_lock};
use crate::{Engine, EngineError, job};

/// So long may whoever drives it take to end its attempt.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often whoever drives it elsewhere is looked for.
const ASK_EVERY: Duration = Duration::from_millis(100);

impl Engine {
    pub async fn cancel_run(
        &self,
        by: &Principal,
        id: &str,
        reason: Option<String>,
    ) -> Result<RunView, EngineError> {
        self.cancel_run_at(by, id, reason, None).await
    }

    /// The same for a run that is still at this version.
    pub async fn cancel_run_at(
        &self,
        by: &Principal,
        id: &str,
        reason: Option<String>,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        require(by, Act::ManageRuns)?;
        let id = self.named_run(id).await?;
        let mut view = self.load_run(&id).await?;
        let start = loop {
            view.expect_version(expected)?;
            let mut commands = Vec::new();
            let used = used_so_far(&view, &Place::at(&self.store, &id));
            commands.extend(used.map(|(start, used)| Command::Spend { start, used }));
            commands.push(Command::Cancel { by: by.name.clone(), reason: reason.clone() });
            match self.apply_all(&mut view, commands, None).await {
                Ok(effects) => {
                    break effects.into_iter().find_map(|effect| match effect {
                        Effect::End { start } => Some(start),
                        _ => None,
                    });
                }
                Err(EngineError::RunMoved) => view = self.load_run(&id).await?,
                Err(error) => return Err(error),
            }
        };
        self.end_attempt(&id, start).await?;
        let view = self.load_run(&id).await?;
        let place = Place::of(&self.store, &id);
        let _ = log::Log::open(&place, &view.run, &view.history, &mut |_| ());
        Ok(view)
    }

    /// Whoever drives the run ends its attempt; where nobody does, this does.
    pub(crate) async fn end_attempt(&self, id: &RunId, start: Option<u64>) -> Result<(), EngineError> {
        let begun = Instant::now();
        // On another host, whoever has it there ends it.
        while let Some(holder) = self.store.lease(id.as_str()).await?.and_then(|row| row.holder)
            && holder.host != self.leases.host()
            && !holder.expired
        {
            if begun.elapsed() >= PATIENCE {
                return Err(EngineError::RunBusy(id.clone()));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        if self.other_host_of(id.as_str()).await?.is_some() {
            return Ok(());
        }
        let place = Place::of(&self.store, id);
        let lock = place.wait_for_lock(PATIENCE).await?;
        let _lock = lock.ok_or_else(|| EngineError::RunBusy(id.clone()))?;
        let left = wait_for_lock(&place.supervisor_lock(), PATIENCE.saturating_sub(begun.elapsed()))?;
        drop(left);
        if let Some(start) = start {
            end_leftovers(&id.attempt(start), PATIENCE)?;
        }
        // What a job's agent had done is kept on its branch (L14).
        let run = self.load_run(id).await?.run;
        job::clear_up(self, &run).await?;
        job::keep_work(self, &run).await
    }
}
