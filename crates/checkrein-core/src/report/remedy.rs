//! What can be done about the findings of a run, the most urgent first (W16).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::{Noted, Report};
use crate::finding::{Category, FindingKind, Fix, Severity};
use crate::run::Choice;

/// A proposed fix: of one finding, or of a response as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    pub task: String,
    pub phase: String,
    /// What it mends; none where the response proposes it as a whole.
    pub finding: Option<(FindingKind, Severity, Category)>,
    pub description: String,
    pub command: Option<String>,
    pub file: Option<String>,
    /// What a person did about it last.
    pub choice: Option<Choice>,
}

impl Remedy {
    /// What a person chooses.
    pub fn title(&self) -> String {
        match (&self.finding, &self.command) {
            (Some((kind, _, category)), Some(_)) => {
                let kind = kind.to_string().to_lowercase();
                format!("Apply fix for {} {category} {kind}", self.task)
            }
            _ => self.description.clone(),
        }
    }

    /// What is the same in two that are one: a command is told by itself, the rest by its words.
    fn same(&self) -> (&str, Option<&str>, Option<&str>, Option<&str>) {
        let words = self.command.is_none().then_some(self.description.as_str());
        (&self.task, self.command.as_deref(), self.file.as_deref(), words)
    }
}

/// Categories in the order in which they are mended; one of the response's own comes last.
const URGENT: [Category; 8] = [
    Category::Security,
    Category::Compatibility,
    Category::Deprecation,
    Category::Validation,
    Category::Performance,
    Category::Configuration,
    Category::Style,
    Category::Other,
];

/// By kind, severity, category and phase.
type Order = (usize, Reverse<Severity>, usize, Option<usize>);

pub(super) fn all(report: &Report) -> Vec<Remedy> {
    let places: HashMap<&str, usize> =
        report.phases.iter().enumerate().map(|(index, row)| (row.name.as_str(), index)).collect();
    let phase = |name: &str| places.get(name).copied();
    let urgency =
        |category: &Category| URGENT.iter().position(|known| known == category).unwrap_or(URGENT.len());
    let mut found: Vec<(Order, Remedy)> = Vec::new();
    let own = report.findings.iter().filter_map(|noted| Some((noted, noted.finding.suggested_fix.as_ref()?)));
    for (Noted { task, phase: name, finding, .. }, fix) in own {
        let kind = usize::from(finding.kind == FindingKind::Warning);
        let order = (kind, Reverse(finding.severity), urgency(&finding.category), phase(name));
        let about = Some((finding.kind, finding.severity, finding.category.clone()));
        found.push((order, remedy(task, name, about, fix)));
    }
    for attempt in report.attempts.iter().filter(|attempt| attempt.judged) {
        // As urgent as the worst the response has found.
        let response = &attempt.response;
        let worst = response.findings().map(|finding| (finding.kind, finding.severity)).max();
        let (kind, severity) = worst.unwrap_or((FindingKind::Warning, Severity::Low));
        for fix in &response.suggested_fixes {
            let kind = usize::from(kind == FindingKind::Warning);
            let order = (kind, Reverse(severity), URGENT.len(), phase(&attempt.phase));
            found.push((order, remedy(&attempt.task, &attempt.phase, None, fix)));
        }
    }
    // Stable: what is equally urgent stays in the order it came.
    found.sort_by_key(|(order, _)| *order);
    // What a response proposes for a finding and again as a whole is one thing to do.
    let mut known = HashSet::new();
    let first: Vec<bool> = found.iter().map(|(_, remedy)| known.insert(remedy.same())).collect();
    found.into_iter().zip(first).filter_map(|((_, remedy), first)| first.then_some(remedy)).collect()
}

fn remedy(task: &str, phase: &str, finding: Option<(FindingKind, Severity, Category)>, fix: &Fix) -> Remedy {
    Remedy {
        task: task.to_owned(),
        phase: phase.to_owned(),
        finding,
        description: fix.description.clone(),
        command: fix.command.clone(),
        file: fix.file.clone(),
        choice: None,
    }
}
