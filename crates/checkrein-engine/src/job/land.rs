//! Merges a phase that was approved or passed, and hands the result of a job back.

use checkrein_core::run::job::{self, AgentOutcome, JobPhase, Landed};
use checkrein_core::run::{Command, Run, RunId, RunStatus};
use checkrein_forge::{ForgeError, MergeRequest, Merged, Oid, Publish, Published};

use super::place::JobPlace;
use super::repository::{JobRepository, source};
use super::work::{blocking, told};
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

/// Doing it again finds it done.
pub(crate) async fn land(engine: &Engine, run: &Run) -> Result<Command, EngineError> {
    let Some((definition, state)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let landing = Landing {
        id: run.id.clone(),
        definition: definition.clone(),
        phase: state.phase.clone(),
        place: JobPlace::of(&engine.store, &run.id),
        at: now().as_second(),
    };
    blocking(move || landing.land()).await
}

impl Landing {
    fn land(self) -> Result<Command, EngineError> {
        let repository = JobRepository::open(&self.id, &self.definition, &self.place, self.at)?;
        let work = self.phase.work.clone().unwrap_or_default();
        let (branch, head) = (repository.branch(&self.phase), Oid::parse(&work.head)?);
        let main = repository.main()?;
        let by = repository.engine.at(self.at);
        let message = self.message(&repository, &head);
        let merged = repository.bare.merge(&MergeRequest {
            how: self.definition.merge,
            head: &head,
            into: &repository.names.main(),
            onto: &main,
            by: &by,
            message: &message,
        })?;
        let (main, changed) = match merged {
            Merged::Done(main) => (main, true),
            Merged::Empty => (main, false),
            Merged::Conflict(conflict) => {
                return Ok(Command::Conflict(told(conflict, None)));
            }
        };
        let mut landed = Landed { main: main.to_string(), changed, ..Landed::default() };
        repository.bare.discard_clone(&self.place.clone())?;
        if work.result.outcome == AgentOutcome::JobComplete {
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
        if work.result.outcome == AgentOutcome::JobComplete {
            landed.published = self.publish(&repository, &main)?;
        }
        Ok(Command::Land(landed))
    }

    fn message(&self, repository: &JobRepository, head: &Oid) -> String {
        let mut message = job::brief::merge_message(&self.phase);
        let name = format!("archive/{}-retrospective.md", self.phase.name());
        let written = repository.text(head, &self.definition.repository.artefact(&name));
        // The engine's own one says what is said above already.
        if let Some(text) = written.filter(|text| !text.starts_with("# Phase ")) {
            message.push_str(&format!("\n{}\n", text.trim()));
        }
        message
    }

    /// The branch a job started from gets its result once, at the end.
    fn publish(&self, repository: &JobRepository, head: &Oid) -> Result<Option<String>, EngineError> {
        let Some(source) = source(&self.definition)? else {
            let (branch, path) = (repository.names.main(), repository.bare.path().display());
            let told =
                format!("the result is on branch `{branch}` of {path}: get it with `git clone {path}`");
            return Ok(Some(told));
        };
        let without = self.definition.repository.artefacts().trim_end_matches('/');
        let by = repository.engine.at(self.at);
        let published = repository.bare.publish(&Publish { source: &source, head, without, by: &by })?;
        Ok(Some(match published {
            Published::Nothing => "the job changed nothing outside its own files".to_owned(),
            Published::Moved { branch, to, .. } => format!("branch `{branch}` is at {to} now"),
            Published::Beside { branch, hint, .. } => format!("the result is on branch `{branch}`: {hint}"),
            Published::Conflict { branch, conflict, hint, .. } => {
                let files: Vec<String> = conflict.files.iter().map(|file| file.path.to_string()).collect();
                format!("the result is on branch `{branch}`, with a conflict in {}: {hint}", files.join(", "))
            }
        }))
    }
}
