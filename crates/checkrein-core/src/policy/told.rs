//! A policy in words: each setting, its value, and the key its source is found under.

use std::time::Duration;

use super::protected::DEFAULT;
use super::{Ask, Level, OnLimit, OnTimeout, PhaseOverride, Policy, Resolution, Said, Scope, Trigger};
use crate::duration::Written;

/// The setting whose parts may come from different places.
const GATES: &str = "require_approval_for";

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub setting: String,
    pub value: String,
    /// The key of its source.
    field: String,
}

impl Resolution {
    /// Who set a value, a line for each part of it that has a source of its own.
    pub fn set_by(&self, told: &Told) -> String {
        let source = |field: &str| self.sources.get(field).map(ToString::to_string);
        let mut set_by = source(&told.field).unwrap_or_default();
        // A gate that a phase asked for itself names that phase.
        if told.field == GATES {
            let gates = self.policy.require_approval_for.iter();
            let own: Vec<String> = gates
                .map(|gate| source(&format!("{GATES}.{gate}")).unwrap_or_else(|| set_by.clone()))
                .collect();
            if own.iter().any(|own| *own != set_by) {
                set_by = own.join("\n");
            }
        }
        set_by
    }
}

impl Policy {
    /// Every setting that says something.
    pub fn told(&self) -> Vec<Told> {
        rows(self)
    }
}

fn rows(policy: &Policy) -> Vec<Told> {
    let mut rows: Vec<Told> = Vec::new();
    let mut row = |setting: &str, value: String, field: &str| {
        rows.push(Told { setting: setting.to_owned(), value, field: field.to_owned() });
    };
    let named = policy.level.as_deref().map(|name| match Level::find(policy.scope, name) {
        Some(level) => format!("{name}: {}", level.about),
        None => name.to_owned(),
    });
    row("level", named.unwrap_or_else(|| "none".to_owned()), "level");
    row("holds at", triggers(&policy.hold_at), "hold_at");
    if let Some(frequency) = &policy.check_in_frequency {
        row("check-in frequency", frequency.word().to_owned(), "check_in_frequency");
    }
    if !policy.checkpoint_types.is_empty() {
        row("checkpoint types", policy.checkpoint_types.join("\n"), "checkpoint_types");
    }
    row("asks", ask(policy.ask).to_owned(), "ask");
    row("warning tolerance", policy.tolerance.warning.word().to_owned(), "warning_tolerance");
    row("error tolerance", policy.tolerance.error.word().to_owned(), "error_tolerance");
    let limits = &policy.limits;
    let count = |limit: Option<u64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    row("warnings at most", count(limits.max_total_warnings), "limits.max_total_warnings");
    row("errors at most", count(limits.max_total_errors), "limits.max_total_errors");
    if limits.max_total_warnings.is_some() || limits.max_total_errors.is_some() {
        let action = match limits.on_limit_reached {
            OnLimit::Stop => "stop",
            OnLimit::Truncate => "truncate",
        };
        row("at a limit", action.to_owned(), "limits.on_limit_reached");
    }
    row("approval before", list_or(&policy.require_approval_for, "no phase"), GATES);
    row("a hold waits", policy.timeout.map_or("for ever".to_owned(), length), "timeout");
    if policy.timeout.is_some() {
        let then = match policy.on_timeout {
            OnTimeout::Hold => "stays held",
            OnTimeout::Reject => "is rejected",
        };
        row("and then", then.to_owned(), "on_timeout");
    }
    row("protected paths", protected_paths(&policy.protected_paths), "protected_paths");
    let budget = &policy.budget;
    let parts = [
        ("budget in tokens", budget.tokens.map(|tokens| tokens.to_string()), "budget.tokens"),
        ("budget in cost", budget.cost.map(|cost| cost.to_string()), "budget.cost"),
        ("budget in time", budget.time.map(length), "budget.time"),
    ];
    for (setting, value, field) in parts {
        if let Some(value) = value {
            row(setting, value, field);
        }
    }
    if policy.scope == Scope::Job {
        row("phases at most", format!("{} without approval", policy.max_phases), "max_phases");
    }
    for (phase, own) in &policy.overrides {
        for (setting, value, field) in override_rows(own) {
            rows.push(Told {
                setting: format!("in {phase}: {setting}"),
                value,
                field: format!("overrides.{phase}.{field}"),
            });
        }
    }
    rows
}

fn override_rows(own: &PhaseOverride) -> Vec<(&'static str, String, &'static str)> {
    let word = |said: &Option<_>| said.as_ref().map(Said::word).map(str::to_owned);
    [
        ("holds at", own.hold_at.as_deref().map(triggers), "hold_at"),
        ("asks", own.ask.map(|own| ask(own).to_owned()), "ask"),
        ("warning tolerance", word(&own.warning_tolerance), "warning_tolerance"),
        ("error tolerance", word(&own.error_tolerance), "error_tolerance"),
    ]
    .into_iter()
    .filter_map(|(setting, value, field)| Some((setting, value?, field)))
    .collect()
}

fn triggers(hold_at: &[Trigger]) -> String {
    let lines: Vec<String> = hold_at.iter().map(ToString::to_string).collect();
    list_or(&lines, "never")
}

fn list_or(lines: &[String], none: &str) -> String {
    if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
}

/// The default list is long, and `policy explain --json` has all of it.
fn protected_paths(patterns: &[String]) -> String {
    match patterns.split_at_checked(DEFAULT.len()) {
        Some((default, more)) if default.iter().eq(DEFAULT) => {
            let default = format!("the default list ({} patterns)", DEFAULT.len());
            if more.is_empty() { default } else { format!("{default}\n{}", wrapped(more)) }
        }
        _ => wrapped(patterns),
    }
}

/// Many short values, several to a line.
fn wrapped(values: &[String]) -> String {
    const WIDTH_MAX: usize = 46;
    let mut lines: Vec<String> = Vec::new();
    for value in values {
        match lines.last_mut() {
            Some(line) if line.len() + value.len() + 2 <= WIDTH_MAX => {
                line.push_str("  ");
                line.push_str(value);
            }
            _ => lines.push(value.clone()),
        }
    }
    list_or(&lines, "none")
}

fn ask(ask: Ask) -> &'static str {
    match ask {
        Ask::Always => "always",
        Ask::WhenFindings => "when there are findings",
    }
}

fn length(duration: Duration) -> String {
    Written(duration).to_string()
}
