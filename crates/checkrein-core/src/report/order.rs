//! The order in which findings are shown: by phase and step, and by category.

use std::collections::HashMap;

use super::{Noted, Report};
use crate::finding::{Category, FindingKind};

/// Findings of one category, and the steps they came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfCategory<'r> {
    pub category: &'r Category,
    pub count: u64,
    /// Each with how many of them it has, in the order they are first met.
    pub tasks: Vec<(&'r str, u64)>,
}

impl Report {
    /// In the order of phases and their steps: attempts of a step stand together though others ran
    /// between them.
    pub fn by_step(&self, kind: FindingKind) -> Vec<&Noted> {
        let phases: HashMap<&str, usize> =
            self.phases.iter().enumerate().map(|(index, row)| (row.name.as_str(), index)).collect();
        let mut tasks: HashMap<&str, usize> = HashMap::new();
        let mut found: Vec<((usize, usize), &Noted)> = Vec::new();
        for noted in self.of_kind(kind) {
            let phase = phases.get(noted.phase.as_str()).copied().unwrap_or(phases.len());
            let next = tasks.len();
            let task = *tasks.entry(noted.task.as_str()).or_insert(next);
            found.push(((phase, task), noted));
        }
        found.sort_by_key(|(order, _)| *order);
        found.into_iter().map(|(_, noted)| noted).collect()
    }

    /// The most frequent category first, a standard one before any other (X15).
    pub fn by_category(&self, kind: FindingKind) -> Vec<OfCategory<'_>> {
        let mut index: HashMap<&Category, usize> = HashMap::new();
        let mut at: HashMap<(usize, &str), usize> = HashMap::new();
        let mut found: Vec<OfCategory<'_>> = Vec::new();
        for noted in self.by_step(kind) {
            let category = &noted.finding.category;
            let next = found.len();
            let place = *index.entry(category).or_insert(next);
            if place == next {
                found.push(OfCategory { category, count: 0, tasks: Vec::new() });
            }
            let Some(entry) = found.get_mut(place) else { continue };
            entry.count += 1;
            let task = *at.entry((place, &noted.task)).or_insert(entry.tasks.len());
            match entry.tasks.get_mut(task) {
                Some((_, count)) => *count += 1,
                None => entry.tasks.push((&noted.task, 1)),
            }
        }
        found.sort_by_key(|entry| {
            let own = matches!(entry.category, Category::Own(_));
            (own, std::cmp::Reverse(entry.count), entry.category)
        });
        found
    }
}
