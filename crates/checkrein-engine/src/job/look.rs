//! A job as it stands: its run, its branches and its plan.

use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_core::run::job::Datasource;
use checkrein_forge::Oid;

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::authority::{Act, require};
use crate::run::RunView;
use crate::{Engine, EngineError};

#[derive(Clone, Debug)]
pub struct JobView {
    pub view: RunView,
    /// Names and commits; none before it has begun.
    pub branches: Vec<(String, Oid)>,
    /// As it is on the branch of the phase, else on the job's main branch.
    pub plan: Option<String>,
}

impl Engine {
    pub async fn job(&self, by: &Principal, id: &str) -> Result<JobView, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, id).await?).await?;
        self.at_hand(&view.run).await?;
        let run = view.run.clone();
        let place = JobPlace::of(&self.store, &run.id);
        let looked = move || {
            let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
            let repository = match JobRepository::look(&run, &place) {
                Ok(repository) => repository,
                // It is there once the job has begun, where its files are.
                Err(EngineError::NoRepository(_) | EngineError::NoJobFiles { .. }) => {
                    return Ok((Vec::new(), definition.plan.clone()));
                }
                Err(error) => return Err(error),
            };
            let branches = repository.bare.branches()?;
            let at = |name: String| branches.iter().find(|(known, _)| *known == name).map(|(_, oid)| oid);
            let own = at(repository.branch(&job.phase).to_string());
            let plan = definition.repository.artefact("plan.md");
            let plan = own
                .or_else(|| at(repository.names.main().to_string()))
                .and_then(|commit| repository.text(commit, &plan))
                .or_else(|| definition.plan.clone());
            Ok((branches, plan))
        };
        let (branches, plan) = blocking(looked).await?;
        Ok(JobView { view, branches, plan })
    }

    /// What must not be seen of the addresses a job was given.
    pub(crate) fn job_secrets(&self, id: &RunId) -> Vec<String> {
        let addresses = JobPlace::of(&self.store, id).addresses_kept();
        addresses.iter().flat_map(|(_, address)| Datasource::secrets(address)).collect()
    }
}
