//! Running totals of the findings in a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, FindingKind, Severity};
use crate::response::Response;

/// Every finding counts, tolerated or not, kept or truncated (X4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub warnings: u64,
    pub errors: u64,
    pub by_severity: BySeverity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BySeverity {
    pub low: u64,
    pub medium: u64,
    pub high: u64,
}

/// The two numbers that limits are tested on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Totals {
    pub warnings: u64,
    pub errors: u64,
}

impl Tally {
    pub fn add(&mut self, response: &Response) {
        self.warnings = self.warnings.saturating_add(response.warnings.len() as u64);
        self.errors = self.errors.saturating_add(response.errors.len() as u64);
        for finding in response.findings() {
            self.by_severity.add(finding.severity);
        }
    }

    pub fn totals(&self) -> Totals {
        Totals { warnings: self.warnings, errors: self.errors }
    }
}

impl BySeverity {
    pub const fn add(&mut self, severity: Severity) {
        let count = match severity {
            Severity::Low => &mut self.low,
            Severity::Medium => &mut self.medium,
            Severity::High => &mut self.high,
        };
        *count = count.saturating_add(1);
    }

    /// Adds what was counted elsewhere.
    pub const fn join(&mut self, other: &BySeverity) {
        self.low = self.low.saturating_add(other.low);
        self.medium = self.medium.saturating_add(other.medium);
        self.high = self.high.saturating_add(other.high);
    }

    pub const fn of(&self, severity: Severity) -> u64 {
        match severity {
            Severity::Low => self.low,
            Severity::Medium => self.medium,
            Severity::High => self.high,
        }
    }

    pub const fn total(&self) -> u64 {
        self.low.saturating_add(self.medium).saturating_add(self.high)
    }
}

impl Totals {
    pub const fn of(self, kind: FindingKind) -> u64 {
        match kind {
            FindingKind::Warning => self.warnings,
            FindingKind::Error => self.errors,
        }
    }

    /// After these findings came in. Saturating: a run never fails because it counted too far.
    pub fn plus(self, warnings: &[Finding], errors: &[Finding]) -> Totals {
        Totals {
            warnings: self.warnings.saturating_add(warnings.len() as u64),
            errors: self.errors.saturating_add(errors.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::classify::Classifier;

    #[test]
    fn every_finding_counts_by_kind_and_by_severity() {
        let mut tally = Tally::default();
        for value in [
            json!({"warnings": ["Style issue", "Deprecated API"], "errors": ["Build failed"]}),
            json!({"status": "failure"}),
            json!({}),
        ] {
            tally.add(&Response::judged(&value, Classifier::builtin()));
        }
        assert_eq!(tally.totals(), Totals { warnings: 2, errors: 2 });
        assert_eq!(tally.by_severity, BySeverity { low: 1, medium: 1, high: 2 });
    }
}
