//! Goes on with runs as soon as they can: what `worker` and `serve` do all day.

use std::time::Duration;

use checkrein_core::principal::Principal;
use checkrein_core::run::{Run, RunId};
use tokio::sync::watch as notice;

use crate::{ClaimedRun, Engine, EngineError, Rest, RunView, Watch};

/// Told of what a worker does, beside what happens in its runs.
pub trait WatchWork: Watch {
    fn goes_on(&mut self, run: &RunId);
    fn rests(&mut self, run: &Run, rest: &Rest);
    /// One run could not go on; the others do.
    fn failed(&mut self, run: &RunId, error: &EngineError);
}

/// How long a worker works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// What is ready now.
    Once,
    /// Until it is told to stop.
    UntilStopped,
}

/// Leases of others run out without anybody doing something, so a worker looks around now and then.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);

impl Engine {
    /// Drives every run that can go on now, one after the other. When `stop` becomes true, the attempt under
    /// way is ended and its run paused.
    pub async fn work_once(
        &self,
        by: &Principal,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn WatchWork,
    ) -> Result<(), EngineError> {
        self.record_timeouts().await?;
        // What people did in a forge may let a run go on.
        for id in self.due_forges(self.now()) {
            if let Err(error) = self.look_at_forge(&id).await {
                watch.failed(&id, &error);
            }
        }
        self.free_left_runs().await?;
        while !*stop.borrow() {
            let Some(claimed) = self.claim_runs(by, 1).await?.pop() else { break };
            self.go_on(by, claimed, stop, watch).await;
        }
        Ok(())
    }

    /// Drives one run until it waits or rests, unless it has nothing to do any more.
    pub async fn go_on(
        &self,
        by: &Principal,
        claimed: ClaimedRun,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn WatchWork,
    ) {
        let id = claimed.id().clone();
        let mut driver = match self.drive_claimed(by, claimed, watch).await {
            Ok(driver) => driver,
            // Somebody who knows nothing of leases has it.
            Err(EngineError::RunBusy(_)) => return,
            Err(error) => return watch.failed(&id, &error),
        };
        let waits = match self.is_answered(driver.view()).await {
            Ok(answered) => !answered,
            Err(error) => return watch.failed(&id, &error),
        };
        if !waits {
            watch.goes_on(&id);
        }
        let version = driver.view().run.state.version;
        match driver.go(stop, watch).await {
            // It was looked at for nothing.
            Ok(_) if waits && driver.view().run.state.version == version => {}
            Ok(rest) => watch.rests(&driver.view().run, &rest),
            Err(error) => watch.failed(&id, &error),
        }
    }

    /// Whether a run waits for nobody.
    async fn is_answered(&self, view: &RunView) -> Result<bool, EngineError> {
        match &view.checkpoint {
            Some(id) => Ok(self.checkpoint_row(id).await?.checkpoint.resolved_at.is_some()),
            None => Ok(true),
        }
    }
}
