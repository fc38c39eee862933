//! Goes on with a run that was stopped.

use checkrein_core::principal::Principal;
use checkrein_core::run::{Run, RunEvent};
use checkrein_store::{Reach, Version};
use jiff::Timestamp;

use super::{Driver, RunView, Watch};
use crate::authority::{Act, require};
use crate::checkpoint::expect_version;
use crate::{Engine, EngineError};

/// Nobody watches.
struct Unwatched;

impl Watch for Unwatched {
    fn event(&mut self, _: &Run, _: u64, _: Timestamp, _: &RunEvent) {}
    fn warn(&mut self, _: String) {}
}

impl Engine {
    /// Goes on with a run that was paused or failed, as far as recording it; a worker does the work.
    pub async fn resume_run(
        &self,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        require(by, Act::ManageRuns)?;
        let id = self.seen_run(by, id).await?;
        // Whoever records it need not be where its files are.
        let lease = self.take_run(&id, Reach::Anywhere).await?;
        let mut driver = self.drive_held(by, lease, &mut Unwatched).await?;
        driver.view().expect_version(expected)?;
        driver.resume(&mut Unwatched).await?;
        Ok(driver.view().clone())
    }

    /// The same for whoever drives it right away.
    pub async fn take_up_run<'e>(
        &'e self,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
        watch: &mut dyn Watch,
    ) -> Result<Driver<'e>, EngineError> {
        require(by, Act::ManageRuns)?;
        let mut driver = self.drive_run(by, id, watch).await?;
        driver.view().expect_version(expected)?;
        driver.resume(watch).await?;
        Ok(driver)
    }
}

impl RunView {
    pub(crate) fn expect_version(&self, expected: Option<Version>) -> Result<(), EngineError> {
        expect_version(self.run.id.as_str(), expected, Version(self.run.state.version))
    }
}
