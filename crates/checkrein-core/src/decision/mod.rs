//! The one decision: may the run go on, must it hold, or does it stop?
//!
//! Pure and total: no clock, no I/O, no allocation unless findings exceed a tolerance, no panic.
//! The reasons travel with the answer.

mod contract;
mod handling;
mod reason;

use smallvec::SmallVec;

use crate::boundary::{Boundary, BoundaryKind};
use crate::finding::{Finding, FindingKind};
use crate::policy::{Ask, Effective, On, OnLimit, Policy, Tolerance};
use crate::response::Response;
use crate::tally::Totals;

pub(crate) use contract::judged;
pub use contract::{Answer, LimitAction, LimitsReached, Reached, Request};
pub use handling::{Handling, OnFailure, OnWarning, StepOrHook};
pub use reason::{Reason, Rule};

/// What happens next. Stricter is greater, so combining is `max`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Proceed,
    Hold,
    Stop,
}

impl Outcome {
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Proceed => "proceed",
            Outcome::Hold => "hold",
            Outcome::Stop => "stop",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Everything the policy is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub boundary: &'a Boundary,
    /// What the attempt returned; none is nothing to judge.
    pub response: Option<&'a Response>,
    pub kind: StepOrHook,
    pub handling: Handling,
    /// Before this response.
    pub totals: Totals,
    /// Findings since the last check-in, before this response.
    pub findings_since_check_in: u64,
}

impl<'a> Situation<'a> {
    /// A boundary with nothing to judge.
    pub fn at(boundary: &'a Boundary) -> Situation<'a> {
        Situation {
            boundary,
            response: None,
            kind: StepOrHook::Step,
            handling: Handling::default(),
            totals: Totals::default(),
            findings_since_check_in: 0,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Decision<'a> {
    pub outcome: Outcome,
    pub because: SmallVec<[Reason<'a>; 2]>,
    /// A trigger fired; it must be answered exactly if the outcome is hold.
    pub check_in: bool,
    /// With this response counted in.
    pub totals: Totals,
    pub warnings: Sorted<'a>,
    pub errors: Sorted<'a>,
}

impl Decision<'_> {
    /// The reason that is named first: of the strictest outcome, the strongest rule, and of several
    /// findings the last one (W4, W6, X5).
    pub fn winner(&self) -> Option<&Reason<'_>> {
        let strictest = self.because.iter().filter(|reason| reason.outcome() == self.outcome);
        strictest.filter(|_| self.outcome > Outcome::Proceed).reduce(|best, next| {
            let next_wins = match next.rule().cmp(&best.rule()) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => next.is_finding(),
                std::cmp::Ordering::Greater => false,
            };
            if next_wins { next } else { best }
        })
    }
}

/// The findings of one kind, sorted by the tolerance without copying them.
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a> {
    findings: &'a [Finding],
    tolerance: Tolerance,
    kept: usize,
    pub limit: Option<LimitReached>,
}

/// A limit this response reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    pub limit: u64,
    pub actual: u64,
    pub action: OnLimit,
}

impl<'a> Sorted<'a> {
    /// Within tolerance, and kept.
    pub fn collected(self) -> impl Iterator<Item = &'a Finding> {
        let kept = self.findings.iter().take(self.kept);
        kept.filter(move |finding| !self.tolerance.exceeded_by(finding.severity))
    }

    /// Over tolerance; a truncated collection hides none of them.
    pub fn exceeding(self) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| self.tolerance.exceeded_by(finding.severity))
    }

    /// How many findings are counted but no longer kept.
    pub fn truncated(self) -> usize {
        self.findings.len() - self.kept
    }
}

/// Asks the policy.
pub fn decide<'a>(policy: &'a Policy, situation: &Situation<'a>) -> Decision<'a> {
    let boundary = situation.boundary;
    // At the end of everything no single phase speaks (W10).
    let phase = boundary.phase.as_deref().filter(|_| boundary.kind != BoundaryKind::Complete);
    let effective = policy.for_phase(phase);

    let (warnings, errors) =
        situation.response.map_or((&[][..], &[][..]), |r| (&r.warnings[..], &r.errors[..]));
    let totals = situation.totals.plus(warnings, errors);
    let sort = |kind, findings, tolerance| sort(policy, situation.totals, totals, kind, findings, tolerance);
    let mut decision = Decision {
        outcome: Outcome::Proceed,
        because: SmallVec::new(),
        check_in: false,
        totals,
        warnings: sort(FindingKind::Warning, warnings, effective.warning_tolerance),
        errors: sort(FindingKind::Error, errors, effective.error_tolerance),
    };

    limits(&mut decision);
    tolerances(&mut decision, situation);
    gate(&mut decision, policy, boundary);
    triggers(&mut decision, policy, &effective, situation);

    decision.outcome = decision.because.iter().map(Reason::outcome).max().unwrap_or(Outcome::Proceed);
    decision.check_in &= decision.outcome < Outcome::Stop;
    decision
}

/// Limits are tested on the totals with every finding of this response; a response that adds
/// nothing of a kind cannot reach that kind's limit, so a resumed run goes on (W6, X4).
fn sort<'a>(
    policy: &Policy,
    before: Totals,
    after: Totals,
    kind: FindingKind,
    findings: &'a [Finding],
    tolerance: Tolerance,
) -> Sorted<'a> {
    let limits = &policy.limits;
    let limit = match kind {
        FindingKind::Warning => limits.max_total_warnings,
        FindingKind::Error => limits.max_total_errors,
    };
    let mut sorted = Sorted { findings, tolerance, kept: findings.len(), limit: None };
    let actual = after.of(kind);
    if let Some(limit) = limit.filter(|limit| actual >= *limit && !findings.is_empty()) {
        sorted.limit = Some(LimitReached { limit, actual, action: limits.on_limit_reached });
        if limits.on_limit_reached == OnLimit::Truncate {
            let room = usize::try_from(limit.saturating_sub(before.of(kind))).unwrap_or(usize::MAX);
            sorted.kept = findings.len().min(room);
        }
    }
    sorted
}

fn limits(decision: &mut Decision<'_>) {
    let limits =
        [(FindingKind::Warning, decision.warnings.limit), (FindingKind::Error, decision.errors.limit)];
    for (kind, limit) in limits {
        if let Some(reached) = limit {
            decision.because.push(Reason::Limit { kind, reached });
        }
    }
}

/// Each kind goes to its own handling; handling is consulted only on a violation (W2, X5).
fn tolerances<'a>(decision: &mut Decision<'a>, situation: &Situation<'a>) {
    let on_error = situation.handling.of_errors(situation.kind);
    let on_warning = situation.handling.of_warnings();
    let because = &mut decision.because;
    // All of them are reasons, also those that are told to continue (W4).
    for (sorted, outcome) in [(&decision.errors, on_error), (&decision.warnings, on_warning)] {
        for finding in sorted.exceeding() {
            because.push(Reason::Exceeds { finding, outcome });
        }
    }
}

/// An entry whose phase nobody named may be the gated one.
fn gate<'a>(decision: &mut Decision<'a>, policy: &Policy, boundary: &'a Boundary) {
    if boundary.kind != BoundaryKind::PhaseEntry || policy.require_approval_for.is_empty() {
        return;
    }
    let phase = boundary.phase.as_deref();
    if phase.is_none_or(|phase| policy.require_approval_for.iter().any(|gated| gated == phase)) {
        decision.because.push(Reason::Gate { phase });
    }
}

/// A phase's own triggers count for everything but completion, which belongs to the whole and is
/// named first: a job that is complete waits as one that is complete (L2).
fn triggers<'a>(
    decision: &mut Decision<'a>,
    policy: &'a Policy,
    effective: &Effective<'a>,
    situation: &Situation<'a>,
) {
    let boundary = situation.boundary;
    let of_completion = |trigger: &&crate::policy::Trigger| trigger.on == On::Kind(BoundaryKind::Complete);
    let own = effective.hold_at.iter().filter(|trigger| !of_completion(trigger));
    let whole = policy.hold_at.iter().filter(of_completion);
    let found = decision.warnings.findings.len() + decision.errors.findings.len();
    let answer_needed = match effective.ask {
        Ask::Always => true,
        Ask::WhenFindings => situation.findings_since_check_in > 0 || found > 0,
    };
    for trigger in whole.chain(own).filter(|trigger| trigger.fires(policy.scope, boundary)) {
        decision.check_in = true;
        if answer_needed {
            decision.because.push(Reason::Trigger { trigger, scope: policy.scope, boundary });
        }
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
