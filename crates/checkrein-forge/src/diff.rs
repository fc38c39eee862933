//! What differs between two commits, as data.

mod read;

use crate::error::ForgeError;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::{Bare, Format};
use crate::tree::EntryKind;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<FileDiff>,
    pub added: u64,
    pub removed: u64,
    /// Whether there was more than the limits let through; the list of files is always whole.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The new path; of a deleted file the old one.
    pub path: TreePath,
    pub change: Change,
    pub old_kind: Option<EntryKind>,
    pub new_kind: Option<EntryKind>,
    pub binary: bool,
    pub added: u64,
    pub removed: u64,
    pub hunks: Vec<Hunk>,
    /// Whether there are more lines than these.
    pub cut: bool,
}

impl FileDiff {
    /// Whether any of it is missing: whole lines, or the end of one.
    pub fn is_cut(&self) -> bool {
        self.cut || self.hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.cut_bytes > 0)
    }

    /// Where the link points that it is now, or was before it was deleted.
    pub fn link_target(&self) -> Option<&str> {
        let (kind, side) = match self.new_kind {
            Some(kind) => (kind, LineKind::Added),
            None => (self.old_kind?, LineKind::Removed),
        };
        let mut lines = self.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == side);
        lines.next_back().filter(|_| kind == EntryKind::Link).map(|line| line.text.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Deleted,
    Modified,
    /// A file became a link, or the other way round.
    Retyped,
    Renamed {
        from: TreePath,
        similarity_percent: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The text after the ranges, often the name of a function.
    pub heading: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    /// Counted from 1; an added line has none.
    pub old_number: Option<u32>,
    /// Counted from 1; a removed line has none.
    pub new_number: Option<u32>,
    /// Without the line break; what is not text is replaced.
    pub text: String,
    /// How many bytes of the line are missing at its end.
    pub cut_bytes: usize,
    /// The file ends here without a line break.
    pub no_line_break: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Same,
    Added,
    Removed,
}

/// How much of a diff is read.
#[derive(Clone, Copy, Debug)]
pub struct DiffLimits {
    pub file_lines: usize,
    pub line_bytes: usize,
    pub total_bytes: usize,
}

impl Default for DiffLimits {
    fn default() -> DiffLimits {
        DiffLimits { file_lines: 5_000, line_bytes: 4_000, total_bytes: 16 << 20 }
    }
}

impl Bare {
    /// The tree without a file, from which a first commit differs.
    pub fn empty_tree(&self) -> Result<Oid, ForgeError> {
        Oid::parse(match self.format() {
            Format::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Format::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        })
    }

    /// Which files differ, and by how many lines; no lines.
    pub fn changed_files(&self, old: &Oid, new: &Oid) -> Result<Vec<FileDiff>, ForgeError> {
        if old == new {
            return Ok(Vec::new());
        }
        let call = self.call(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat"]);
        read::files(&call.args(PLAIN).args([old.as_str(), new.as_str(), "--"]).run()?)
    }

    pub fn diff(&self, old: &Oid, new: &Oid, limits: &DiffLimits) -> Result<Diff, ForgeError> {
        let mut files = self.changed_files(old, new)?;
        let call = self.call(["diff-tree", "-r", "-M", "-p", "-U3"]).args(PLAIN);
        let call = call.args([old.as_str(), new.as_str(), "--"]).output_bytes(limits.total_bytes);
        let place = call.place();
        let answer = call.answer()?;
        if answer.code != 0 && !answer.cut {
            return Err(answer.failure(place));
        }
        let whole = !answer.cut;
        read::hunks(&answer.output, whole, limits, &mut files);
        let sum = |count: fn(&FileDiff) -> u64| files.iter().map(count).sum();
        let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
        let cut = files.iter().any(FileDiff::is_cut);
        Ok(Diff { files, added, removed, cut })
    }
}

const PLAIN: [&str; 7] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--full-index",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];
