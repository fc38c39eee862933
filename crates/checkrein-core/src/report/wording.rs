//! Numbers and words of a report as people read them, the same in every format (W15, W16).

use super::{PhaseRow, Remedy, Report};
use crate::activity;
use crate::finding::{FindingKind, Severity};
use crate::run::job::Spent;
use crate::run::{Choice, PhaseStatus, RunStatus};
use crate::tally::BySeverity;

/// `<1s`, `12s`, `5m 32s`, `1h 2m 3s`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => "<1s".to_owned(),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, s) => format!("{h}h {m}m {s}s"),
    }
}

pub const fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Created => "Not started",
        RunStatus::Running => "Running",
        RunStatus::Held => "Held",
        RunStatus::Paused => "Paused",
        RunStatus::Completed => "Completed",
        RunStatus::CompletedWithWarnings => "Completed with warnings",
        RunStatus::Failed => "Failed",
        RunStatus::Cancelled => "Cancelled",
    }
}

/// `2200 tokens, $0.0100`; nothing where nothing was counted.
pub fn used(spent: Spent) -> Option<String> {
    let cost = Some(spent.cost).filter(|cost| *cost > 0.0);
    (spent.tokens > 0 || cost.is_some()).then(|| activity::used(spent.tokens, cost))
}

/// A number is one of a tracker and gets its sign.
pub(super) fn work_item(id: &str) -> String {
    let number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    if number { format!("#{id}") } else { id.to_owned() }
}

/// `1 warning`, `2 errors`.
pub(super) fn count(number: u64, kind: FindingKind) -> String {
    match (number, kind) {
        (1, FindingKind::Warning) => "1 warning".to_owned(),
        (1, FindingKind::Error) => "1 error".to_owned(),
        (number, kind) => format!("{number} {}", kind.plural()),
    }
}

/// `1 warning (medium)`, `2 warnings (1 medium, 1 low)`; the worst first.
pub(super) fn counts(counts: &BySeverity, kind: FindingKind) -> String {
    let total = counts.total();
    let mut text = count(total, kind);
    let severities = Severity::ALL.iter().rev().filter(|severity| counts.of(**severity) > 0);
    let list: Vec<String> = match total {
        0 => return text,
        1 => severities.map(ToString::to_string).collect(),
        _ => severities.map(|severity| format!("{} {severity}", counts.of(*severity))).collect(),
    };
    text.push_str(" (");
    text.push_str(&list.join(", "));
    text.push(')');
    text
}

/// What is said beside the name of a phase: `2/2 steps, 1 warning (medium)`.
pub(super) fn phase(row: &PhaseRow) -> String {
    let mut text = match row.status {
        PhaseStatus::Skipped => "skipped".to_owned(),
        PhaseStatus::NotRun if row.steps_done == 0 && !row.unfinished => "not run".to_owned(),
        _ => match &row.review {
            Some(review) => review.clone(),
            None => format!("{}/{} steps", row.steps_done, row.steps),
        },
    };
    for (kind, found) in [(FindingKind::Warning, &row.warnings), (FindingKind::Error, &row.errors)] {
        if found.total() > 0 {
            text.push_str(", ");
            text.push_str(&counts(found, kind));
        }
    }
    text
}

/// Text as it is, anything else as the JSON it came as.
pub(super) fn artifact(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `build` as `Build`.
pub(super) fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What can be done, and what became of it.
pub fn action(remedy: &Remedy) -> String {
    match remedy.choice {
        None => remedy.title(),
        Some(Choice::Skipped) => format!("{} (skipped, for follow-up)", remedy.title()),
        Some(choice) => format!("{} ({})", remedy.title(), choice.name()),
    }
}

impl Report {
    /// Findings that came, by severity, whether they are kept or not.
    pub fn totals(&self, kind: FindingKind) -> BySeverity {
        let mut sum = BySeverity::default();
        for row in &self.phases {
            sum.join(match kind {
                FindingKind::Warning => &row.warnings,
                FindingKind::Error => &row.errors,
            });
        }
        sum
    }

    /// `12 more warnings were not kept (limit 50)`; none where all of them were.
    pub(super) fn not_kept(&self, kind: FindingKind) -> Option<String> {
        let (more, limit) = match kind {
            FindingKind::Warning => (self.truncated.warnings, self.limits_reached.max_total_warnings),
            FindingKind::Error => (self.truncated.errors, self.limits_reached.max_total_errors),
        };
        let (noun, verb) = match (more, kind) {
            (0, _) => return None,
            (1, FindingKind::Warning) => ("warning", "was"),
            (1, FindingKind::Error) => ("error", "was"),
            (_, kind) => (kind.plural(), "were"),
        };
        let limit = limit.map(|reached| format!(" (limit {})", reached.limit)).unwrap_or_default();
        Some(format!("{more} more {noun} {verb} not kept{limit}"))
    }

    /// The choice that leaves the rest: findings of low severity that nobody proposed a fix for.
    pub fn skip_remaining(&self) -> Option<String> {
        if self.remedies.is_empty() {
            return None;
        }
        let left = |kind| {
            let low = self.of_kind(kind).filter(|noted| {
                noted.finding.severity == Severity::Low && noted.finding.suggested_fix.is_none()
            });
            low.count() as u64
        };
        let counted = [FindingKind::Error, FindingKind::Warning].map(|kind| (left(kind), kind));
        let parts: Vec<String> = counted
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, kind)| {
                let counted = count(number, kind);
                counted.replacen(' ', " low-priority ", 1)
            })
            .collect();
        (!parts.is_empty()).then(|| format!("Skip remaining ({})", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (ms, expected) in [
            (0, "<1s"),
            (999, "<1s"),
            (1_000, "1s"),
            (12_345, "12s"),
            (60_000, "1m 0s"),
            (332_000, "5m 32s"),
            (3_723_000, "1h 2m 3s"),
            (90_000_000, "25h 0m 0s"),
        ] {
            assert_eq!(duration(ms), expected, "{ms}");
        }
    }

    #[test]
    fn counts_by_severity() {
        for (low, medium, high, expected) in [
            (0, 0, 0, "0 warnings"),
            (0, 1, 0, "1 warning (medium)"),
            (1, 1, 0, "2 warnings (1 medium, 1 low)"),
            (2, 0, 0, "2 warnings (2 low)"),
            (1, 2, 3, "6 warnings (3 high, 2 medium, 1 low)"),
        ] {
            assert_eq!(counts(&BySeverity { low, medium, high }, FindingKind::Warning), expected);
        }
    }

    #[test]
    fn work_items() {
        for (id, expected) in [("237", "#237"), ("ABC-1", "ABC-1"), ("#5", "#5"), ("", "")] {
            assert_eq!(work_item(id), expected);
        }
    }
}
