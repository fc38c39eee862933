//! What holds for every policy, boundary and response, however odd.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value};

use super::*;
use crate::boundary::PhaseKind;
use crate::classify::Classifier;
use crate::finding::{Category, Severity};
use crate::policy::{Limits, PhaseOverride, Scope, Tolerances, Trigger};

const TOLERANCES: [Tolerance; 4] = [Tolerance::None, Tolerance::Low, Tolerance::Medium, Tolerance::High];

fn phase() -> impl Strategy<Value = String> {
    select(vec!["build", "release", ""]).prop_map(str::to_owned)
}

fn kind() -> impl Strategy<Value = BoundaryKind> {
    let known = vec!["step", "phase_entry", "phase", "complete", "deliverable", "draft", ""];
    select(known).prop_map(|name| name.to_owned().into())
}

fn phase_kind() -> impl Strategy<Value = PhaseKind> {
    select(vec![PhaseKind::Strategic, PhaseKind::Tactical])
}

fn trigger() -> impl Strategy<Value = Trigger> {
    let on = prop_oneof![1 => Just(On::Every), 6 => kind().prop_map(On::Kind)];
    let every = option::of(1..4_u32);
    let milestone = option::of(select(vec!["schema", " Schema "]).prop_map(str::to_owned));
    (on, option::of(phase_kind()), any::<bool>(), every, milestone, option::of(0.0..=1.0)).prop_map(
        |(on, phase_kind, first, every, milestone, confidence_below)| Trigger {
            on,
            phase_kind,
            first,
            every,
            milestone,
            confidence_below,
        },
    )
}

fn ask() -> impl Strategy<Value = Ask> {
    select(vec![Ask::Always, Ask::WhenFindings])
}

fn own() -> impl Strategy<Value = PhaseOverride> {
    let tolerance = || option::of(select(TOLERANCES.to_vec()));
    (option::of(vec(trigger(), 0..3)), tolerance(), tolerance(), option::of(ask())).prop_map(
        |(hold_at, warning, error, ask)| PhaseOverride {
            hold_at,
            check_in_frequency: None,
            warning_tolerance: warning.map(Into::into),
            error_tolerance: error.map(Into::into),
            ask,
        },
    )
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..6_u64, 1 => any::<u64>(), 1 => u64::MAX - 3..=u64::MAX]
}

fn limits() -> impl Strategy<Value = Limits> {
    let limit = || option::of(count().prop_map(|count| count.max(1)));
    let reached = select(vec![OnLimit::Stop, OnLimit::Truncate]);
    (limit(), limit(), reached).prop_map(|(max_total_warnings, max_total_errors, on_limit_reached)| Limits {
        max_total_warnings,
        max_total_errors,
        on_limit_reached,
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let tolerance = || select(TOLERANCES.to_vec());
    (
        select(Scope::ALL.to_vec()),
        vec(trigger(), 0..4),
        tolerance(),
        tolerance(),
        limits(),
        btree_map(phase(), own(), 0..3),
        vec(phase(), 0..2),
        ask(),
    )
        .prop_map(|(scope, hold_at, warning, error, limits, overrides, require_approval_for, ask)| {
            Policy {
                hold_at,
                tolerance: Tolerances { warning: warning.into(), error: error.into() },
                limits,
                overrides,
                require_approval_for,
                ask,
                ..Policy::builtin(scope)
            }
        })
}

fn boundary() -> impl Strategy<Value = Boundary> {
    let confidence = option::of(prop_oneof![0.0..=1.0, any::<f64>()]);
    let number = option::of(prop_oneof![0..5_u32, any::<u32>()]);
    let milestone = option::of(Just("schema".to_owned()));
    (kind(), option::of(phase()), option::of(phase_kind()), number, any::<bool>(), confidence, milestone)
        .prop_map(|(kind, phase, phase_kind, phase_number, job_complete, confidence, milestone)| Boundary {
            kind,
            phase,
            step: None,
            phase_kind,
            phase_number,
            job_complete,
            confidence,
            milestone,
        })
}

fn finding(kind: FindingKind) -> impl Strategy<Value = Finding> {
    (select(Severity::ALL.to_vec()), "[a-z]{0,3}").prop_map(move |(severity, text)| Finding {
        kind,
        text,
        severity,
        category: Category::Other,
        suggested_fix: None,
        raw_severity: None,
    })
}

fn response() -> impl Strategy<Value = Response> {
    let findings = |kind| vec(finding(kind), 0..5);
    (findings(FindingKind::Warning), findings(FindingKind::Error)).prop_map(|(warnings, errors)| Response {
        warnings,
        errors,
        ..Response::normalise(&Value::Object(Map::new()), Classifier::builtin())
    })
}

fn handling() -> impl Strategy<Value = Handling> {
    let on_warning = option::of(select(vec![OnWarning::Continue, OnWarning::Prompt, OnWarning::Stop]));
    let on_failure = option::of(select(vec![OnFailure::Continue, OnFailure::Stop]));
    (on_warning, on_failure).prop_map(|(on_warning, on_failure)| Handling { on_warning, on_failure })
}

/// A situation that owns what it speaks of.
#[derive(Clone, Debug)]
struct Case {
    policy: Policy,
    boundary: Boundary,
    response: Option<Response>,
    kind: StepOrHook,
    handling: Handling,
    totals: Totals,
    findings_since_check_in: u64,
}

fn case_with(response: impl Strategy<Value = Option<Response>>) -> impl Strategy<Value = Case> {
    let kind = select(vec![StepOrHook::Step, StepOrHook::Hook]);
    let totals = (count(), count()).prop_map(|(warnings, errors)| Totals { warnings, errors });
    (policy(), boundary(), response, kind, handling(), totals, count()).prop_map(
        |(policy, boundary, response, kind, handling, totals, findings_since_check_in)| Case {
            policy,
            boundary,
            response,
            kind,
            handling,
            totals,
            findings_since_check_in,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    case_with(option::weighted(0.9, response()))
}

impl Case {
    fn decide(&self) -> Decision<'_> {
        decide(
            &self.policy,
            &Situation {
                boundary: &self.boundary,
                response: self.response.as_ref(),
                kind: self.kind,
                handling: self.handling,
                totals: self.totals,
                findings_since_check_in: self.findings_since_check_in,
            },
        )
    }

    fn outcome(&self) -> Outcome {
        self.decide().outcome
    }

    /// The same with its response changed.
    fn with(&self, change: impl FnOnce(&mut Response)) -> Case {
        let mut case = self.clone();
        if let Some(response) = &mut case.response {
            change(response);
        }
        case
    }
}

/// Any JSON value, and often something that looks like a response.
fn json() -> impl Strategy<Value = Value> {
    let word = || {
        let words = vec!["success", "failure", "FAILURE", "low", "high", "dire", " Medium ", "security", ""];
        prop_oneof![select(words).prop_map(str::to_owned), "\\PC{0,12}"]
    };
    let key = || {
        let keys = vec![
            "status",
            "warnings",
            "errors",
            "text",
            "message",
            "severity",
            "category",
            "suggested_fix",
            "suggested_fixes",
            "raw_severity",
            "description",
            "command",
            "file",
            "attempts",
            "details",
            "artifacts",
            "notes",
        ];
        prop_oneof![9 => select(keys).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::from),
            3 => vec((key(), inner), 0..6).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_decision_follows_from_its_reasons(case in case()) {
        let decision = case.decide();
        let strictest = decision.because.iter().map(Reason::outcome).max().unwrap_or(Outcome::Proceed);
        prop_assert_eq!(decision.outcome, strictest);
        prop_assert_eq!(decision.winner().is_some(), decision.outcome > Outcome::Proceed);
        prop_assert!(decision.winner().is_none_or(|winner| winner.outcome() == decision.outcome));
        prop_assert!(!(decision.check_in && decision.outcome == Outcome::Stop));
        // A check-in that must be answered has its trigger among the reasons, and the other way round.
        let asked = decision.because.iter().any(|reason| reason.rule() == Rule::Trigger);
        prop_assert!(!asked || decision.check_in || decision.outcome == Outcome::Stop);
    }

    #[test]
    fn every_finding_is_accounted_for(case in case()) {
        let decision = case.decide();
        let empty = (Vec::new(), Vec::new());
        let (warnings, errors) = case.response.clone().map_or(empty, |response| (response.warnings, response.errors));
        for (sorted, findings, before, after) in [
            (decision.warnings, &warnings, case.totals.warnings, decision.totals.warnings),
            (decision.errors, &errors, case.totals.errors, decision.totals.errors),
        ] {
            prop_assert_eq!(after, before.saturating_add(findings.len() as u64));
            let kept = findings.len() - sorted.truncated();
            let judged = |list: &[Finding]| list.iter().filter(|f| sorted.tolerance.exceeded_by(f.severity)).count();
            let (first, rest) = findings.split_at(kept);
            prop_assert_eq!(sorted.collected().count() + judged(first), kept);
            prop_assert_eq!(sorted.exceeding().count(), judged(first) + judged(rest));
            // Only a limit that truncates drops anything, and it keeps no more than the limit.
            match sorted.limit {
                Some(LimitReached { limit, actual, action: OnLimit::Truncate }) => {
                    prop_assert!(actual >= limit);
                    prop_assert!(before >= limit || before + kept as u64 <= limit);
                }
                _ => prop_assert_eq!(kept, findings.len()),
            }
        }
    }

    #[test]
    fn a_worse_finding_never_loosens(case in case(), which in any::<Index>()) {
        let worse = case.with(|response| {
            let mut all: Vec<&mut Finding> = response.warnings.iter_mut().chain(&mut response.errors).collect();
            if !all.is_empty() {
                let finding = which.get_mut(&mut all);
                finding.severity = match finding.severity {
                    Severity::Low => Severity::Medium,
                    Severity::Medium | Severity::High => Severity::High,
                };
            }
        });
        prop_assert!(worse.outcome() >= case.outcome());
    }

    #[test]
    fn one_more_finding_never_loosens(
        case in case(),
        more in prop_oneof![finding(FindingKind::Warning), finding(FindingKind::Error)],
        at in any::<Index>(),
    ) {
        let worse = case.with(|response| {
            let list = match more.kind {
                FindingKind::Warning => &mut response.warnings,
                FindingKind::Error => &mut response.errors,
            };
            list.insert(at.index(list.len() + 1), more.clone());
        });
        prop_assert!(worse.outcome() >= case.outcome());
    }

    #[test]
    fn findings_against_none_never_loosen(case in case()) {
        let nothing = Case { response: None, ..case.clone() };
        prop_assert!(case.outcome() >= nothing.outcome());
    }

    #[test]
    fn less_tolerance_never_loosens(case in case(), least in select(TOLERANCES.to_vec()), of_errors in any::<bool>()) {
        let mut strict = case.clone();
        let lower = |said: &mut crate::policy::Said<Tolerance>| *said = said.meaning.min(least).into();
        let policy = &mut strict.policy;
        lower(if of_errors { &mut policy.tolerance.error } else { &mut policy.tolerance.warning });
        for own in policy.overrides.values_mut() {
            let said = if of_errors { &mut own.error_tolerance } else { &mut own.warning_tolerance };
            said.iter_mut().for_each(lower);
        }
        prop_assert!(strict.outcome() >= case.outcome());
    }

    #[test]
    fn a_lower_limit_that_stops_never_loosens(case in case(), limit in count(), of_errors in any::<bool>()) {
        let mut case = case;
        case.policy.limits.on_limit_reached = OnLimit::Stop;
        let mut strict = case.clone();
        let limits = &mut strict.policy.limits;
        let own = if of_errors { &mut limits.max_total_errors } else { &mut limits.max_total_warnings };
        *own = Some(own.unwrap_or(u64::MAX).min(limit.max(1)));
        prop_assert!(strict.outcome() >= case.outcome());
    }

    #[test]
    fn stopping_at_a_limit_is_never_looser_than_truncating(case in case()) {
        let at = |on_limit_reached| {
            let mut case = case.clone();
            case.policy.limits.on_limit_reached = on_limit_reached;
            case.outcome()
        };
        prop_assert!(at(OnLimit::Stop) >= at(OnLimit::Truncate));
    }

    #[test]
    fn more_to_hold_at_never_loosens(case in case(), trigger in trigger(), gate in phase()) {
        let mut strict = case.clone();
        strict.policy.require_approval_for.push(gate);
        strict.policy.hold_at.push(trigger.clone());
        for own in strict.policy.overrides.values_mut() {
            own.hold_at.iter_mut().for_each(|triggers| triggers.push(trigger.clone()));
        }
        prop_assert!(strict.outcome() >= case.outcome());
        let always = Case { policy: Policy { ask: Ask::Always, overrides: BTreeMap::new(), ..case.policy.clone() }, ..case.clone() };
        let sometimes = Case { policy: Policy { ask: Ask::WhenFindings, ..always.policy.clone() }, ..case };
        prop_assert!(always.outcome() >= sometimes.outcome());
    }

    #[test]
    fn a_longer_past_never_loosens(case in case(), more in any::<u64>()) {
        let mut later = case.clone();
        later.totals.warnings = later.totals.warnings.saturating_add(more);
        later.totals.errors = later.totals.errors.saturating_add(more);
        later.findings_since_check_in = later.findings_since_check_in.saturating_add(more);
        prop_assert!(later.outcome() >= case.outcome());
    }

    /// Whatever an agent returns can be judged, and the answer written down.
    #[test]
    fn every_value_is_judged(value in json(), case in case_with(Just(None))) {
        let response = Response::judged(&value, Classifier::builtin());
        let case = Case { response: Some(response), ..case };
        let answer = Answer::of(&case.decide());
        prop_assert!(serde_json::to_string(&answer).is_ok());
        prop_assert_eq!(answer.reason.is_empty(), answer.outcome == Outcome::Proceed);
    }

    #[test]
    fn what_was_made_whole_stays_as_it_is(value in json()) {
        for response in Response::attempts(&value, Classifier::builtin()) {
            let written = serde_json::to_value(&response).unwrap();
            let again = Response::normalise(&written, Classifier::builtin());
            prop_assert_eq!(again.status, response.status, "{}", written);
            prop_assert_eq!(&again.warnings, &response.warnings, "{}", written);
            prop_assert_eq!(&again.errors, &response.errors, "{}", written);
            prop_assert_eq!(&again.suggested_fixes, &response.suggested_fixes, "{}", written);
        }
    }

    /// A request is answered or refused, with a place.
    #[test]
    fn every_request_is_answered_or_refused(
        value in json(),
        autonomy in json(),
        scope in select(vec!["workflow", "worker", "job"]),
        kind in "[a-z](\\PC{0,6}[a-z])?",
    ) {
        let request = serde_json::json!({"scope": scope, "boundary": {"kind": kind}, "response": value});
        let (parsed, resolution) = Request::parse("request", &request.to_string()).unwrap();
        parsed.answer(&resolution.policy);

        let request = serde_json::json!({"scope": scope, "autonomy": autonomy, "boundary": {"kind": kind}});
        if let Err(problems) = Request::parse("request", &request.to_string()) {
            prop_assert!(problems.iter().all(|problem| problem.position.is_some()), "{}", problems);
        }
    }
}
