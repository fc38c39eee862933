//! What the branch of a phase does not fit, and whether it still does not.

use checkrein_core::run::Run;
use checkrein_core::run::job::Conflict;
use checkrein_forge::{Branch, ForgeError, Oid};

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::{Engine, EngineError};

/// What a branch is to be merged with and does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OtherSide {
    /// The job's main branch.
    Main,
    /// Work that is kept on this branch beside it.
    Kept(String),
    /// The branch of this name that the job started from.
    Base(String),
}

/// A conflict as it is recorded.
pub(crate) fn recorded(found: checkrein_forge::Conflict, with: OtherSide) -> Conflict {
    let files = found.files.iter().map(|file| file.path.to_string()).collect();
    let (kept_on, base) = match with {
        OtherSide::Main => (None, None),
        OtherSide::Kept(branch) => (Some(branch), None),
        OtherSide::Base(name) => (None, Some(name)),
    };
    Conflict { files, messages: found.messages, kept_on, base }
}

impl JobRepository {
    /// The commit a branch does not fit, by what was recorded of it.
    pub fn other_side(&self, branch: &Branch, met: &Conflict) -> Result<(Oid, OtherSide), ForgeError> {
        if let Some(kept_on) = &met.kept_on
            && let Some(work) = self.bare.unmerged_work(branch)?
        {
            return Ok((work, OtherSide::Kept(kept_on.clone())));
        }
        if let Some(name) = &met.base
            && let Some(base) = self.bare.head(&self.names.base())?
        {
            return Ok((base, OtherSide::Base(name.clone())));
        }
        Ok((self.main()?, OtherSide::Main))
    }

    /// A conflict that was recorded, as far as it is still there.
    pub fn still_met(
        &self,
        run: &Run,
        branch: &Branch,
        met: &Conflict,
        head: &Oid,
    ) -> Result<Option<Conflict>, ForgeError> {
        if let (Some(name), Some((definition, _))) = (&met.base, run.job())
            && definition.forge.is_none()
            && let Some(source) = self.source(definition)
        {
            let found = self.bare.conflict_with_base(&source, head)?;
            return Ok(found.map(|found| recorded(found, OtherSide::Base(name.clone()))));
        }
        let (other, with) = self.other_side(branch, met)?;
        Ok(self.bare.conflict_between(head, &other)?.map(|found| recorded(found, with)))
    }
}

impl Engine {
    /// What keeps a phase from being merged although it is approved. Work that is kept beside its branch stays where it is,
    /// and whether a branch in a forge fits is seen when it is merged there.
    pub(super) async fn open_conflict(&self, run: &Run) -> Result<Option<Conflict>, EngineError> {
        let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
        let met = job.phase.work.as_ref().and_then(|work| Some((work.conflict.clone()?, work.head.clone())));
        let Some((met, head)) = met.filter(|(met, _)| met.kept_on.is_none()) else { return Ok(None) };
        match &met.base {
            None => Ok(Some(met)),
            Some(_) if definition.forge.is_some() => Ok(None),
            Some(_) => {
                let (run, place) = (run.clone(), JobPlace::of(&self.store, &run.id));
                let branch = job.phase.clone();
                blocking(move || {
                    let repository = JobRepository::look(&run, &place)?;
                    let branch = repository.branch(&branch);
                    Ok(repository.still_met(&run, &branch, &met, &Oid::parse(&head)?)?)
                })
                .await
            }
        }
    }
}
