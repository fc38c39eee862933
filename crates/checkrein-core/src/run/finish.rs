use super::advance::{decided, hold_kind};
use super::{At, Attempt, Boundary, Definition, Finished, Move, Refusal, RunEvent, RunStatus};
use crate::boundary::{Boundary as Asked, BoundaryKind};
use crate::decision::{Decision, Outcome, Rule, Situation, StepOrHook, decide};

/// Every response is captured, then the last one is judged (W11, X6).
pub(super) fn finish(moved: &mut Move<'_>, finished: Finished) -> Result<(), Refusal> {
    let stale = || Refusal::StaleAttempt { id: moved.run.id.clone(), start: finished.start };
    let (under_way, task) = moved.run.task_under_way().ok_or_else(stale)?;
    if under_way.start != finished.start {
        return Err(stale());
    }
    let Some((_, judged)) = finished.responses.last().cloned() else { return Err(Refusal::NoResponse) };
    let (phase_index, first) = (under_way.phase, under_way.attempt);
    let task = task.clone();
    let phase = moved.run.phase(phase_index).map(|phase| phase.name.clone()).unwrap_or_default();

    let (totals, since) = (moved.run.state.tally.totals(), moved.run.state.since_check_in);
    let last = finished.responses.len();
    for ((response_id, response), nth) in finished.responses.into_iter().zip(1_u32..) {
        // A hook is never tried again by the run, so it has one attempt (W12).
        let attempt = match task.kind {
            StepOrHook::Step => first.saturating_add(nth - 1),
            StepOrHook::Hook => 1,
        };
        moved.record(RunEvent::AttemptFinished(Box::new(Attempt {
            response_id,
            task: task.id.clone(),
            name: task.name.clone(),
            phase: phase.clone(),
            kind: task.kind,
            hook_timing: task.timing,
            attempt,
            judged: nth as usize == last,
            response,
            started_at: finished.started_at,
            duration_ms: finished.duration_ms,
            exit_code: finished.exit_code,
            output: finished.output.clone(),
        })));
    }

    let definition = std::sync::Arc::clone(&moved.run.definition);
    let boundary = match task.kind {
        StepOrHook::Step => Boundary::Step,
        // No frequency speaks of hooks; their findings are judged all the same.
        StepOrHook::Hook => Boundary::Hook,
    };
    let at = At { at: boundary, phase: Some(phase.clone()), task: Some(task.id.clone()) };
    let asked = Asked {
        kind: match task.kind {
            StepOrHook::Step => BoundaryKind::Step,
            StepOrHook::Hook => BoundaryKind::Hook,
        },
        phase: Some(phase.clone()),
        step: Some(task.id.clone()),
        phase_number: u32::try_from(phase_index + 1).ok(),
        ..Asked::default()
    };
    let decision = decide(
        &definition.policy,
        &Situation {
            boundary: &asked,
            response: Some(&judged),
            kind: task.kind,
            handling: task.handling,
            totals,
            findings_since_check_in: since.warnings.saturating_add(since.errors),
        },
    );
    if let Some(event) = decided(&at, &decision) {
        moved.record(event);
    }
    match decision.outcome {
        Outcome::Stop => match loop_back(&definition, phase_index, &decision, moved.run.state.retries) {
            Some((to, retry)) => {
                let because = decision.winner().map(ToString::to_string).unwrap_or_default();
                moved.record(RunEvent::LoopedBack { from: phase, task: task.id, to, retry, because });
                moved.advance();
            }
            None => stop(moved, &decision, task.id),
        },
        Outcome::Hold => moved.hold(hold_kind(&decision), at, &decision),
        Outcome::Proceed => {
            if decision.check_in {
                moved.check_in(at);
            }
            moved.advance();
        }
    }
    Ok(())
}

/// A step that violated a tolerance is unfinished and made again on resume; one that only reached a
/// limit is done, so that a resumed run goes on (W6).
pub(super) fn stop(moved: &mut Move<'_>, decision: &Decision<'_>, task: String) {
    let winner = decision.winner();
    let violated = decision.because.iter().any(|reason| {
        reason.outcome() == Outcome::Stop
            && matches!(reason.rule(), Rule::ToleranceError | Rule::ToleranceWarning)
    });
    moved.record(RunEvent::RunEnded {
        status: RunStatus::Failed,
        rule: winner.map(|reason| reason.rule()),
        reason: winner.map(ToString::to_string),
        unfinished: violated.then_some(task),
    });
}

/// The phase whose errors loop back, and where to (X6).
const LOOPS: (&str, &str) = ("evaluate", "build");

/// Only errors send a run back; a limit or a warning that must stop still stops it. It goes back to what has
/// run before and runs in this run: going forward would skip what lies between, gates included.
fn loop_back(
    definition: &Definition,
    phase_index: usize,
    decision: &Decision<'_>,
    retries: u32,
) -> Option<(String, u32)> {
    let (from, to) = LOOPS;
    let evaluate = definition.plan.phases.get(phase_index).filter(|phase| phase.name == from)?;
    let (build_index, build) = definition.plan.phase(to)?;
    if build_index >= phase_index || !definition.runs(build) {
        return None;
    }
    let mut stops = decision.because.iter().filter(|reason| reason.outcome() == Outcome::Stop);
    let only_errors = stops.all(|reason| reason.rule() == Rule::ToleranceError);
    (only_errors && retries < evaluate.max_retries).then(|| (build.name.clone(), retries + 1))
}
