//! Goes on from where the run stands, to its next attempt, hold or end.

use super::{At, Boundary, Decided, HoldKind, Move, PhaseStatus, Place, RunEvent, RunStatus};
use crate::boundary::{Boundary as Asked, BoundaryKind};
use crate::decision::{Decision, LimitsReached, Outcome, Rule, Situation, StepOrHook, decide};

impl Move<'_> {
    pub(super) fn advance(&mut self) {
        let definition = std::sync::Arc::clone(&self.run.definition);
        let phases = &definition.plan.phases;
        // INVARIANT: every pass records an event that moves the place on, or returns.
        loop {
            match self.run.state.place {
                Place::Entry { phase: index } => {
                    let Some(phase) = phases.get(index) else {
                        let at = At { at: Boundary::Complete, phase: None, task: None };
                        if self.ask(at, index).is_break() {
                            return;
                        }
                        return self.complete();
                    };
                    if !definition.runs(phase) {
                        let status = if phase.enabled { PhaseStatus::NotRun } else { PhaseStatus::Skipped };
                        self.record(RunEvent::PhaseSkipped { phase: phase.name.clone(), status });
                        continue;
                    }
                    let at = At { at: Boundary::PhaseEntry, phase: Some(phase.name.clone()), task: None };
                    if self.ask(at, index).is_break() {
                        return;
                    }
                    self.record(RunEvent::PhaseStarted { phase: phase.name.clone() });
                }
                Place::Open { phase: index } => {
                    let Some(phase) = phases.get(index) else { return self.complete() };
                    self.record(RunEvent::PhaseStarted { phase: phase.name.clone() });
                }
                Place::Task { phase: index, task } => {
                    let Some(phase) = phases.get(index) else { return self.complete() };
                    if let Some(task_now) = phase.tasks.get(task) {
                        // Who can do this one is seen before it begins: then it need not be given up again.
                        if !task_now.requires.is_empty() && !self.fit {
                            return;
                        }
                        let attempts = self.run.state.phases.get(index);
                        let done = attempts.and_then(|state| state.attempts.get(task)).copied().unwrap_or(0);
                        let attempt = match task_now.kind {
                            StepOrHook::Step => done.saturating_add(1),
                            StepOrHook::Hook => 1,
                        };
                        let start = self.run.state.starts.saturating_add(1);
                        let task = task_now.id.clone();
                        self.record(RunEvent::AttemptStarted { task, attempt, start });
                        return;
                    }
                    let found = self.run.state.phases.get(index);
                    let status = match found.map_or(0, |state| state.warnings.saturating_add(state.errors)) {
                        0 => PhaseStatus::Success,
                        _ => PhaseStatus::Warning,
                    };
                    self.record(RunEvent::PhaseEnded { phase: phase.name.clone(), status });
                    let at = At { at: Boundary::Phase, phase: Some(phase.name.clone()), task: None };
                    if self.ask(at, index).is_break() {
                        return;
                    }
                }
                Place::Done => return self.complete(),
            }
        }
    }

    /// Asks the policy at a boundary where there is nothing to judge. A break is a hold.
    fn ask(&mut self, at: At, phase_index: usize) -> std::ops::ControlFlow<()> {
        let definition = std::sync::Arc::clone(&self.run.definition);
        let asked = Asked {
            kind: match at.at {
                Boundary::PhaseEntry => BoundaryKind::PhaseEntry,
                Boundary::Phase => BoundaryKind::Phase,
                Boundary::Complete => BoundaryKind::Complete,
                Boundary::Step => BoundaryKind::Step,
                Boundary::Hook => BoundaryKind::Hook,
            },
            phase: at.phase.clone(),
            phase_number: u32::try_from(phase_index + 1).ok().filter(|_| at.phase.is_some()),
            ..Asked::default()
        };
        let state = &self.run.state;
        let since = &state.since_check_in;
        let decision = decide(
            &definition.policy,
            &Situation {
                totals: state.tally.totals(),
                findings_since_check_in: since.warnings.saturating_add(since.errors),
                ..Situation::at(&asked)
            },
        );
        if let Some(event) = decided(&at, &decision) {
            self.record(event);
        }
        if decision.outcome == Outcome::Proceed {
            if decision.check_in {
                self.check_in(at);
            }
            return std::ops::ControlFlow::Continue(());
        }
        self.hold(hold_kind(&decision), at, &decision);
        std::ops::ControlFlow::Break(())
    }

    /// A check-in is shown and recorded, whether or not it needs an answer (W10).
    pub(super) fn check_in(&mut self, boundary: At) {
        let since = self.run.state.since_check_in;
        self.record(RunEvent::CheckedIn { boundary, warnings: since.warnings, errors: since.errors });
    }

    pub(super) fn hold(&mut self, kind: HoldKind, boundary: At, decision: &Decision<'_>) {
        let hold = self.run.state.holds.saturating_add(1);
        let reason = decision.winner().map(ToString::to_string).unwrap_or_default();
        let check_in = decision.check_in;
        self.record(RunEvent::RunHeld { hold, kind, boundary, round: 1, reason, check_in });
    }

    pub(super) fn complete(&mut self) {
        let tally = &self.run.state.tally;
        let status = match tally.warnings.saturating_add(tally.errors) {
            0 => RunStatus::Completed,
            _ => RunStatus::CompletedWithWarnings,
        };
        self.record(RunEvent::RunEnded { status, rule: None, reason: None, unfinished: None });
    }
}

/// The strictest question a hold asks: what violates a tolerance or needs an approval is not answered
/// by a standing yes to check-ins (X2).
pub(super) fn hold_kind(decision: &Decision<'_>) -> HoldKind {
    let holds = || decision.because.iter().filter(|reason| reason.outcome() >= Outcome::Hold);
    if holds().any(|reason| reason.rule() == Rule::Gate) {
        HoldKind::Gate
    } else if holds().any(|reason| reason.rule() != Rule::Trigger) {
        HoldKind::Prompt
    } else {
        HoldKind::CheckIn
    }
}

/// The record of a decision, where there is something to say.
pub(super) fn decided(at: &At, decision: &Decision<'_>) -> Option<RunEvent> {
    if decision.because.is_empty() {
        return None;
    }
    let winner = decision.winner();
    Some(RunEvent::Decided(Box::new(Decided {
        boundary: at.clone(),
        outcome: decision.outcome,
        rule: winner.map(|reason| reason.rule()),
        reason: winner.map(ToString::to_string).unwrap_or_default(),
        because: decision.because.iter().map(|reason| (reason.rule(), reason.to_string())).collect(),
        limits_reached: LimitsReached::of(decision),
        truncated_warnings: decision.warnings.truncated() as u64,
        truncated_errors: decision.errors.truncated() as u64,
    })))
}
