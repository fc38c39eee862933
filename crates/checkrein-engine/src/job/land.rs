//! Merges a phase that was approved or passed, and hands the result of a job back.

use checkrein_core::run::job::{self, AgentOutcome, JobPhase};
use checkrein_core::run::{Command, Run, RunId, RunStatus};
use checkrein_forge::{ForgeError, MergeRequest, Merged, Oid, Publish, Published};

use super::conflict::{OtherSide, recorded};
use super::place::JobPlace;
use super::repository::{JobRepository, source};
use super::work::blocking;
use crate::{Engine, EngineError, now};

/// What merging needs to know.
pub(crate) struct Landing {
    id: RunId,
    definition: job::JobDefinition,
    phase: JobPhase,
    place: JobPlace,
    at: i64,
}

/// Shows the branches of a job that came to rest in the repository it started from.
pub(crate) async fn show(engine: &Engine, run: &Run) {
    let Some((definition, _)) = run.job() else { return };
    if definition.repository == job::Repository::Own {
        return;
    }
    let (run, place) = (run.clone(), JobPlace::of(&engine.store, &run.id));
    // A mirror that cannot be written is no harm.
    let _ = blocking(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((definition, state)) = run.job() else { return Ok(()) };
        let main = repository.names.main();
        if matches!(run.state.status, RunStatus::Completed | RunStatus::CompletedWithWarnings) {
            // The result is what is left to look at.
            repository.unmirror(definition, &main, &repository.main()?);
        } else {
            repository.mirror(definition, &main);
        }
        repository.mirror(definition, &repository.branch(&state.phase));
        Ok(())
    })
    .await;
}

/// What was done in the forge before.
#[derive(Debug, Default)]
pub(crate) struct Landed {
    /// Where the job's main branch is since the phase was merged; none if it was not, or had nothing to merge.
    pub merged: Option<Oid>,
    /// What became of the result there.
    pub published: Option<String>,
    pub notes: Vec<String>,
}

/// Merges a phase here, unless that was done, and tidies up. Doing it again finds it done.
pub(crate) async fn land_here(engine: &Engine, run: &Run, before: Landed) -> Result<Command, EngineError> {
    let Some((definition, state)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let landing = Landing {
        id: run.id.clone(),
        definition: definition.clone(),
        phase: state.phase.clone(),
        place: JobPlace::of(&engine.store, &run.id),
        at: now().as_second(),
    };
    let run = run.clone();
    blocking(move || landing.land(&run, before)).await
}

impl Landing {
    fn land(self, run: &Run, before: Landed) -> Result<Command, EngineError> {
        let repository = JobRepository::open(&self.id, &self.definition, &self.place, self.at)?;
        let work = self.phase.work.clone().unwrap_or_default();
        let (branch, head) = (repository.branch(&self.phase), Oid::parse(&work.head)?);
        let (complete, main_before) = (work.result.outcome == AgentOutcome::JobComplete, repository.main()?);
        let merged = match before.merged {
            Some(main) => Some(main),
            None => match repository.merge_phase(run, self.at)? {
                Ok(merged) => merged,
                Err(conflict) => return Ok(Command::Conflict(recorded(conflict, OtherSide::Main))),
            },
        };
        let changed = merged.is_some();
        let main = match merged {
            Some(main) => main,
            None => repository.main()?,
        };
        let mut landed =
            job::Landed { main: main.to_string(), changed, notes: before.notes, ..job::Landed::default() };
        if complete {
            landed.published = match (before.published, self.publish(&repository, &main, &head)?) {
                (None, Err(conflict)) => {
                    // The phase is merged once its result fits: until then it can be corrected like any other.
                    repository.bare.take_back_merge(&repository.names.main(), &main, &main_before)?;
                    return Ok(Command::Conflict(conflict));
                }
                // Its forge has it.
                (Some(there), Err(conflict)) => {
                    let (base, files) = (conflict.base.unwrap_or_default(), conflict.files.join(", "));
                    Some(format!("{there}; here, branch `{base}` does not fit it: conflict in {files}"))
                }
                (Some(there), Ok(Some(here))) if self.definition.repository != job::Repository::Own => {
                    Some(format!("{there}; here, {here}"))
                }
                (there, Ok(here)) => there.or(here),
            };
        }
        repository.bare.discard_clone(&self.place.clone())?;
        if complete {
            repository.bare.discard_rested(&self.place.clone())?;
        }
        if self.phase.review.is_some() {
            repository.unmirror(&self.definition, &branch, &head);
        }
        match repository.bare.delete_branch(&branch, &head) {
            Ok(None) => {}
            Ok(Some(kept)) => {
                landed.notes.push(format!("branch `{kept}` has work that was not merged; it was kept"));
            }
            Err(ForgeError::Moved { .. }) => {
                landed.notes.push(format!("branch `{branch}` has commits nobody approved; it was kept"));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Command::Land(landed))
    }

    /// The branch a job started from gets its result once, at the end, unless it changed the same lines meanwhile.
    fn publish(
        &self,
        repository: &JobRepository,
        head: &Oid,
        work: &Oid,
    ) -> Result<Result<Option<String>, job::Conflict>, EngineError> {
        // Its forge has it; the repository it started from is on another machine.
        if repository.copied && self.definition.repository != job::Repository::Own {
            return Ok(Ok(None));
        }
        let Some(source) = source(&self.definition)? else {
            let (branch, path) = (repository.names.main(), repository.bare.path().display());
            let told =
                format!("the result is on branch `{branch}` of {path}: get it with `git clone {path}`");
            return Ok(Ok(Some(told)));
        };
        let without = self.definition.repository.artefacts().trim_end_matches('/');
        let by = repository.engine.at(self.at);
        let published =
            repository.bare.publish(&Publish { source: &source, head, work, without, by: &by })?;
        Ok(Ok(Some(match published {
            Published::Nothing => "the job changed nothing outside its own files".to_owned(),
            Published::Moved { branch, to, .. } => format!("branch `{branch}` is at {to} now"),
            Published::Beside { branch, hint, .. } => format!("the result is on branch `{branch}`: {hint}"),
            Published::Conflict { branch, conflict } => {
                return Ok(Err(recorded(conflict, OtherSide::Base(branch))));
            }
        })))
    }
}

impl JobRepository {
    /// Merges the phase of a job into its main branch: where that is then, none where nothing changed.
    pub fn merge_phase(
        &self,
        run: &Run,
        at: i64,
    ) -> Result<Result<Option<Oid>, checkrein_forge::Conflict>, EngineError> {
        let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
        let head = Oid::parse(job.phase.work.as_ref().map(|work| work.head.as_str()).unwrap_or_default())?;
        let (main, by) = (self.main()?, self.engine.at(at));
        let message = self.message(definition, &job.phase, &head);
        let merged = self.bare.merge(&MergeRequest {
            how: definition.merge,
            head: &head,
            into: &self.names.main(),
            onto: &main,
            by: &by,
            message: &message,
        })?;
        Ok(match merged {
            Merged::Done(main) => Ok(Some(main)),
            Merged::Empty => Ok(None),
            Merged::Conflict(conflict) => Err(conflict),
        })
    }

    /// What the merge of a phase says.
    pub fn message(&self, definition: &job::JobDefinition, phase: &JobPhase, head: &Oid) -> String {
        let mut message = job::brief::merge_message(phase);
        let name = format!("archive/{}-retrospective.md", phase.name());
        let written = self.text(head, &definition.repository.artefact(&name));
        // The engine's own one says what is said above already.
        if let Some(text) = written.filter(|text| !text.starts_with("# Phase ")) {
            message.push_str(&format!("\n{}\n", text.trim()));
        }
        message
    }
}
