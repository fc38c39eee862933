//! The branches of a job, for people who clone and push from elsewhere.

use checkrein_core::principal::Principal;
use checkrein_core::run::job::Stage;
use checkrein_core::run::{Run, RunId, RunStatus};
use checkrein_forge::{Bare, Branch, Service};

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// What somebody wants of a job's branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchesWanted {
    Fetch,
    Push,
}

impl BranchesWanted {
    pub const fn act(self) -> Act {
        match self {
            BranchesWanted::Fetch => Act::FetchBranches,
            BranchesWanted::Push => Act::PushToBranches,
        }
    }
}

impl Engine {
    /// The repository of a job and what may be done there: every branch is fetched, and the one of the phase
    /// is pushed to until it is merged. The id is given in full, so that an address means one job for ever.
    pub async fn job_branches(
        &self,
        by: &Principal,
        id: &str,
        wanted: BranchesWanted,
    ) -> Result<(RunId, Bare, Service), EngineError> {
        require(by, wanted.act())?;
        let run = self.seen_run(by, id).await?;
        if run.as_str() != id {
            return Err(EngineError::NoRun(id.to_owned()));
        }
        let run = self.load_run(&run).await?.run;
        self.at_hand(&run).await?;
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let service = match wanted {
                BranchesWanted::Fetch => Service::Fetch,
                BranchesWanted::Push => {
                    let open = open_branch(&run, &repository)?;
                    Service::Push { onto: open.ok_or_else(|| EngineError::NoOpenBranch(run.id.clone()))? }
                }
            };
            Ok((run.id, repository.bare, service))
        })
        .await
    }

    /// Somebody pushed to a branch of this job: a review that is open is of that from now on (X10).
    pub async fn branch_pushed(&self, id: &RunId) -> Result<bool, EngineError> {
        let mut view = self.load_run(id).await?;
        self.notice_push(&mut view).await
    }
}

/// The branch people work on with the agent. What is approved and to be merged is open no more.
fn open_branch(run: &Run, repository: &JobRepository) -> Result<Option<Branch>, EngineError> {
    let over = matches!(
        run.state.status,
        RunStatus::Completed | RunStatus::CompletedWithWarnings | RunStatus::Cancelled
    );
    let Some((_, job)) = run.job().filter(|(_, job)| !over && job.phase.stage != Stage::Land) else {
        return Ok(None);
    };
    let branch = repository.branch(&job.phase);
    Ok(repository.bare.head(&branch)?.map(|_| branch))
}
