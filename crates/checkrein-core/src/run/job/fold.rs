//! What each event changes about a job.

use jiff::Timestamp;

use super::super::{Interruption, PhaseState, PhaseStatus, RunEvent, RunStatus, State};
use super::{
    AgentOutcome, Comment, FileMark, JobPhase, JobState, MarkedFile, Rework, Spent, Stage, UnfinishedAttempt,
    UnfinishedBecause, Untold, Work, feedback_todos, kind, under_way,
};
use crate::boundary::PhaseKind;
use crate::run::RETRIER;

pub(in crate::run) fn fold(state: &mut State, event: &RunEvent, now: Timestamp) {
    if let RunEvent::AttemptStarted { attempt, start, .. } = event {
        state.under_way = Some(under_way(state, *attempt, *start));
    }
    if let RunEvent::PhaseStarted { .. } = event {
        let status = PhaseStatus::Success;
        state.phases.push(PhaseState { attempts: vec![0], status, ..PhaseState::default() });
    }
    if let RunEvent::PhaseEnded { status, .. } = event
        && let Some(row) = state.phases.last_mut()
    {
        row.status = *status;
    }
    let starts = state.starts;
    let Some(job) = state.job.as_deref_mut() else { return };
    match event {
        RunEvent::PhaseStarted { .. } => job.next_phase(),
        RunEvent::AttemptStarted { start, .. } => {
            let waiting = job.comments.iter_mut().filter(|comment| comment.waits());
            waiting.for_each(|comment| comment.given = Some(*start));
        }
        RunEvent::PhaseWorked(work) => job.worked(work, starts, now),
        RunEvent::PhaseRepeated { .. } => job.phase.repeated = true,
        RunEvent::PhasePassed { review, .. } => {
            job.phase.stage = Stage::Land;
            if let Some(review) = review {
                state.holds = state.holds.max(*review);
            }
        }
        RunEvent::RunHeld { hold, .. } => job.phase.review = Some(*hold),
        RunEvent::HoldReleased { .. } => {
            job.spent = Spent::default();
            job.approved_phase = job.phase.number;
            let cut = job.phase.work.as_mut().and_then(|work| work.cut.take());
            if cut.is_some() {
                // Its work goes on where it was ended; what it comes to is another review.
                job.phase.review = None;
            } else {
                job.phase.stage = Stage::Land;
            }
        }
        RunEvent::AttemptSpent { used, .. } => job.spend(*used),
        RunEvent::AttemptInterrupted { why, .. } => {
            let because = match why {
                Interruption::Lost => UnfinishedBecause::Lost,
                Interruption::Paused | Interruption::Cancelled => UnfinishedBecause::Paused,
            };
            job.phase.leave_unfinished(because, None);
        }
        RunEvent::ChangesRequested { by, reason, start_over, .. } => {
            state.status = RunStatus::Running;
            state.hold = None;
            job.spent = Spent::default();
            job.change(by, reason.as_deref(), *start_over);
        }
        RunEvent::ReviewMoved { head, files, files_total, next_todos, conflict, lapsed, .. } => {
            job.lapse(lapsed);
            if let (Some(todos), Some(work)) = (next_todos, &mut job.phase.work) {
                work.result.next_todos.clone_from(todos);
                job.staged.clone_from(todos);
            }
            if let Some(work) = &mut job.phase.work {
                work.pushed = true;
                work.head.clone_from(head);
                let (of, total) = match &mut work.whole {
                    Some(whole) => (&mut whole.files, &mut whole.files_total),
                    None => (&mut work.files, &mut work.files_total),
                };
                of.clone_from(files);
                *total = *files_total;
                work.conflict.clone_from(conflict);
            }
        }
        RunEvent::LandingConflicted { conflict, .. } => {
            job.phase.round = job.phase.round.saturating_add(1);
            if let Some(work) = &mut job.phase.work {
                work.conflict = Some(conflict.clone());
            }
        }
        RunEvent::PhaseEnded { .. } => {
            job.comments.retain(Comment::waits);
            job.marks.clear();
            job.lapsed.clear();
            job.pulls.retain(|pull| pull.settled.is_none());
            job.heard.clear();
        }
        RunEvent::RunResumed { by } => {
            job.phase.repeated = false;
            // A person who resumes it begins the waits anew.
            if by != RETRIER {
                job.phase.outages = 0;
            }
        }
        RunEvent::RunEnded { status: RunStatus::Failed, rule: Some(_), unfinished: None, .. } => {
            job.phase.stage = Stage::Done;
        }
        RunEvent::RunEnded { status: RunStatus::Failed, rule, reason, unfinished: Some(_) } => {
            let because = match rule {
                Some(_) => UnfinishedBecause::Stopped,
                None => UnfinishedBecause::Failed,
            };
            job.phase.leave_unfinished(because, reason.clone());
        }
        RunEvent::PolicyChanged { policy, .. } => job.policy = Some(policy.clone()),
        RunEvent::Commented(comment) => {
            job.commented = job.commented.saturating_add(1);
            job.comments.push(Comment::clone(comment));
        }
        RunEvent::ThreadResolved { comment, resolved, by } => {
            let settled = resolved.then(|| by.clone());
            job.comments.iter_mut().filter(|own| own.id == *comment).for_each(|own| {
                own.resolved_by.clone_from(&settled);
            });
        }
        RunEvent::Forge(news) => job.learn(news),
        RunEvent::FileMarked { file, mark, content, .. } => {
            job.lapsed.retain(|lapsed| lapsed != file);
            match mark {
                Some(mark) => {
                    let marked = MarkedFile { mark: *mark, content: content.clone() };
                    drop(job.marks.insert(file.clone(), marked));
                }
                None => drop(job.marks.shift_remove(file)),
            }
        }
        _ => {}
    }
}

impl Comment {
    /// Whether the agent has still to be given it. What is settled before it was, it need not hear.
    pub fn waits(&self) -> bool {
        !self.delivered && !self.from_agent && self.resolved_by.is_none()
    }
}

impl JobPhase {
    /// Remembers an attempt without a result for the brief of the next one.
    fn leave_unfinished(&mut self, because: UnfinishedBecause, reason: Option<String>) {
        let before = self.unfinished.take();
        let since = match before {
            Some(before) => before.since,
            None => self.work.as_ref().map(|work| work.left.clone()),
        };
        let reason = reason.filter(|text| !text.trim().is_empty());
        self.unfinished = Some(UnfinishedAttempt { because, reason, since });
    }
}

impl JobState {
    fn next_phase(&mut self) {
        let number = self.phase.number.saturating_add(1);
        if let Some(work) = self.phase.work.as_ref().filter(|work| work.left != work.head) {
            self.untold = Some(Untold { left: work.left.clone(), head: work.head.clone() });
        }
        if self.phase.kind() == PhaseKind::Tactical {
            self.undone = self.phase.todos.iter().filter(|todo| !todo.done).cloned().collect();
        }
        let todos = match kind(number) {
            PhaseKind::Tactical => {
                self.replan = None;
                std::mem::take(&mut self.staged)
            }
            PhaseKind::Strategic => Vec::new(),
        };
        self.phase = JobPhase { number, todos, ..JobState::new().phase };
    }

    fn spend(&mut self, used: Spent) {
        self.spent.add(used);
        self.spent_total.add(used);
    }

    fn worked(&mut self, work: &Work, start: u64, now: Timestamp) {
        let result = &work.result;
        self.spend(result.usage);
        for reply in &result.replies {
            let Some(above) = self.comments.iter().find(|comment| comment.id == reply.id) else { continue };
            self.commented = self.commented.saturating_add(1);
            let answer = Comment {
                id: format!("c{}", self.commented),
                text: reply.text.clone(),
                tag: None,
                by: "agent".to_owned(),
                from_agent: true,
                reply_to: Some(reply.id.clone()),
                round: self.phase.round,
                written_at: now,
                delivered: true,
                resolved_by: None,
                origin: None,
                ..above.clone()
            };
            self.comments.push(answer);
        }
        for comment in self.comments.iter_mut().filter(|comment| work.heard.contains(&comment.id)) {
            comment.delivered = true;
        }
        let because = match result.outcome {
            AgentOutcome::PhaseDone | AgentOutcome::JobComplete => None,
            AgentOutcome::Blocked if work.cut.is_some() => Some(UnfinishedBecause::Budget),
            AgentOutcome::Blocked => Some(UnfinishedBecause::Blocked),
            AgentOutcome::Failed => Some(UnfinishedBecause::Failed),
        };
        match because {
            Some(because) => {
                self.phase.leave_unfinished(because, Some(result.summary.clone()));
            }
            None => self.phase.unfinished = None,
        }
        self.phase.outages = if work.outage { self.phase.outages.saturating_add(1) } else { 0 };
        self.lapse(&work.lapsed);
        self.phase.work = Some(Box::new(work.clone()));
        if because.is_some() {
            return;
        }
        self.untold = None;
        for comment in self.comments.iter_mut().filter(|comment| comment.given == Some(start)) {
            comment.delivered = true;
        }
        self.lapse(&work.changed_in_round);
        match (self.phase.stage, self.phase.kind()) {
            (Stage::Feedback, _) if !result.next_todos.is_empty() => {
                self.phase.stage = Stage::Work;
                self.phase.todos.clone_from(&result.next_todos);
            }
            (Stage::Work, PhaseKind::Strategic) => self.staged.clone_from(&result.next_todos),
            (Stage::Work, PhaseKind::Tactical) => {
                self.phase.todos = self.phase.todos_after(result);
                self.replan.clone_from(&result.replan);
            }
            _ => {}
        }
    }

    /// Ends the approval of files that changed: nobody has looked at what they are now. A request for changes
    /// stands until a person takes it back.
    fn lapse(&mut self, files: &[String]) {
        for file in files {
            if self.marks.get(file).is_some_and(|marked| marked.mark == FileMark::Approved) {
                self.marks.shift_remove(file);
                self.lapsed.push(file.clone());
            }
        }
    }

    fn change(&mut self, by: &str, reason: Option<&str>, start_over: bool) {
        let marked = self.marks.iter().filter(|(_, marked)| marked.mark == FileMark::ChangesRequested);
        let files = marked.map(|(file, _)| file.clone()).collect();
        let of = self.phase.review_of();
        let phase = &mut self.phase;
        phase.rework = Some(Rework {
            of,
            by: by.to_owned(),
            reason: reason.map(str::to_owned),
            head: phase.work.as_ref().map(|work| work.head.clone()).unwrap_or_default(),
            files,
        });
        self.marks.retain(|_, marked| marked.mark == FileMark::Approved);
        phase.repeated = false;
        phase.todos = feedback_todos();
        // Corrections of work are planned first; a plan is corrected by planning (X9).
        phase.stage = match phase.kind() {
            PhaseKind::Tactical => Stage::Feedback,
            PhaseKind::Strategic => Stage::Work,
        };
        if start_over {
            phase.revision = phase.revision.saturating_add(1);
            phase.review = None;
            phase.work = None;
            phase.unfinished = None;
            self.staged.clear();
        }
        // Rounds count on for the phase, also on a new branch.
        phase.round = phase.round.saturating_add(1);
    }
}
