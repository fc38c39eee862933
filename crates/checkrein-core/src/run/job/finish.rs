//! What becomes of a finished attempt: the phase is repeated, reviewed, or passes.

use std::time::Duration;

use jiff::Timestamp;

use super::super::advance::decided;
use super::super::finish::stop;
use super::super::{
    At, Attempt, Boundary, Decided, Finished, HoldKind, Interruption, Move, Refusal, RunEvent, RunStatus,
};
use super::{AgentOutcome, JobPhase, Stage, Work};
use crate::boundary::{Boundary as Asked, BoundaryKind, PhaseKind};
use crate::decision::{Decision, Handling, Outcome, Rule, Situation, StepOrHook, decide};
use crate::policy::Policy;
use crate::response::Response;

/// So many changed files are remembered with an attempt; the rest is counted.
const FILES_MAX: usize = 500;

pub(in crate::run) fn finish(moved: &mut Move<'_>, finished: Finished) -> Result<(), Refusal> {
    let stale = || Refusal::StaleAttempt { id: moved.run.id.clone(), start: finished.start };
    let under_way = moved.run.state.under_way.clone().ok_or_else(stale)?;
    if under_way.start != finished.start {
        return Err(stale());
    }
    let Some((definition, job)) = moved.run.job() else { return Err(stale()) };
    let (phase, totals) = (job.phase.clone(), moved.run.state.tally.totals());
    let Some((response_id, mut response)) = finished.responses.into_iter().next_back() else {
        return Err(Refusal::NoResponse);
    };
    let mut work = finished.work.map(|work| *work).unwrap_or_default();
    if work.result.outcome == AgentOutcome::JobComplete
        && let Some(why) = unfinished(&phase, &work)
    {
        work.result.outcome = AgentOutcome::PhaseDone;
        work.whole = None;
        response.warn(format!("job_complete was not accepted: {why}"));
    }
    let undone = job.undone.iter().map(|todo| todo.content.clone()).collect::<Vec<_>>();
    if work.result.outcome == AgentOutcome::JobComplete && !undone.is_empty() {
        response.warn(format!("job_complete, and these todos were never done: {}", undone.join("; ")));
    }
    work.protected = protected(moved.run.policy(), definition.repository.artefacts(), &work);
    work.linked.clear();
    work.files.truncate(FILES_MAX);
    if let Some(whole) = &mut work.whole {
        whole.files.truncate(FILES_MAX);
    }
    work.changed_in_round.truncate(FILES_MAX);
    work.result.usage.time_ms = finished.duration_ms;
    moved.record(RunEvent::AttemptFinished(Box::new(Attempt {
        response_id,
        task: phase.name(),
        name: phase.name(),
        phase: phase.name(),
        kind: StepOrHook::Step,
        hook_timing: None,
        attempt: under_way.attempt,
        judged: true,
        response: response.clone(),
        started_at: finished.started_at,
        duration_ms: finished.duration_ms,
        exit_code: finished.exit_code,
        output: finished.output,
    })));
    let (result, cut, outage) = (work.result.clone(), work.cut.clone(), work.outage);
    moved.record(RunEvent::PhaseWorked(Box::new(work)));
    match result.outcome {
        AgentOutcome::Failed => {
            let said = response.errors.last().map(|error| error.text.clone());
            let reason = said.or_else(|| Some(result.summary).filter(|text| !text.is_empty()));
            moved.record(RunEvent::RunEnded {
                status: RunStatus::Failed,
                rule: None,
                reason: reason.or_else(|| Some("The agent failed".to_owned())),
                unfinished: Some(phase.name()),
            });
        }
        AgentOutcome::Blocked if cut.is_some() => {
            let text = cut.unwrap_or_default();
            let at = At { at: Boundary::Phase, phase: Some(phase.name()), task: None };
            let decision = Decided {
                boundary: at.clone(),
                outcome: Outcome::Hold,
                rule: Some(Rule::Budget),
                reason: text.clone(),
                because: vec![(Rule::Budget, text.clone())],
                limits_reached: crate::decision::LimitsReached::default(),
                truncated_warnings: 0,
                truncated_errors: 0,
            };
            moved.record(RunEvent::Decided(Box::new(decision)));
            hold(moved, at, text);
        }
        AgentOutcome::Blocked => {
            let why = if result.summary.is_empty() { "it does not say why" } else { &result.summary };
            let retry_at = if outage { retry_at(moved) } else { None };
            pause(moved, format!("The agent cannot go on: {why}"), retry_at);
        }
        AgentOutcome::PhaseDone if planned_nothing(moved) => nothing_to_do(moved, &phase),
        AgentOutcome::PhaseDone if phase.stage == Stage::Feedback => moved.attempt(),
        AgentOutcome::PhaseDone | AgentOutcome::JobComplete => boundary(moved, Some((&response, totals))),
    }
    Ok(())
}

/// Goes on after a pause or a failure.
pub(in crate::run) fn resume(moved: &mut Move<'_>) {
    match moved.run.state.job.as_ref().map(|job| job.phase.stage) {
        Some(Stage::Land) => {}
        Some(Stage::Done) => boundary(moved, None),
        _ => moved.go_on(),
    }
}

/// Why a job is not complete although its agent says so (L10, X8, X9).
fn unfinished(phase: &JobPhase, work: &Work) -> Option<&'static str> {
    if phase.stage == Stage::Feedback {
        return Some("what a person wants changed is not done yet");
    }
    if phase.kind() == PhaseKind::Tactical {
        return Some("only a strategic phase can complete a job");
    }
    if !work.result.next_todos.is_empty() {
        return Some("there are todos left");
    }
    (phase.rework.is_some() && work.commits == 0)
        .then_some("nothing was committed since a person requested changes")
}

/// A strategic attempt must leave something to do.
fn planned_nothing(moved: &Move<'_>) -> bool {
    let Some((_, job)) = moved.run.job() else { return false };
    // Folding a planned feedback has moved the stage on already.
    let planned = job
        .phase
        .work
        .as_ref()
        .is_some_and(|work| !work.result.next_todos.is_empty() || work.bad_todos.is_some());
    let strategic = job.phase.kind() == PhaseKind::Strategic || job.phase.stage == Stage::Feedback;
    strategic && !planned
}

/// Repeated once, then a person has to look (X8).
fn nothing_to_do(moved: &mut Move<'_>, phase: &JobPhase) {
    let because = "it left neither todos nor job_complete".to_owned();
    if phase.repeated {
        return pause(moved, format!("{} left neither todos nor job_complete, twice", phase.name()), None);
    }
    moved.record(RunEvent::PhaseRepeated { phase: phase.name(), because });
    moved.attempt();
}

fn pause(moved: &mut Move<'_>, reason: String, retry_at: Option<Timestamp>) {
    moved.record(RunEvent::RunPaused { by: "the agent".to_owned(), reason: Some(reason), retry_at });
}

/// When an attempt is made again whose model did not answer.
fn retry_at(moved: &Move<'_>) -> Option<Timestamp> {
    let outages = moved.run.state.job.as_ref()?.phase.outages;
    moved.now.checked_add(retry_after(outages)?).ok()
}

/// How long it is waited after so many outages in a row; after a day of them a person has to look.
pub const fn retry_after(outages: u32) -> Option<Duration> {
    let minutes = match outages {
        0 | 1 => return Some(Duration::from_secs(30)),
        2 => 1,
        3 => 2,
        4 => 5,
        5 => 15,
        6 => 30,
        7..=30 => 60,
        31.. => return None,
    };
    Some(Duration::from_secs(minutes * 60))
}

/// The end of a phase: the policy is asked, and a hold opens its review.
fn boundary(moved: &mut Move<'_>, judged: Option<(&Response, crate::tally::Totals)>) {
    let Some((definition, job)) = moved.run.job() else { return };
    let phase = job.phase.clone();
    let Some(work) = phase.work.clone() else { return };
    let complete = work.result.outcome == AgentOutcome::JobComplete;
    let at = At {
        at: if complete { Boundary::Complete } else { Boundary::Phase },
        phase: Some(phase.name()),
        task: None,
    };
    // A plan that a person wrote was looked at by them.
    if definition.plan.is_some() && phase.number == 1 && phase.rework.is_none() {
        return pass(moved, &phase, &work);
    }
    let asked = Asked {
        kind: if complete { BoundaryKind::Complete } else { BoundaryKind::Phase },
        phase: Some(phase.name()),
        step: None,
        phase_kind: Some(phase.kind()),
        phase_number: Some(phase.number),
        job_complete: complete,
        confidence: work.result.confidence,
        milestone: work.result.milestone.clone(),
    };
    let policy = moved.run.policy().clone();
    let decision = decide(
        &policy,
        &Situation {
            boundary: &asked,
            response: judged.map(|(response, _)| response),
            kind: StepOrHook::Step,
            handling: Handling::default(),
            totals: judged.map_or_else(|| moved.run.state.tally.totals(), |(_, totals)| totals),
            findings_since_check_in: 0,
        },
    );
    let more = further_reasons(moved, &policy, &phase, &work);
    record_decision(moved, &at, &decision, &more);
    match decision.outcome {
        Outcome::Stop => stop(moved, &decision, phase.name()),
        Outcome::Hold => {
            let reason = decision.winner().map(ToString::to_string).unwrap_or_default();
            hold(moved, at, reason);
        }
        Outcome::Proceed => match more.into_iter().next() {
            Some((_, reason)) => hold(moved, at, reason),
            None => pass(moved, &phase, &work),
        },
    }
}

/// What holds at every level.
fn further_reasons(moved: &Move<'_>, policy: &Policy, phase: &JobPhase, work: &Work) -> Vec<(Rule, String)> {
    let mut reasons = Vec::new();
    if let Some(rework) = &phase.rework {
        let text = format!("{} requested changes: round {} waits for review", rework.by, phase.round);
        reasons.push((Rule::Rework, text));
    }
    if let Some(first) = work.protected.first() {
        let more = match work.protected.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        reasons.push((Rule::ProtectedPath, format!("A protected file changed: {first}{more}")));
    }
    if let Some(conflict) = &work.conflict {
        let text = match &conflict.kept_on {
            Some(_) => "The agent's work and what a person pushed do not fit".to_owned(),
            None => conflict.met_by(&phase.name()),
        };
        reasons.push((Rule::Conflict, text));
    }
    if let Some(problem) = &work.bad_todos {
        reasons.push((Rule::Todos, format!("A person's todos.yaml cannot be used: {problem}")));
    }
    let spent = moved.run.state.job.as_ref().map(|job| job.spent).unwrap_or_default();
    if let Some(text) = over_budget(policy, spent) {
        reasons.push((Rule::Budget, text));
    }
    let approved = moved.run.state.job.as_ref().map_or(0, |job| job.approved_phase);
    let passed = u64::from(phase.number.saturating_sub(approved));
    // A job that is complete has its end.
    if passed >= policy.max_phases && work.result.outcome != AgentOutcome::JobComplete {
        let text = format!("Phase limit reached: {passed} of {} phases without approval", policy.max_phases);
        reasons.push((Rule::MaxPhases, text));
    }
    reasons
}

/// Whether what was used since a person last answered is as much as they allow, in words.
pub fn over_budget(policy: &Policy, spent: super::Spent) -> Option<String> {
    let budget = policy.budget;
    if let Some(tokens) = budget.tokens.filter(|most| spent.tokens >= *most) {
        return Some(format!("Budget reached: {} of {tokens} tokens", spent.tokens));
    }
    if let Some(cost) = budget.cost.filter(|most| spent.cost >= *most) {
        return Some(format!("Budget reached: {} of {cost} in cost", spent.cost));
    }
    let time = std::time::Duration::from_millis(spent.time_ms);
    budget.time.filter(|most| time >= *most).map(|most| {
        use crate::duration::Written;
        format!("Budget reached: {} of {} of time", Written(time), Written(most))
    })
}

fn record_decision(moved: &mut Move<'_>, at: &At, decision: &Decision<'_>, more: &[(Rule, String)]) {
    let mut event = decided(at, decision);
    if more.is_empty() {
        event.into_iter().for_each(|event| moved.record(event));
        return;
    }
    if let Some(RunEvent::Decided(decided)) = &mut event {
        decided.because.extend(more.iter().cloned());
        if decided.outcome == Outcome::Proceed {
            decided.outcome = Outcome::Hold;
            decided.rule = more.first().map(|(rule, _)| *rule);
            decided.reason = more.first().map(|(_, text)| text.clone()).unwrap_or_default();
        }
    } else {
        event = Some(RunEvent::Decided(Box::new(super::super::Decided {
            boundary: at.clone(),
            outcome: Outcome::Hold,
            rule: more.first().map(|(rule, _)| *rule),
            reason: more.first().map(|(_, text)| text.clone()).unwrap_or_default(),
            because: more.to_vec(),
            limits_reached: crate::decision::LimitsReached::default(),
            truncated_warnings: 0,
            truncated_errors: 0,
        })));
    }
    event.into_iter().for_each(|event| moved.record(event));
}

/// Opens the review, or its next round.
pub(super) fn hold(moved: &mut Move<'_>, boundary: At, reason: String) {
    let Some((_, job)) = moved.run.job() else { return };
    let hold = job.phase.review.unwrap_or_else(|| moved.run.state.holds.saturating_add(1));
    let round = job.phase.round;
    moved.record(RunEvent::RunHeld {
        hold,
        kind: HoldKind::Review,
        boundary,
        round,
        reason,
        check_in: false,
    });
}

/// Goes on without a review. That none was required is on record, except where nobody ever looks or
/// there is nothing to look at (L5, L11).
fn pass(moved: &mut Move<'_>, phase: &JobPhase, work: &Work) {
    let looked_at = !moved.run.policy().hold_at.is_empty();
    let review = (looked_at && work.files_total > 0).then(|| moved.run.state.holds.saturating_add(1));
    moved.record(RunEvent::PhasePassed { phase: phase.name(), review });
}

/// The job's own files are no danger to anybody.
fn protected(policy: &Policy, own: &str, work: &Work) -> Vec<String> {
    let paths = work.files.iter().map(|file| file.path.as_str());
    let others = paths.filter(|path| own.is_empty() || !path.starts_with(own));
    policy.protected(others, &work.linked).into_iter().take(FILES_MAX).map(str::to_owned).collect()
}

impl Move<'_> {
    /// Ends a job's attempt under way, if there is one, without a result.
    pub(in crate::run) fn interrupted(&mut self, why: Interruption) -> Option<u64> {
        let under_way = self.run.state.under_way.clone()?;
        let task = self.run.state.job.as_ref()?.phase.name();
        self.record(RunEvent::AttemptInterrupted { task, attempt: under_way.attempt, why });
        Some(under_way.start)
    }
}
