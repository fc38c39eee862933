//! The resolved policy as `policy show --json` prints it: a fixed contract.

use serde::Serialize;

use super::{Ask, Frequency, Limits, PhaseOverride, Policy, Resolution, Said, Tolerance, Trigger};

#[derive(Serialize)]
pub struct Shown<'p> {
    level: Option<&'p str>,
    check_in_frequency: Option<&'p Said<Frequency>>,
    warning_tolerance: &'p Said<Tolerance>,
    error_tolerance: &'p Said<Tolerance>,
    limits: &'p Limits,
    checkpoint_types: &'p [String],
    hold_at: &'p [Trigger],
    overrides: serde_json::Map<String, serde_json::Value>,
    ask: Ask,
    warnings: Vec<String>,
}

impl<'p> Shown<'p> {
    pub fn of(resolution: &'p Resolution) -> Shown<'p> {
        let policy: &Policy = &resolution.policy;
        Shown {
            level: policy.level.as_deref(),
            check_in_frequency: policy.check_in_frequency.as_ref(),
            warning_tolerance: &policy.tolerance.warning,
            error_tolerance: &policy.tolerance.error,
            limits: &policy.limits,
            checkpoint_types: &policy.checkpoint_types,
            hold_at: &policy.hold_at,
            overrides: policy
                .overrides
                .iter()
                .map(|(phase, own)| (phase.clone(), override_json(own)))
                .collect(),
            ask: policy.ask,
            warnings: resolution.problems.iter().map(|problem| problem.message.clone()).collect(),
        }
    }
}

/// Only what the phase sees differently, in the words it was written with.
fn override_json(own: &PhaseOverride) -> serde_json::Value {
    let mut map = serde_json::Map::new();
    let mut put = |name: &str, value: Option<serde_json::Value>| {
        if let Some(value) = value {
            map.insert(name.to_owned(), value);
        }
    };
    put("check_in_frequency", own.check_in_frequency.as_ref().map(|frequency| frequency.word().into()));
    // A frequency is sugar for one trigger; more than that has to be said.
    let sugar = own.check_in_frequency.as_ref().map(|said| said.meaning.trigger().into_iter().collect());
    if own.hold_at != sugar {
        put("hold_at", own.hold_at.as_ref().and_then(|triggers| serde_json::to_value(triggers).ok()));
    }
    put("warning_tolerance", own.warning_tolerance.as_ref().map(|tolerance| tolerance.word().into()));
    put("error_tolerance", own.error_tolerance.as_ref().map(|tolerance| tolerance.word().into()));
    put("ask", own.ask.and_then(|ask| serde_json::to_value(ask).ok()));
    serde_json::Value::Object(map)
}
