//! What changed, as programs see it.

use checkrein_core::run::job::{FileMark, FileMarks};
use checkrein_core::word_diff::{self, word_diff};
use checkrein_forge::{Change, LineKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub added: u64,
    pub removed: u64,
    /// Whether there is more than is shown; the list of files is always whole
    pub cut: bool,
    pub files: Vec<FileDiff>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    pub path: String,
    /// approved, changes_requested, or null
    #[schemars(with = "Option<String>")]
    pub mark: Option<FileMark>,
    /// It was approved, and its content has changed since; marking it again takes this away
    #[serde(default)]
    pub mark_lapsed: bool,
    pub change: ChangeWord,
    /// Where a renamed file was
    pub from: Option<String>,
    pub added: u64,
    pub removed: u64,
    /// As git writes it, such as 100755; null where there was none
    #[serde(default)]
    pub old_mode: Option<String>,
    #[serde(default)]
    pub new_mode: Option<String>,
    /// Where a link points
    #[serde(default)]
    pub link_target: Option<String>,
    pub binary: bool,
    /// Whether lines of it, or the ends of some, are missing
    pub cut: bool,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeWord {
    Added,
    Deleted,
    Modified,
    Retyped,
    Renamed,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// Often the name of a function
    pub heading: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    pub kind: LineWord,
    /// Its number before, and now
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: String,
    /// How many bytes are missing at its end
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_bytes: usize,
    /// The file ends here without a line break
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_line_break: bool,
    /// The line in pieces, where only some of its words changed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Piece>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineWord {
    Same,
    Added,
    Removed,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    pub text: String,
    pub changed: bool,
}

impl Diff {
    pub fn of(diff: &checkrein_forge::Diff, marks: &FileMarks) -> Diff {
        Diff {
            added: diff.added,
            removed: diff.removed,
            cut: diff.cut,
            files: diff.files.iter().map(|file| FileDiff::of(file, marks)).collect(),
        }
    }
}

impl FileDiff {
    fn of(file: &checkrein_forge::FileDiff, marks: &FileMarks) -> FileDiff {
        let path = file.path.to_string();
        let (change, from) = match &file.change {
            Change::Added => (ChangeWord::Added, None),
            Change::Deleted => (ChangeWord::Deleted, None),
            Change::Modified => (ChangeWord::Modified, None),
            Change::Retyped => (ChangeWord::Retyped, None),
            Change::Renamed { from, .. } => (ChangeWord::Renamed, Some(from.to_string())),
        };
        FileDiff {
            mark: marks.mark(&path),
            mark_lapsed: marks.is_lapsed(&path),
            path,
            change,
            from,
            added: file.added,
            removed: file.removed,
            old_mode: file.old_kind.map(|kind| kind.mode().to_owned()),
            new_mode: file.new_kind.map(|kind| kind.mode().to_owned()),
            link_target: file.link_target().map(str::to_owned),
            binary: file.binary,
            cut: file.is_cut(),
            hunks: file.hunks.iter().map(Hunk::of).collect(),
        }
    }
}

impl Hunk {
    pub fn of(hunk: &checkrein_forge::Hunk) -> Hunk {
        let mut lines: Vec<Line> = hunk.lines.iter().map(Line::of).collect();
        let mut rest = lines.as_mut_slice();
        // What was removed and what came in its place stand next to each other.
        while !rest.is_empty() {
            let same = rest.iter().take_while(|line| line.kind == LineWord::Same).count();
            let removed = rest.iter().skip(same).take_while(|line| line.kind == LineWord::Removed).count();
            let behind = rest.iter().skip(same.saturating_add(removed));
            let added = behind.take_while(|line| line.kind == LineWord::Added).count();
            let (block, after) = rest.split_at_mut(same.saturating_add(removed).saturating_add(added));
            let (old, new) = block.split_at_mut(same.saturating_add(removed));
            let old = old.get_mut(same..).unwrap_or_default();
            compare(old, new);
            rest = after;
        }
        Hunk { heading: hunk.heading.clone(), lines }
    }
}

fn compare(removed: &mut [Line], added: &mut [Line]) {
    if removed.is_empty() || added.is_empty() {
        return;
    }
    let texts = |lines: &[Line]| -> Vec<String> { lines.iter().map(|line| line.text.clone()).collect() };
    let (old, new) = (texts(removed), texts(added));
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let (old, new) = word_diff(&old, &new);
    for (line, pieces) in removed.iter_mut().zip(old).chain(added.iter_mut().zip(new)) {
        // A line that is new as a whole has nothing to point out.
        if pieces.iter().any(|piece| piece.changed) && pieces.iter().any(|piece| !piece.changed) {
            line.words = pieces.into_iter().map(Piece::from).collect();
        }
    }
}

impl From<word_diff::Piece> for Piece {
    fn from(piece: word_diff::Piece) -> Piece {
        Piece { text: piece.text, changed: piece.changed }
    }
}

impl Line {
    fn of(line: &checkrein_forge::Line) -> Line {
        let kind = match line.kind {
            LineKind::Same => LineWord::Same,
            LineKind::Added => LineWord::Added,
            LineKind::Removed => LineWord::Removed,
        };
        Line {
            kind,
            old: line.old_number,
            new: line.new_number,
            text: line.text.clone(),
            cut_bytes: line.cut_bytes,
            no_line_break: line.no_line_break,
            words: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_pointed_out_where_a_line_came_in_anothers_place() {
        let line = |kind, text: &str| checkrein_forge::Line {
            kind,
            old_number: None,
            new_number: None,
            text: text.to_owned(),
            cut_bytes: 0,
            no_line_break: false,
        };
        let hunk = Hunk::of(&checkrein_forge::Hunk {
            heading: String::new(),
            lines: vec![
                line(LineKind::Same, "same"),
                line(LineKind::Removed, "the cat sat on the mat"),
                line(LineKind::Added, "the dog sat on the mat"),
                line(LineKind::Same, "same"),
                line(LineKind::Added, "new"),
            ],
        });
        let changed = |line: &Line| -> Vec<String> {
            line.words.iter().filter(|piece| piece.changed).map(|piece| piece.text.clone()).collect()
        };
        let found: Vec<Vec<String>> = hunk.lines.iter().map(changed).collect();
        assert_eq!(found, [vec![], vec!["cat".to_owned()], vec!["dog".to_owned()], vec![], vec![]]);
        for line in hunk.lines.iter().filter(|line| !line.words.is_empty()) {
            assert_eq!(line.words.iter().map(|piece| piece.text.as_str()).collect::<String>(), line.text);
        }
    }
}
