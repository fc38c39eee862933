//! What each event changes about a job.

use jiff::Timestamp;

use super::super::{PhaseState, PhaseStatus, RunEvent, RunStatus, State};
use super::{
    AgentOutcome, Comment, FileMark, JobPhase, JobState, Rework, Spent, Stage, Untold, Work, feedback_todos,
    kind, under_way,
};
use crate::boundary::PhaseKind;

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
            let cut = job.phase.work.as_mut().and_then(|work| work.cut.take());
            if cut.is_some() {
                // Its work goes on where it was ended; what it comes to is another review.
                job.phase.review = None;
            } else {
                job.phase.stage = Stage::Land;
            }
        }
        RunEvent::AttemptSpent { used, .. } => job.spent.add(*used),
        RunEvent::ChangesRequested { by, reason, start_over, .. } => {
            state.status = RunStatus::Running;
            state.hold = None;
            job.spent = Spent::default();
            job.change(by, reason.as_deref(), *start_over);
        }
        RunEvent::ReviewMoved { head, files, files_total, next_todos, conflict, .. } => {
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
            job.pulls.retain(|pull| pull.settled.is_none());
            job.heard.clear();
        }
        RunEvent::RunResumed { .. } => job.phase.repeated = false,
        RunEvent::RunEnded { status: RunStatus::Failed, rule: Some(_), unfinished: None, .. } => {
            job.phase.stage = Stage::Done;
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
        RunEvent::FileMarked { file, mark, .. } => match mark {
            Some(mark) => drop(job.marks.insert(file.clone(), *mark)),
            None => drop(job.marks.shift_remove(file)),
        },
        _ => {}
    }
}

impl Comment {
    /// Whether the agent has still to be given it. What is settled before it was, it need not hear.
    pub fn waits(&self) -> bool {
        !self.delivered && !self.from_agent && self.resolved_by.is_none()
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

    fn worked(&mut self, work: &Work, start: u64, now: Timestamp) {
        let result = &work.result;
        self.spent.add(result.usage);
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
        self.phase.work = Some(Box::new(work.clone()));
        if !matches!(result.outcome, AgentOutcome::PhaseDone | AgentOutcome::JobComplete) {
            return;
        }
        self.untold = None;
        for comment in self.comments.iter_mut().filter(|comment| comment.given == Some(start)) {
            comment.delivered = true;
        }
        // Nobody has looked at what changed since.
        self.marks.retain(|file, _| !work.changed_in_round.contains(file));
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

    fn change(&mut self, by: &str, reason: Option<&str>, start_over: bool) {
        let marked = self.marks.iter().filter(|(_, mark)| **mark == FileMark::ChangesRequested);
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
        self.marks.retain(|_, mark| *mark == FileMark::Approved);
        phase.repeated = false;
        phase.todos = feedback_todos();
        // Corrections of work are planned first; a plan is corrected by planning (X9).
        phase.stage = match phase.kind() {
            PhaseKind::Tactical => Stage::Feedback,
            PhaseKind::Strategic => Stage::Work,
        };
        if start_over {
            phase.revision = phase.revision.saturating_add(1);
            phase.round = 1;
            phase.review = None;
            phase.work = None;
            self.staged.clear();
        } else {
            phase.round = phase.round.saturating_add(1);
        }
    }
}
