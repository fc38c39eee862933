//! Goes on with runs as soon as they can: what `worker` and `serve` do all day.

use std::time::Duration;

use checkrein_core::principal::Principal;
use checkrein_core::run::{Run, RunId, RunStatus};
use tokio::sync::watch as notice;

use crate::{Engine, EngineError, Rest, Watch};

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

/// Holds time out without anybody doing something, so a worker looks around now and then.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);

impl Engine {
    /// Drives every run that can go on, one after the other. When `stop` becomes true, the attempt under
    /// way is ended and its run paused.
    pub async fn work(
        &self,
        by: &Principal,
        shift: Shift,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn WatchWork,
    ) -> Result<(), EngineError> {
        let mut changes = self.store().changes()?;
        let mut stopped = stop.clone();
        while !*stop.borrow() {
            changes.borrow_and_update();
            // What people did in a forge may let a run go on.
            for id in self.due_forges() {
                if let Err(error) = self.look_at_forge(&id).await {
                    watch.failed(&id, &error);
                }
            }
            for id in self.ready_runs(by).await? {
                if *stop.borrow() {
                    break;
                }
                self.go_on(by, &id, stop, watch).await;
            }
            if shift == Shift::Once {
                break;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(self.rest()) => {}
                _ = stopped.wait_for(|stop| *stop) => {}
            }
        }
        Ok(())
    }

    /// Drives one run until it waits or rests, unless somebody else does or it has nothing to do any more.
    pub async fn go_on(
        &self,
        by: &Principal,
        id: &RunId,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn WatchWork,
    ) {
        let mut driver = match self.drive_run(by, id.as_str(), watch).await {
            Ok(driver) => driver,
            // Somebody else was faster.
            Err(EngineError::RunBusy(_)) => return,
            Err(error) => return watch.failed(id, &error),
        };
        // Or was, before this one could look.
        let status = driver.view().run.state.status;
        if !matches!(status, RunStatus::Created | RunStatus::Running | RunStatus::Held) {
            return;
        }
        watch.goes_on(id);
        match driver.go(stop, watch).await {
            Ok(rest) => watch.rests(&driver.view().run, &rest),
            Err(error) => watch.failed(id, &error),
        }
    }
}
