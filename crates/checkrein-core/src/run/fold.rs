//! What each event changes. The only place where a run's state is written.

use jiff::Timestamp;

use super::{CheckIn, Hold, PhaseStatus, Place, RETRIER, Run, RunEvent, RunStatus, Stopped, UnderWay, job};
use crate::decision::StepOrHook;
use crate::run::Boundary;
use crate::tally::Tally;

impl Run {
    pub fn fold(&mut self, event: &RunEvent, now: Timestamp) {
        if self.state.job.is_some() {
            job::fold(&mut self.state, event, now);
        }
        let plan = &self.definition.plan;
        let phase_of = |name: &str| plan.phase(name).map(|(index, _)| index);
        let state = &mut self.state;
        state.version = state.version.saturating_add(1);
        match event {
            RunEvent::RunCreated { .. } => state.created_at = now,
            RunEvent::RunStarted => {
                state.status = RunStatus::Running;
                state.started_at = Some(now);
            }
            RunEvent::PhaseSkipped { phase, status } => {
                let Some(index) = phase_of(phase) else { return };
                state.place = Place::Entry { phase: index + 1 };
                if let Some(phase) = state.phases.get_mut(index) {
                    phase.status = *status;
                }
            }
            RunEvent::PhaseStarted { phase } => {
                let Some(index) = phase_of(phase) else { return };
                state.place = Place::Task { phase: index, task: 0 };
                if let Some(phase) = state.phases.get_mut(index) {
                    phase.steps_done = 0;
                    phase.status = if phase.found() { PhaseStatus::Warning } else { PhaseStatus::Success };
                }
            }
            RunEvent::AttemptStarted { attempt, start, .. } => {
                state.status = RunStatus::Running;
                state.starts = *start;
                if let Place::Task { phase, task } = state.place
                    && state.job.is_none()
                {
                    state.under_way = Some(UnderWay { phase, task, attempt: *attempt, start: *start });
                }
            }
            RunEvent::AttemptFinished(attempt) => {
                let Some(under_way) = state.under_way.clone() else { return };
                let phase = state.phases.get_mut(under_way.phase);
                if let Some(phase) = phase {
                    if let Some(count) = phase.attempts.get_mut(under_way.task) {
                        *count = count.saturating_add(1);
                    }
                    if attempt.judged {
                        let response = &attempt.response;
                        phase.warnings = phase.warnings.saturating_add(response.warnings.len() as u64);
                        phase.errors = phase.errors.saturating_add(response.errors.len() as u64);
                        phase.steps_done += u32::from(attempt.kind == StepOrHook::Step);
                        if phase.found() {
                            phase.status = PhaseStatus::Warning;
                        }
                    }
                }
                if attempt.judged {
                    state.outages = 0;
                    state.tally.add(&attempt.response);
                    state.since_check_in.add(&attempt.response);
                    if state.job.is_none() {
                        state.place = Place::Task { phase: under_way.phase, task: under_way.task + 1 };
                    }
                    state.under_way = None;
                }
            }
            RunEvent::AttemptInterrupted { .. } => state.under_way = None,
            RunEvent::Decided(decided) => {
                let reached = &decided.limits_reached;
                let limits = &mut state.limits_reached;
                limits.max_total_warnings = reached.max_total_warnings.or(limits.max_total_warnings);
                limits.max_total_errors = reached.max_total_errors.or(limits.max_total_errors);
            }
            RunEvent::CheckedIn { boundary, .. } => {
                state.since_check_in = Tally::default();
                let (phase, task) = (boundary.phase.clone(), boundary.task.clone());
                state.last_check_in = Some(CheckIn { seq: state.version, at: now, phase, task });
                if boundary.at == Boundary::Complete {
                    state.place = Place::Done;
                }
            }
            RunEvent::RunHeld { hold, kind, boundary, round, reason, check_in } => {
                let then = match (boundary.at, &state.hold) {
                    (_, Some(asked)) => asked.then,
                    (Boundary::PhaseEntry, None) => match state.place {
                        Place::Entry { phase } => Place::Open { phase },
                        place => place,
                    },
                    (Boundary::Complete, None) => Place::Done,
                    (_, None) => state.place,
                };
                state.status = RunStatus::Held;
                state.holds = state.holds.max(*hold);
                state.hold = Some(Hold {
                    number: *hold,
                    kind: *kind,
                    boundary: boundary.clone(),
                    round: *round,
                    reason: reason.clone(),
                    check_in: *check_in,
                    then,
                    rejected: false,
                });
            }
            RunEvent::HoldReleased { .. } => {
                state.status = RunStatus::Running;
                if let Some(hold) = state.hold.take() {
                    state.place = hold.then;
                    if hold.check_in {
                        state.since_check_in = Tally::default();
                        let (phase, task) = (hold.boundary.phase, hold.boundary.task);
                        state.last_check_in = Some(CheckIn { seq: state.version, at: now, phase, task });
                    }
                }
            }
            RunEvent::HoldRejected { .. } => {
                if let Some(hold) = &mut state.hold {
                    hold.rejected = true;
                }
            }
            RunEvent::LoopedBack { from, task, to, retry, because } => {
                state.retries = *retry;
                state.failure = Some(because.clone());
                if let Some((index, phase)) = plan.phase(from)
                    && let Some(row) = state.phases.get_mut(index)
                {
                    let failed = phase.tasks.iter().find(|known| known.id == *task);
                    row.undo(failed.map(|task| task.kind));
                }
                if let Some(phase) = phase_of(to) {
                    state.place = Place::Entry { phase };
                }
            }
            RunEvent::PhaseEnded { phase, status } => {
                let Some(index) = phase_of(phase) else { return };
                state.place = Place::Entry { phase: index + 1 };
                if let Some(phase) = state.phases.get_mut(index) {
                    phase.status = *status;
                }
            }
            // What is about jobs alone was folded above.
            RunEvent::RemedyChosen(_)
            | RunEvent::AttemptSpent { .. }
            | RunEvent::PhaseWorked(_)
            | RunEvent::PhaseRepeated { .. }
            | RunEvent::PhasePassed { .. }
            | RunEvent::ChangesRequested { .. }
            | RunEvent::ReviewMoved { .. }
            | RunEvent::LandingConflicted { .. }
            | RunEvent::PhaseLanded { .. }
            | RunEvent::PolicyChanged { .. }
            | RunEvent::Commented(_)
            | RunEvent::FileMarked { .. }
            | RunEvent::ThreadResolved { .. }
            | RunEvent::Forge(_) => {}
            RunEvent::RunPaused { retry_at, .. } => {
                state.status = RunStatus::Paused;
                state.ended_at = Some(now);
                state.retry_at = *retry_at;
                if state.job.is_none() && retry_at.is_some() {
                    state.outages = state.outages.saturating_add(1);
                }
            }
            RunEvent::RunResumed { by } => {
                // A person who resumes it begins the waits anew.
                if by != RETRIER {
                    state.outages = 0;
                }
                state.status = RunStatus::Running;
                state.ended_at = None;
                state.retry_at = None;
                state.stopped = None;
            }
            RunEvent::RunCancelled { .. } => {
                state.status = RunStatus::Cancelled;
                state.ended_at = Some(now);
                state.retry_at = None;
                state.hold = None;
            }
            RunEvent::RunEnded { status, rule, reason, unfinished } => {
                state.status = *status;
                state.ended_at = Some(now);
                if *status != RunStatus::Failed {
                    state.place = Place::Done;
                    return;
                }
                state.stopped = Some(Stopped { rule: *rule, reason: reason.clone().unwrap_or_default() });
                if let Place::Task { phase, task } = state.place {
                    let again = task.saturating_sub(1);
                    let failed = unfinished.as_ref().and_then(|_| plan.task(phase, again));
                    if let Some(row) = state.phases.get_mut(phase) {
                        row.undo(failed.map(|task| task.kind));
                    }
                    if unfinished.is_some() {
                        state.place = Place::Task { phase, task: again };
                    }
                }
            }
        }
    }
}

impl super::PhaseState {
    const fn found(&self) -> bool {
        self.warnings > 0 || self.errors > 0
    }

    /// The phase failed; a step that did is not done.
    fn undo(&mut self, failed: Option<StepOrHook>) {
        self.status = PhaseStatus::Failure;
        if failed == Some(StepOrHook::Step) {
            self.steps_done = self.steps_done.saturating_sub(1);
        }
    }
}
