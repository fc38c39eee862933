//! What can be done about the findings of a run, the most urgent first (W16).

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Noted, Report};
use crate::finding::{Category, FindingKind, Fix, Severity};
use crate::run::{Attempt, Choice, RemedyChosen};

/// A proposed fix: of one finding, or of a response as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// Its places among everything the run proposed, counted from 1: the first that counts here, then those that
    /// proposed the same again.
    places: Vec<u64>,
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
    /// Its own in the run, also where two have the same title.
    pub fn id(&self) -> String {
        let first = self.places.first().copied().unwrap_or_default();
        format!("fix-{first}")
    }

    /// Whether a person meant this one.
    fn is_chosen_by(&self, chosen: &RemedyChosen) -> bool {
        match &chosen.id {
            Some(id) => self.places.iter().any(|place| *id == format!("fix-{place}")),
            None => {
                self.task == chosen.task
                    && self.title() == chosen.title
                    && self.command == chosen.command
                    && self.file == chosen.file
            }
        }
    }

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
    fn same(&self) -> Same {
        let words = self.command.is_none().then(|| self.description.clone());
        (self.task.clone(), self.command.clone(), self.file.clone(), words)
    }
}

type Same = (String, Option<String>, Option<String>, Option<String>);

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

/// How many fixes a response proposes.
pub(super) fn proposed(attempt: &Attempt) -> u64 {
    let response = &attempt.response;
    let own = response.findings().filter(|finding| finding.suggested_fix.is_some()).count();
    (own as u64).saturating_add(response.suggested_fixes.len() as u64)
}

/// `before` says how many fixes were proposed before each attempt of the report, `chosen` what people did about them
/// and how many had been proposed by then.
pub(super) fn all(report: &Report, before: &[u64], chosen: &[(&RemedyChosen, u64)]) -> Vec<Remedy> {
    let places: HashMap<&str, usize> =
        report.phases.iter().enumerate().map(|(index, row)| (row.name.as_str(), index)).collect();
    let phase = |name: &str| places.get(name).copied();
    let urgency =
        |category: &Category| URGENT.iter().position(|known| known == category).unwrap_or(URGENT.len());
    let mut found: Vec<(Order, Remedy)> = Vec::new();
    for Noted { task, phase: name, finding, remedy_place, .. } in &report.findings {
        let (Some(fix), Some(place)) = (&finding.suggested_fix, *remedy_place) else { continue };
        let kind = usize::from(finding.kind == FindingKind::Warning);
        let order = (kind, Reverse(finding.severity), urgency(&finding.category), phase(name));
        let about = Some((finding.kind, finding.severity, finding.category.clone()));
        found.push((order, remedy(place, task, name, about, fix)));
    }
    for (attempt, before) in report.attempts.iter().zip(before).filter(|(attempt, _)| attempt.judged) {
        // As urgent as the worst the response has found.
        let response = &attempt.response;
        let worst = response.findings().map(|finding| (finding.kind, finding.severity)).max();
        let (kind, severity) = worst.unwrap_or((FindingKind::Warning, Severity::Low));
        let own = response.findings().filter(|finding| finding.suggested_fix.is_some()).count() as u64;
        for (place, fix) in (before.saturating_add(own).saturating_add(1)..).zip(&response.suggested_fixes) {
            let kind = usize::from(kind == FindingKind::Warning);
            let order = (kind, Reverse(severity), URGENT.len(), phase(&attempt.phase));
            found.push((order, remedy(place, &attempt.task, &attempt.phase, None, fix)));
        }
    }
    // Stable: what is equally urgent stays in the order it came.
    found.sort_by_key(|(order, _)| *order);
    // What a response proposes for a finding and again as a whole is one thing to do.
    let mut all: Vec<Remedy> = Vec::new();
    let mut known: HashMap<Same, usize> = HashMap::new();
    for (_, remedy) in found {
        match known.get(&remedy.same()).and_then(|index| all.get_mut(*index)) {
            Some(first) => first.places.extend(remedy.places),
            None => {
                known.insert(remedy.same(), all.len());
                all.push(remedy);
            }
        }
    }
    for remedy in &mut all {
        remedy.places.sort_unstable();
        let whole = remedy.clone();
        for (chosen, by_then) in chosen.iter().filter(|(chosen, _)| whole.is_chosen_by(chosen)) {
            // What is proposed again after it was chosen is open again, under the place it has now (R5).
            if remedy.places.last().is_some_and(|last| last > by_then) {
                remedy.places.retain(|place| place > by_then);
            } else {
                remedy.choice = Some(chosen.choice);
            }
        }
    }
    all
}

fn remedy(
    place: u64,
    task: &str,
    phase: &str,
    finding: Option<(FindingKind, Severity, Category)>,
    fix: &Fix,
) -> Remedy {
    Remedy {
        places: vec![place],
        task: task.to_owned(),
        phase: phase.to_owned(),
        finding,
        description: fix.description.clone(),
        command: fix.command.clone(),
        file: fix.file.clone(),
        choice: None,
    }
}
