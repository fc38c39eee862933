//! It fails closed: whatever stands in the place of a value and is none of its documented ones, the file is refused, or
//! the policy is no looser than without that line (X1).

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::boundary::{Boundary, BoundaryKind, PhaseKind};
use crate::classify::Classifier;
use crate::decision::{Outcome, Situation, decide};
use crate::document::{Document, Format, Problems};
use crate::plan::Plan;
use crate::policy::{Frequency, Level, Policy, Reading, Scope, Tolerance, Word};
use crate::response::Response;
use crate::tally::Totals;

/// A place an autonomy block is written in.
#[derive(Clone, Copy, Debug)]
enum File {
    Settings(Scope),
    Workflow,
    Tenant,
    Expert,
    Option,
}

const FILES: [File; 7] = [
    File::Settings(Scope::Workflow),
    File::Settings(Scope::Worker),
    File::Settings(Scope::Job),
    File::Workflow,
    File::Tenant,
    File::Expert,
    File::Option,
];

impl File {
    const fn scope(self) -> Scope {
        match self {
            File::Settings(scope) => scope,
            File::Workflow => Scope::Workflow,
            File::Tenant => Scope::Worker,
            File::Expert | File::Option => Scope::Job,
        }
    }

    /// What the file comes to with this block, or with none.
    fn policy(self, block: Option<&Value>) -> Result<Policy, Problems> {
        let document =
            |value: &Value| Document::parse("file.json", &value.to_string(), Format::Json).map(Arc::new);
        let mut settings = Settings::new(None, None, None, Vec::new())?;
        let scope = self.scope();
        let policy = match self {
            File::Settings(scope) => {
                let file = match block {
                    Some(block) => json!({"autonomy": {scope.name(): block}}),
                    None => json!({}),
                };
                let (file, _) = CheckreinFile::read(&document(&file)?, Owner::Project, Reading::Strict)?;
                settings = Settings::new(None, Some(file), None, Vec::new())?;
                settings.resolve(scope, Subject::Anyone, &[])?
            }
            File::Workflow => {
                let step = json!([{"id": "a", "run": "true"}]);
                let mut file = json!({"phases": {"build": {"steps": step}, "release": {"steps": step}}});
                if let (Some(block), Some(file)) = (block, file.as_object_mut()) {
                    file.insert("autonomy".to_owned(), block.clone());
                }
                let (workflow, _) = Workflow::read(&document(&file)?)?;
                let chain = [workflow];
                Plan::resolve(&chain)?;
                settings.resolve(scope, Subject::Workflow(&chain), &[])?
            }
            File::Tenant => {
                let entry = block.map_or_else(|| json!({}), |block| json!({"autonomy": block}));
                let file = document(&json!({"workers": {"w": entry}}))?;
                let (tenant, _) = Tenant::read(&file, Reading::Strict)?;
                settings = Settings::new(None, None, Some((tenant, NamedBy::Caller)), Vec::new())?;
                settings.resolve(scope, Subject::Worker("w"), &[])?
            }
            File::Expert => {
                let file = block.map_or_else(|| json!({}), |block| json!({"autonomy": block}));
                let (file, _) = ExpertFile::read(&document(&file)?, Owner::Project)?;
                let expert = Expert::find("x", |_| Ok(Some(file.clone())), &[])?;
                settings.resolve(scope, Subject::Expert(&expert), &[])?
            }
            File::Option => {
                let text = block.map(Value::to_string);
                let start = text.map(|text| env::layer(crate::policy::LayerRank::Start, "--autonomy", &text));
                let start: Vec<_> = start.transpose()?.into_iter().collect();
                settings.resolve(scope, Subject::Anyone, &start)?
            }
        };
        Ok(policy.policy)
    }
}

/// Whether a value is one of those its place documents.
type IsValid = fn(Scope, &Value) -> bool;

/// The keys of a block whose values are words, numbers or yes and no: the block with a hole in it, and what may stand there.
fn holes(scope: Scope) -> Vec<(Value, IsValid)> {
    const HOLE: &str = "HOLE";
    let level: IsValid = |scope, value| value.as_str().is_some_and(|name| Level::find(scope, name).is_some());
    let frequency: IsValid = |_, value| known::<Frequency>(value);
    let tolerance: IsValid = |_, value| known::<Tolerance>(value);
    let boundary: IsValid = |scope, value| {
        let reached = scope.boundaries();
        let free = |name: &str| reached.is_none_or(|kinds| kinds.iter().any(|kind| kind.name() == name));
        value.as_str().is_some_and(|name| name == "*" || free(name))
    };
    let phase: IsValid = |_, value| value.as_str().is_some_and(|name| !name.trim().is_empty());
    let count: IsValid = |_, value| value.as_f64().is_some_and(|number| number >= 1.0);
    let share: IsValid = |_, value| value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
    let yes: IsValid = |_, value| value.is_boolean();
    let word: IsValid = |_, value| {
        let words =
            ["always", "when_findings", "stop", "truncate", "hold", "reject", "strategic", "tactical"];
        value.as_str().is_some_and(|value| words.contains(&value))
    };
    let mut holes = vec![
        (json!(HOLE), level),
        (json!({"level": HOLE}), level),
        (json!({"check_in_frequency": HOLE}), frequency),
        (json!({"warning_tolerance": HOLE}), tolerance),
        (json!({"error_tolerance": HOLE}), tolerance),
        (json!({"hold_at": [{"on": HOLE}]}), boundary),
        (json!({"hold_at": [{"on": "phase", "phase_kind": HOLE}]}), word),
        (json!({"hold_at": [{"on": "phase", "every": HOLE}]}), count),
        (json!({"hold_at": [{"on": "phase", "first": HOLE}]}), yes),
        (json!({"hold_at": [{"on": "phase", "confidence_below": HOLE}]}), share),
        (json!({"ask": HOLE}), word),
        (json!({"on_timeout": HOLE}), word),
        (json!({"pause_before_release": HOLE}), yes),
        (json!({"require_approval_for": [HOLE]}), phase),
        (json!({"limits": {"max_total_warnings": HOLE}}), count),
        (json!({"limits": {"max_total_errors": HOLE}}), count),
        (json!({"limits": {"on_limit_reached": HOLE}}), word),
        (json!({"budget": {"tokens": HOLE}}), count),
    ];
    for own in ["level", "check_in_frequency", "warning_tolerance", "error_tolerance", "ask"] {
        let documented = match own {
            "level" => level,
            "check_in_frequency" => frequency,
            "ask" => word,
            _ => tolerance,
        };
        holes.push((json!({"overrides": {"build": {own: HOLE}}}), documented));
    }
    holes.push((json!({"overrides": {"build": {"hold_at": [{"on": HOLE}]}}}), boundary));
    if scope == Scope::Worker {
        // Types are free, and a level that holds at them is meant.
        holes.retain(|(block, _)| !block.to_string().contains("\"on\":\"HOLE\""));
    }
    holes
}

fn known<T: Word>(value: &Value) -> bool {
    value.as_str().is_some_and(|word| T::WORDS.iter().any(|(name, _)| *name == word))
}

fn filled(block: &Value, value: &Value) -> Value {
    match block {
        Value::String(text) if text == "HOLE" => value.clone(),
        Value::Array(items) => items.iter().map(|item| filled(item, value)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, inner)| (key.clone(), filled(inner, value)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

/// A word that is nearly right, and everything else.
fn anything() -> impl Strategy<Value = Value> {
    const WORDS: &[&str] = &[
        "guided",
        "partial",
        "full",
        "manual",
        "autonomous",
        "semi_supervised",
        "guarded",
        "assist",
        "custom",
        "per-step",
        "per-phase",
        "end-only",
        "none",
        "low",
        "medium",
        "high",
        "phase",
        "complete",
        "step",
        "phase_entry",
        "release",
        "build",
        "always",
        "when_findings",
        "stop",
        "hold",
        "strategic",
        "true",
    ];
    let near =
        (select(WORDS), any::<prop::sample::Index>(), any::<Option<char>>()).prop_map(|(word, at, with)| {
            let letters: Vec<char> = word.chars().collect();
            let at = at.index(letters.len());
            let changed =
                letters.iter().enumerate().filter_map(|(index, c)| if index == at { with } else { Some(*c) });
            Value::from(changed.collect::<String>())
        });
    let shouted = select(WORDS).prop_map(|word| Value::from(word.to_uppercase()));
    let text = any::<String>().prop_map(Value::from);
    let number = prop_oneof![any::<i64>().prop_map(Value::from), any::<f64>().prop_map(Value::from)];
    let other =
        select(vec![json!([]), json!({}), json!([null]), json!({"on": "phase"}), json!(true), json!(0)]);
    prop_oneof![4 => near, 1 => shouted, 3 => text, 1 => number, 1 => other, 2 => select(WORDS).prop_map(Value::from)]
}

/// Outcomes at every boundary of a run, with everything a step may return.
fn outcomes(policy: &Policy) -> Vec<Outcome> {
    let classifier = Classifier::builtin();
    let mut responses = vec![None];
    for severity in ["low", "medium", "high"] {
        let finding = json!([{"text": "x", "severity": severity}]);
        responses
            .push(Some(Response::judged(&json!({"status": "warning", "warnings": finding}), classifier)));
        responses.push(Some(Response::judged(&json!({"status": "failure", "errors": finding}), classifier)));
    }
    let mut outcomes = Vec::new();
    for kind in BoundaryKind::ALL {
        for phase in ["build", "release", "other"] {
            for number in 1..=4_u32 {
                let phase_kind = if number % 2 == 1 { PhaseKind::Strategic } else { PhaseKind::Tactical };
                let boundary = Boundary {
                    kind: kind.clone(),
                    phase: Some(phase.to_owned()),
                    phase_kind: Some(phase_kind),
                    phase_number: Some(number),
                    ..Boundary::default()
                };
                for (response, seen) in responses.iter().flat_map(|response| [(response, 0), (response, 100)])
                {
                    let situation = Situation {
                        response: response.as_ref(),
                        totals: Totals { warnings: seen, errors: seen },
                        findings_since_check_in: 1,
                        ..Situation::at(&boundary)
                    };
                    outcomes.push(decide(policy, &situation).outcome);
                }
            }
        }
    }
    outcomes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_nobody_knows_never_loosens_a_policy(value in anything(), file in select(FILES.to_vec())) {
        let without = outcomes(&file.policy(None).unwrap());
        for (block, documented) in holes(file.scope()) {
            if documented(file.scope(), &value) {
                continue;
            }
            let block = filled(&block, &value);
            let Ok(policy) = file.policy(Some(&block)) else { continue };
            let with = outcomes(&policy);
            let looser = with.iter().zip(&without).any(|(with, without)| with < without);
            prop_assert!(!looser, "{file:?}: {block} is looser than nothing");
        }
    }
}
