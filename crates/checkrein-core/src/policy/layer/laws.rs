//! What holds for every layer on top of any others.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::*;
use crate::document::{Document, Format, Gravity, decode};
use crate::policy::{Autonomy, Level, migrate};

const WORDS: &[&str] = &["none", "low", "medium", "high"];
const FREQUENCIES: &[&str] = &["per-step", "per-phase", "end-only"];
const PHASES: &[&str] = &["build", "release", "a", "a.b"];

/// A value that may be null, which is something else than absent.
fn or_null(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    option::weighted(0.8, value).prop_map(|value| value.unwrap_or(Value::Null))
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    or_null(select(words).prop_map(Value::from))
}

fn words(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    or_null(vec(select(words), 0..3).prop_map(Value::from))
}

/// Some of these keys, each with a value.
fn some_of(entries: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let each: Vec<_> = entries
        .into_iter()
        .map(|(key, value)| option::weighted(0.35, value).prop_map(move |value| (key, value)))
        .collect();
    each.prop_map(|entries| {
        let set = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Value::Object(set.collect())
    })
}

fn levels(scope: Scope) -> BoxedStrategy<Value> {
    let names: Vec<&str> = Level::of(scope).map(|level| level.name).collect();
    or_null(select(names).prop_map(Value::from)).boxed()
}

fn triggers() -> BoxedStrategy<Value> {
    let trigger = select(vec![
        json!({"on": "*"}),
        json!({"on": "step"}),
        json!({"on": "complete"}),
        json!({"on": "phase", "every": 2}),
        json!({"on": "phase", "confidence_below": 0.7}),
        json!({"on": "phase"}),
    ]);
    or_null(vec(trigger, 0..3).prop_map(Value::from)).boxed()
}

fn own_block(scope: Scope) -> impl Strategy<Value = Value> {
    let block = some_of(vec![
        ("level", levels(scope)),
        ("check_in_frequency", word(FREQUENCIES).boxed()),
        ("hold_at", triggers()),
        ("warning_tolerance", word(WORDS).boxed()),
        ("error_tolerance", word(WORDS).boxed()),
        ("ask", word(&["always", "when_findings"]).boxed()),
        ("limits", or_null(Just(json!({"max_total_errors": 1}))).boxed()),
    ]);
    prop_oneof![1 => levels(scope), 3 => block]
}

fn block(scope: Scope) -> impl Strategy<Value = Value> {
    let limit = || or_null((1..100_i64).prop_map(Value::from)).boxed();
    let limits = some_of(vec![
        ("max_total_warnings", limit()),
        ("max_total_errors", limit()),
        ("on_limit_reached", word(&["stop", "truncate"]).boxed()),
    ]);
    let budget = some_of(vec![
        ("tokens", or_null((1..=u64::MAX).prop_map(Value::from)).boxed()),
        ("cost", or_null((0.1..100.0).prop_map(Value::from)).boxed()),
        ("time", word(&["90s", "1h 30m"]).boxed()),
    ]);
    let overrides = vec((select(PHASES), own_block(scope)), 0..3).prop_map(|phases| {
        let phases: Map<String, Value> =
            phases.into_iter().map(|(name, own)| (name.to_owned(), own)).collect();
        Value::Object(phases)
    });
    some_of(vec![
        ("level", levels(scope)),
        ("check_in_frequency", word(FREQUENCIES).boxed()),
        ("checkpoint_types", words(&["draft", "deliverable", "", "*"]).boxed()),
        ("hold_at", triggers()),
        ("warning_tolerance", word(WORDS).boxed()),
        ("error_tolerance", word(WORDS).boxed()),
        ("limits", or_null(limits).boxed()),
        ("overrides", or_null(overrides).boxed()),
        ("require_approval_for", words(PHASES).boxed()),
        ("pause_before_release", or_null(any::<bool>().prop_map(Value::from)).boxed()),
        ("ask", word(&["always", "when_findings"]).boxed()),
        ("timeout", word(&["90s", "2h"]).boxed()),
        ("on_timeout", word(&["hold", "reject"]).boxed()),
        ("protected_paths", words(&["a", "b/**"]).boxed()),
        ("budget", or_null(budget).boxed()),
        ("max_phases", or_null((1..100_i64).prop_map(Value::from)).boxed()),
    ])
}

fn layer(rank: LayerRank, block: &Value) -> Layer {
    let document = Arc::new(Document::parse("layer", &block.to_string(), Format::Json).unwrap());
    let (autonomy, _) = decode::<Autonomy>(&document, Gravity::Error).unwrap();
    Layer { rank, origin: Origin::within(&document, &[]), block: Block::of(autonomy) }
}

/// A scope, what some weaker layers left of it, and one more block. `custom` without `hold_at` is
/// refused and says nothing about merging.
fn on_top() -> impl Strategy<Value = (Resolution, Value)> {
    select(Scope::ALL.to_vec()).prop_flat_map(|scope| {
        (vec(block(scope), 0..3), block(scope)).prop_map(move |(weaker, top)| {
            let below = weaker.iter().fold(Resolution::builtin(scope), |resolution, block| {
                resolution.amend(&layer(LayerRank::Definition, block)).unwrap_or(resolution)
            });
            (below, top)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_empty_block_changes_nothing((below, _) in on_top()) {
        for empty in [json!({}), json!({"limits": {}, "budget": {}, "overrides": {}, "description": "x", "examples": []})] {
            prop_assert_eq!(&below.amend(&layer(LayerRank::Start, &empty)).unwrap(), &below);
        }
    }

    #[test]
    fn the_same_layer_twice_is_the_same_as_once((below, top) in on_top()) {
        let top = layer(LayerRank::Start, &top);
        if let Ok(once) = below.amend(&top) {
            let twice = once.amend(&top).unwrap();
            prop_assert_eq!(&twice.policy, &once.policy);
            prop_assert_eq!(&twice.sources, &once.sources);
        }
    }

    #[test]
    fn what_is_cleared_is_the_built_in_default((below, top) in on_top()) {
        let Ok(set) = below.amend(&layer(LayerRank::Start, &top)) else { return Ok(()) };
        let builtin = Policy::builtin(set.policy.scope);
        let cleared = |field: &str| {
            let block = Value::Object(Map::from_iter([(field.to_owned(), Value::Null)]));
            set.amend(&layer(LayerRank::Change, &block)).unwrap().policy
        };
        let was = &set.policy;
        prop_assert_eq!(cleared("level").level, builtin.level.clone());
        prop_assert_eq!(cleared("hold_at"), Policy { hold_at: builtin.hold_at.clone(), check_in_frequency: builtin.check_in_frequency.clone(), ..was.clone() });
        prop_assert_eq!(cleared("check_in_frequency"), cleared("hold_at"));
        prop_assert_eq!(cleared("checkpoint_types").checkpoint_types, builtin.checkpoint_types.clone());
        prop_assert_eq!(cleared("warning_tolerance").tolerance.warning, builtin.tolerance.warning.clone());
        prop_assert_eq!(cleared("error_tolerance").tolerance.error, builtin.tolerance.error.clone());
        prop_assert_eq!(cleared("limits"), Policy { limits: builtin.limits, ..was.clone() });
        prop_assert_eq!(cleared("overrides"), Policy { overrides: builtin.overrides.clone(), ..was.clone() });
        prop_assert_eq!(cleared("require_approval_for"), Policy { require_approval_for: Vec::new(), ..was.clone() });
        let unpaused = cleared("pause_before_release");
        prop_assert_eq!(&Policy { require_approval_for: was.require_approval_for.clone(), ..unpaused.clone() }, was);
        let listed = |policy: &Policy| policy.require_approval_for.iter().filter(|gate| *gate != "release").cloned().collect::<Vec<_>>();
        prop_assert_eq!(listed(&unpaused), listed(was));
        prop_assert_eq!(cleared("ask"), Policy { ask: builtin.ask, ..was.clone() });
        prop_assert_eq!(cleared("timeout"), Policy { timeout: None, ..was.clone() });
        prop_assert_eq!(cleared("on_timeout"), Policy { on_timeout: builtin.on_timeout, ..was.clone() });
        prop_assert_eq!(cleared("protected_paths"), Policy { protected_paths: builtin.protected_paths.clone(), ..was.clone() });
        prop_assert_eq!(cleared("max_phases"), Policy { max_phases: builtin.max_phases, ..was.clone() });
        prop_assert_eq!(cleared("budget"), Policy { budget: builtin.budget, ..was.clone() });
    }

    /// Everything cleared at once is where it all began.
    #[test]
    fn all_cleared_is_the_built_in_policy((below, top) in on_top()) {
        let Ok(set) = below.amend(&layer(LayerRank::Start, &top)) else { return Ok(()) };
        let all: Map<String, Value> = ALL_FIELDS
            .iter()
            .map(|field| field.split('.').next().unwrap_or(field))
            .chain(["overrides"])
            .map(|field| (field.to_owned(), Value::Null))
            .collect();
        let cleared = set.amend(&layer(LayerRank::Change, &Value::Object(all))).unwrap();
        prop_assert_eq!(cleared.policy, Policy::builtin(set.policy.scope));
    }

    #[test]
    fn every_value_has_a_source((below, top) in on_top()) {
        let Ok(resolution) = below.amend(&layer(LayerRank::Start, &top)) else { return Ok(()) };
        for field in ALL_FIELDS {
            prop_assert!(resolution.sources.contains_key(*field), "{}", field);
        }
        for (phase, own) in &resolution.policy.overrides {
            for (field, set) in [
                ("hold_at", own.hold_at.is_some()),
                ("check_in_frequency", own.check_in_frequency.is_some()),
                ("warning_tolerance", own.warning_tolerance.is_some()),
                ("error_tolerance", own.error_tolerance.is_some()),
                ("ask", own.ask.is_some()),
            ] {
                let key = format!("overrides.{phase}.{field}");
                prop_assert!(!set || resolution.sources.contains_key(&key), "{}", key);
            }
        }
        // and no source speaks of a phase that is gone
        for key in resolution.sources.keys().filter_map(|key| key.strip_prefix("overrides.")) {
            let phase = key.rsplit_once('.').map_or("", |(phase, _)| phase);
            prop_assert!(resolution.policy.overrides.contains_key(phase), "{}", key);
        }
    }

    #[test]
    fn a_snapshot_reads_back((below, top) in on_top()) {
        let resolution = below.amend(&layer(LayerRank::Start, &top)).unwrap_or(below);
        let text = serde_json::to_string(&resolution).unwrap();
        let back: Resolution = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.policy, resolution.policy);
        prop_assert_eq!(back.sources, resolution.sources);
    }

    /// Rewriting the levels of a file leaves its policy as it was, whatever stands below it.
    #[test]
    fn migrating_changes_no_policy(weaker in vec(block(Scope::Workflow), 0..3), top in block(Scope::Workflow)) {
        let below = weaker.iter().fold(Resolution::builtin(Scope::Workflow), |resolution, block| {
            resolution.amend(&layer(LayerRank::Definition, block)).unwrap_or(resolution)
        });
        let text = json!({ "autonomy": top }).to_string();
        let migrated = migrate(&Document::parse("file", &text, Format::Json).unwrap()).unwrap().text;
        let migrated: Value = serde_json::from_str(&migrated).unwrap();
        let resolved = |block: &Value| {
            below.amend(&layer(LayerRank::Start, block)).map(|after| Policy { level: None, ..after.policy }).ok()
        };
        prop_assert_eq!(resolved(&top), resolved(&migrated["autonomy"]), "{} became {}", top, migrated);
    }
}
