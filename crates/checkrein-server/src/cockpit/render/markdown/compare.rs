//! Two versions of a document as one.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::read::{Container, Document, Kind, Leaf, Token, What};

/// A leaf as it is shown.
#[derive(Debug)]
pub(super) struct Shown<'d> {
    pub leaf: &'d Leaf,
    pub path: Vec<Container>,
    pub change: Change,
}

#[derive(Debug)]
pub(super) enum Change {
    Same,
    Added,
    Removed,
    /// Its words, and which of them came or went.
    Words(Vec<(Token, Fate)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Added,
    Removed,
}

/// More leaves or words are not compared one by one.
const LEAVES_MAX: usize = 4_000;
const WORDS_MAX: usize = 4_000;
/// Two leaves that share less than this many percent are two.
const SHARED_PERCENT_MIN: usize = 40;

pub(super) fn as_it_is(document: &Document) -> Vec<Shown<'_>> {
    let shown = |leaf| Shown { leaf, path: Leaf::clone(leaf).path, change: Change::Same };
    document.leaves.iter().map(shown).collect()
}

/// Both versions in one order; none if there is too much of them.
pub(super) fn compared<'d>(old: &'d Document, new: &'d Document) -> Option<Vec<Shown<'d>>> {
    if old.leaves.len().saturating_add(new.leaves.len()) > LEAVES_MAX {
        return None;
    }
    let (before, now) = (keys(old), keys(new));
    let mut comparing = Comparing { old, new, known: HashMap::new(), shown: Vec::new() };
    for op in capture_diff_slices(Algorithm::Myers, &before, &now) {
        let (removed, added) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            removed.zip(added).for_each(|(old, new)| comparing.keep(old, new));
        } else {
            comparing.replace(removed, added);
        }
    }
    Some(comparing.shown)
}

/// What makes two leaves the same.
fn keys(document: &Document) -> Vec<String> {
    let key = |leaf: &Leaf| {
        let around: Vec<_> = leaf.path.iter().map(|container| container.kind).collect();
        format!("{around:?}{:?}{:?}", leaf.kind, leaf.tokens)
    };
    document.leaves.iter().map(key).collect()
}

struct Comparing<'d> {
    old: &'d Document,
    new: &'d Document,
    /// What is around leaves of the old version, and what it is now.
    known: HashMap<usize, usize>,
    shown: Vec<Shown<'d>>,
}

/// So that containers of the two versions are never taken for each other.
const OLD: usize = 1 << 40;

impl<'d> Comparing<'d> {
    fn keep(&mut self, old: usize, new: usize) {
        self.pair(old, new, Change::Same);
    }

    fn pair(&mut self, old: usize, new: usize, change: Change) {
        let (Some(before), Some(leaf)) = (self.old.leaves.get(old), self.new.leaves.get(new)) else { return };
        for (was, is) in before.path.iter().zip(&leaf.path) {
            self.known.insert(was.id, is.id);
        }
        self.shown.push(Shown { leaf, path: leaf.path.clone(), change });
    }

    fn remove(&mut self, old: usize) {
        let Some(leaf) = self.old.leaves.get(old) else { return };
        let mut path: Vec<Container> = Vec::with_capacity(leaf.path.len());
        for container in &leaf.path {
            let id = self.known.get(&container.id).copied();
            // A list that no leaf is left of stands in the one that is there now.
            let beside = self.shown.last().and_then(|last| last.path.get(path.len()));
            let beside = beside.filter(|beside| {
                let item = matches!(container.kind, super::read::Around::Item(_));
                beside.kind == container.kind && !item && same_so_far(&path, self.shown.last())
            });
            let id = id.or(beside.map(|beside| beside.id)).unwrap_or(container.id.saturating_add(OLD));
            path.push(Container { id, kind: container.kind });
        }
        self.shown.push(Shown { leaf, path, change: Change::Removed });
    }

    fn add(&mut self, new: usize) {
        let Some(leaf) = self.new.leaves.get(new) else { return };
        self.shown.push(Shown { leaf, path: leaf.path.clone(), change: Change::Added });
    }

    /// Leaves that came in the place of others: those that are alike are one that changed.
    fn replace(&mut self, removed: std::ops::Range<usize>, added: std::ops::Range<usize>) {
        let mut next = added.start;
        for old in removed {
            let like = (next..added.end).take(LOOK_AHEAD).find_map(|new| {
                let (before, leaf) = (self.old.leaves.get(old)?, self.new.leaves.get(new)?);
                Some((new, changed_words(before, leaf)?))
            });
            match like {
                Some((new, words)) => {
                    (next..new).for_each(|new| self.add(new));
                    self.pair(old, new, Change::Words(words));
                    next = new.saturating_add(1);
                }
                None => self.remove(old),
            }
        }
        (next..added.end).for_each(|new| self.add(new));
    }
}

/// So many leaves further on a leaf is looked for that another became.
const LOOK_AHEAD: usize = 8;

fn same_so_far(path: &[Container], last: Option<&Shown<'_>>) -> bool {
    last.is_some_and(|last| last.path.iter().zip(path).all(|(one, other)| one.id == other.id))
}

/// The words of two leaves in one order; none if these are two different things.
fn changed_words(old: &Leaf, new: &Leaf) -> Option<Vec<(Token, Fate)>> {
    let alike = match (&old.kind, &new.kind) {
        (Kind::Heading(_), Kind::Heading(_)) | (Kind::Code(_), Kind::Code(_)) => true,
        (one, other) => one == other && old.path.len() == new.path.len(),
    };
    if !alike || old.tokens.len().saturating_add(new.tokens.len()) > WORDS_MAX {
        return None;
    }
    let what = |leaf: &Leaf| leaf.tokens.iter().map(|token| token.what.clone()).collect::<Vec<What>>();
    let mut words = Vec::new();
    let (mut kept, mut all) = (0, 0);
    let weight = |token: &Token| match &token.what {
        What::Text(text) if !text.trim().is_empty() => text.chars().count(),
        _ => 0,
    };
    let mut push = |token: &Token, fate: Fate| {
        all += weight(token);
        if fate == Fate::Kept {
            kept += weight(token).saturating_mul(2);
            all += weight(token);
        }
        words.push((token.clone(), fate));
    };
    for op in capture_diff_slices(Algorithm::Myers, &what(old), &what(new)) {
        let part = |leaf: &Leaf, range: std::ops::Range<usize>| -> Vec<Token> {
            leaf.tokens.get(range).unwrap_or_default().to_vec()
        };
        if let DiffOp::Equal { .. } = op {
            part(new, op.new_range()).iter().for_each(|token| push(token, Fate::Kept));
        } else {
            part(old, op.old_range()).iter().for_each(|token| push(token, Fate::Removed));
            part(new, op.new_range()).iter().for_each(|token| push(token, Fate::Added));
        }
    }
    let enough = all == 0 || kept.saturating_mul(100) >= all.saturating_mul(SHARED_PERCENT_MIN);
    enough.then_some(words)
}
