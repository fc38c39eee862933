//! Comments as threads, each at the line it belongs to now.

use checkrein_core::run::RunEvent;
use checkrein_core::run::job::{Comment, first_of};
use checkrein_forge::{Diff, FileDiff, Line, LineKind};
use jiff::Timestamp;

use super::review::Reviewed;

/// A comment and what was answered.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Of the first comment: what a reply names.
    pub id: String,
    pub file: Option<String>,
    /// Where it stands in the file as it is now.
    pub line: Option<u32>,
    /// Whether that line is another one than it was about.
    pub changed: bool,
    /// Where it stood, if that place is gone or cannot be told any more.
    pub was_at: Option<u32>,
    /// The phase it was made in, if that is another one.
    pub phase: Option<String>,
    pub round: u32,
    /// Who said that it is settled.
    pub resolved_by: Option<String>,
    /// Oldest first.
    pub comments: Vec<Comment>,
}

/// Every comment of a review. `since` is what changed since its last round.
pub fn threads(reviewed: &Reviewed, since: Option<&Diff>) -> Vec<Thread> {
    let comments = &reviewed.comments;
    let checkpoint = &reviewed.checkpoint.checkpoint;
    let held = held_at(reviewed);
    let (opened, before) = (checkpoint.created_at, held.iter().rev().find(|at| **at < checkpoint.created_at));
    let first = |comment: &Comment| first_of(comments, &comment.id).map(|first| first.id.clone());
    let firsts = comments.iter().filter(|comment| first(comment).as_ref() == Some(&comment.id));
    let thread = |comment: &Comment| {
        let elsewhere = comment.phase != checkpoint.phase;
        let (line, changed) = match (&comment.file, comment.line) {
            _ if elsewhere => (None, false),
            (Some(_), Some(line)) if comment.written_at >= opened => (Some(line), false),
            (Some(file), Some(line))
                if checkpoint.round > 1 && before.is_some_and(|at| comment.written_at >= *at) =>
            {
                // Without a round before on the same branch nobody knows where the line is now.
                since.map_or((None, false), |diff| {
                    let changed = diff.files.iter().find(|changed| changed.path.to_string() == *file);
                    changed.map_or((Some(line), false), |file| moved(line, file))
                })
            }
            _ => (None, false),
        };
        let answers = comments.iter().filter(|other| first(other).as_ref() == Some(&comment.id));
        Thread {
            id: comment.id.clone(),
            file: comment.file.clone(),
            line,
            changed,
            was_at: comment.line.filter(|_| line.is_none()),
            phase: elsewhere.then(|| comment.phase.clone()),
            round: comment.round,
            resolved_by: comment.resolved_by.clone(),
            comments: answers.cloned().collect(),
        }
    };
    firsts.map(thread).collect()
}

/// When each round of the review began.
fn held_at(reviewed: &Reviewed) -> Vec<Timestamp> {
    let held = reviewed.view.history.iter().filter(|(_, _, event)| matches!(event, RunEvent::RunHeld { .. }));
    held.map(|(_, at, _)| *at).collect()
}

/// Where a line of the file before is in the file after, or what came in its place, and whether it changed;
/// none if it is gone.
fn moved(line: u32, file: &FileDiff) -> (Option<u32>, bool) {
    if file.binary || file.cut || file.hunks.is_empty() {
        return (None, true);
    }
    let mut shift: i64 = 0;
    for hunk in &file.hunks {
        for (index, row) in hunk.lines.iter().enumerate() {
            match (row.kind, row.old_number) {
                (LineKind::Same, Some(old)) if old == line => return (row.new_number, false),
                (LineKind::Removed, Some(old)) if old == line => return (instead(&hunk.lines, index), true),
                (_, Some(old)) if old > line => return (shifted(line, shift), false),
                (LineKind::Same, _) => {}
                (LineKind::Added, _) => shift += 1,
                (LineKind::Removed, _) => shift -= 1,
            }
        }
    }
    (shifted(line, shift), false)
}

fn shifted(line: u32, by: i64) -> Option<u32> {
    u32::try_from(i64::from(line) + by).ok().filter(|line| *line > 0)
}

/// The added line that stands where a removed one stood.
fn instead(lines: &[Line], index: usize) -> Option<u32> {
    let before = lines.iter().take(index).rev().take_while(|line| line.kind == LineKind::Removed).count();
    let behind = lines.iter().skip(index).skip_while(|line| line.kind == LineKind::Removed);
    let added: Vec<&Line> = behind.take_while(|line| line.kind == LineKind::Added).collect();
    added.get(before).or(added.last()).and_then(|line| line.new_number)
}

#[cfg(test)]
mod tests {
    use checkrein_forge::{Change, Hunk, TreePath};

    use super::*;

    /// `=` stays, `-` goes, `+` comes; the first line is `from` on both sides.
    fn file(from: u32, signs: &str) -> FileDiff {
        let (mut old, mut new) = (from, from);
        let take = |number: &mut u32| {
            *number += 1;
            Some(*number - 1)
        };
        let lines = signs.chars().map(|sign| {
            let (kind, old_number, new_number) = match sign {
                '+' => (LineKind::Added, None, take(&mut new)),
                '-' => (LineKind::Removed, take(&mut old), None),
                _ => (LineKind::Same, take(&mut old), take(&mut new)),
            };
            Line { kind, old_number, new_number, text: String::new(), cut_bytes: 0, no_line_break: false }
        });
        FileDiff {
            path: TreePath::from("f"),
            change: Change::Modified,
            old_kind: None,
            new_kind: None,
            binary: false,
            added: 0,
            removed: 0,
            hunks: vec![Hunk { heading: String::new(), lines: lines.collect() }],
            cut: false,
        }
    }

    #[test]
    fn a_comment_moves_with_its_line() {
        for (line, from, signs, expected) in [
            (3, 10, "=+=", (Some(3), false)),
            (5, 5, "=+=", (Some(5), false)),
            (6, 5, "=+=", (Some(7), false)),
            (6, 5, "=--=", (None, true)),
            (8, 5, "=--=", (Some(6), false)),
            (90, 5, "=++-=", (Some(91), false)),
            // What came in its place.
            (6, 5, "=-+=", (Some(6), true)),
            (7, 5, "=--++=", (Some(7), true)),
            (8, 5, "=---+=", (Some(6), true)),
        ] {
            assert_eq!(moved(line, &file(from, signs)), expected, "{line} {from} {signs}");
        }
    }
}
