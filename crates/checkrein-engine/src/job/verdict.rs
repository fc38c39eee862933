//! A verdict on a review moves its run in the same step: what is approved was approved.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::{Checkpoint, CheckpointId, GivenVerdict, Refusal, Resolved, Verdict};
use checkrein_core::deliverable::Digest;
use checkrein_core::event::Event;
use checkrein_core::principal::Principal;
use checkrein_core::run::job::{AgentOutcome, Author, FileMark, ForgeNews, TodoList};
use checkrein_core::run::{Command, Run};
use checkrein_forge::Oid;
use checkrein_store::{Commit, StoredCheckpoint};

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::checkpoint::{Judged, Naming, VerdictRequest, expect_version};
use crate::{Engine, EngineError};

impl Engine {
    pub(crate) async fn judge_review(
        &self,
        by: &Principal,
        stored: StoredCheckpoint,
        request: &VerdictRequest,
    ) -> Result<Checkpoint, EngineError> {
        let id = stored.checkpoint.id.clone();
        let run = stored.checkpoint.run.clone().unwrap_or_default();
        let run = self.named_run(&run).await?;
        loop {
            let mut view = self.load_run(&run).await?;
            if view.checkpoint.as_deref() == Some(id.as_str()) {
                self.notice_push(&mut view).await?;
            }
            // What has timed out is put on record first: then the record refuses.
            self.time_out(id.as_str()).await?;
            let stored = self.checkpoint_row(id.as_str()).await?;
            expect_version(id.as_str(), request.version, stored.version)?;
            if request.naming == Naming::Always && request.judged.is_none() {
                return Err(EngineError::Unnamed(id));
            }
            let checkpoint = stored.checkpoint;
            let given = GivenVerdict {
                verdict: request.verdict,
                reason: request.reason.clone().filter(|reason| !reason.trim().is_empty()),
                by: by.name.clone(),
                digest: self.judged(&checkpoint, request).await?,
                at: self.now().max(checkpoint.created_at),
            };
            let next = match checkpoint.resolve(&given)? {
                Resolved::Now(next) => *next,
                // A second verdict is the first one again, but comments were not said yet.
                Resolved::Already if request.comments.is_empty() => return Ok(checkpoint),
                // Whoever died before they were answered sends it again.
                Resolved::Already
                    if request.comments.iter().all(|comment| {
                        comment.key.as_deref().is_some_and(|key| view.said(key).is_some())
                    }) =>
                {
                    return Ok(checkpoint);
                }
                Resolved::Already => return Err(EngineError::CommentsTooLate(id)),
            };
            if view.checkpoint.as_deref() != Some(id.as_str()) {
                return Err(EngineError::RunMoved);
            }
            let Some((_, job)) = view.run.job() else { return Err(EngineError::NotAReview(id.to_string())) };
            if request.verdict == Verdict::Approve {
                self.check_todos(&view.run, &id).await?;
            }
            let marked = job.marks.iter().filter(|(_, marked)| marked.mark == FileMark::ChangesRequested);
            let marked: Vec<String> = marked.map(|(file, _)| file.clone()).collect();
            if request.verdict == Verdict::Approve && !marked.is_empty() && !request.confirmed {
                return Err(EngineError::MarkedFiles { id: id.clone(), files: marked });
            }
            // Who approves in a forge sees the whole change there.
            if request.verdict == Verdict::Approve && !request.confirmed && request.heard.is_none() {
                let omissions = self.review_omissions(&view.run).await?;
                if !omissions.is_empty() {
                    return Err(EngineError::NotShown { id, omissions });
                }
            }
            if request.verdict == Verdict::Approve
                && let Some(met) = self.open_conflict(&view.run).await?
            {
                return Err(EngineError::OpenConflict { id, files: met.files, base: met.base });
            }
            self.check_comments(&view, &request.comments).await?;
            let hold = view.run.state.hold.as_ref().map_or(0, |hold| hold.number);
            let (said, author) = (request.comments.iter().cloned(), Author::Person);
            let mut commands: Vec<Command> =
                said.map(|comment| Command::Comment { comment, by: by.name.clone(), author }).collect();
            // Right before the verdict: by that it is known where it was given.
            commands.extend(request.heard.clone().map(|id| Command::Forge(ForgeNews::Heard { id })));
            commands.push(Command::Answer {
                hold,
                verdict: request.verdict,
                by: by.name.clone(),
                reason: given.reason.clone(),
                start_over: request.start_over,
            });
            let at = next.resolved_at.unwrap_or_else(|| self.now());
            let events = vec![Event::resolved_by(&next, by)];
            let commit =
                Commit { expected: stored.version, checkpoint: next.clone(), events, at, content: None };
            match self.apply_all(&mut view, commands, Some(commit)).await {
                Ok(_) => return Ok(next),
                Err(EngineError::RunMoved) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What is approved is done: a plan whose todos cannot be read is not merged.
    async fn check_todos(&self, run: &Run, id: &CheckpointId) -> Result<(), EngineError> {
        let (run, place) = (run.clone(), JobPlace::of(&self.store, &run.id));
        let checked = blocking(move || {
            let Some((definition, job)) = run.job() else { return Ok(Ok(())) };
            let Some(work) = &job.phase.work else { return Ok(Ok(())) };
            if job.phase.kind() != PhaseKind::Strategic || work.result.outcome != AgentOutcome::PhaseDone {
                return Ok(Ok(()));
            }
            let repository = JobRepository::look(&run, &place)?;
            let path = definition.repository.artefact("todos.yaml");
            let text = repository.text(&Oid::parse(&work.head)?, &path);
            Ok(TodoList::read_approved(text.as_deref()).map(drop))
        });
        checked.await?.map_err(|problem| EngineError::BadTodos { id: id.clone(), problem })
    }

    /// What a verdict names: the digest, or the commit the review is of.
    async fn judged(
        &self,
        checkpoint: &Checkpoint,
        request: &VerdictRequest,
    ) -> Result<Option<Digest>, EngineError> {
        match &request.judged {
            None => Ok(None),
            Some(Judged::Digest(digest)) => Ok(Some(*digest)),
            Some(Judged::Commit(commit)) => {
                let content = self.store.content(&checkpoint.digest).await?;
                let asked: serde_json::Value = content
                    .and_then(|content| serde_json::from_slice(&content.bytes).ok())
                    .unwrap_or_default();
                let head = asked.get("head").and_then(serde_json::Value::as_str).unwrap_or_default();
                if head == commit {
                    Ok(Some(checkpoint.digest))
                } else {
                    let (id, actual) = (checkpoint.id.clone(), checkpoint.digest);
                    Err(Refusal::Stale { id, actual, judged: Digest::of(commit.as_bytes()) }.into())
                }
            }
        }
    }
}
