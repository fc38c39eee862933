//! Git's own forms of a diff, read into ours.

use std::str;

use super::{Change, DiffLimits, FileDiff, Hunk, Line, LineKind};
use crate::error::ForgeError;
use crate::path::TreePath;
use crate::tree::EntryKind;

/// The list of files: first what changed, as `:mode mode oid oid status` and paths, then the counts of lines
/// in the same order.
pub(super) fn files(listed: &[u8]) -> Result<Vec<FileDiff>, ForgeError> {
    let mut fields = listed.split(|b| *b == 0).peekable();
    let mut files = Vec::new();
    while let Some(head) = fields.next_if(|field| field.starts_with(b":")) {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.trim_start_matches(':').split(' ');
        let (old, new) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let status = words.nth(2).unwrap_or_default();
        let mut path = TreePath::new(fields.next().unwrap_or_default());
        let change = match status.as_bytes().first() {
            Some(b'A') => Change::Added,
            Some(b'D') => Change::Deleted,
            Some(b'M') => Change::Modified,
            Some(b'T') => Change::Retyped,
            Some(b'R') => {
                let similarity_percent = status.trim_start_matches('R').parse().unwrap_or_default();
                let from = std::mem::replace(&mut path, TreePath::new(fields.next().unwrap_or_default()));
                Change::Renamed { from, similarity_percent }
            }
            _ => return Err(ForgeError::Unexpected { command: "diff-tree".to_owned(), text: head }),
        };
        files.push(FileDiff {
            path,
            change,
            old_kind: EntryKind::from_mode(old),
            new_kind: EntryKind::from_mode(new),
            binary: false,
            added: 0,
            removed: 0,
            hunks: Vec::new(),
            cut: false,
        });
    }
    for file in &mut files {
        // `added<tab>removed<tab>path`; the paths of a renamed file follow in fields of their own.
        let Some(counts) = fields.next() else { break };
        let mut counts = counts.splitn(3, |b| *b == b'\t').map(|count| str::from_utf8(count).unwrap_or("-"));
        let (added, removed) = (counts.next().unwrap_or("-"), counts.next().unwrap_or("-"));
        file.binary = added == "-";
        file.added = added.parse().unwrap_or_default();
        file.removed = removed.parse().unwrap_or_default();
        if matches!(file.change, Change::Renamed { .. }) {
            fields.next();
            fields.next();
        }
    }
    Ok(files)
}

/// The hunks of all files, in the order of the list. Lengths in the text say where a hunk ends, so no content
/// can be taken for a header.
pub(super) fn hunks(text: &[u8], whole: bool, limits: &DiffLimits, files: &mut [FileDiff]) {
    let mut lines = Lines { rest: text, whole };
    let mut pending = lines.next();
    for file in files.iter_mut() {
        // A file that became something else is shown as deleted and added.
        let sections = if file.change == Change::Retyped { 2 } else { 1 };
        for _ in 0..sections {
            if !pending.is_some_and(|line| line.starts_with(b"diff --git ")) {
                break;
            }
            pending = section(&mut lines, limits, file);
        }
        // Whatever the reason, what was counted and did not come is missing.
        let changed =
            file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind != LineKind::Same);
        let came = u64::try_from(changed.count()).unwrap_or(u64::MAX);
        file.cut |= !file.binary && came != file.added + file.removed;
    }
}

/// Reads up to the next file and returns its first line.
fn section<'a>(lines: &mut Lines<'a>, limits: &DiffLimits, file: &mut FileDiff) -> Option<&'a [u8]> {
    let mut kept: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let mut line = lines.next();
    while let Some(header) = line {
        if header.starts_with(b"diff --git ") {
            return line;
        }
        let Some(mut range) = Range::read(header) else {
            line = lines.next();
            continue;
        };
        let mut hunk = Hunk { heading: range.heading.clone(), lines: Vec::new() };
        line = lines.next();
        while let Some(content) = line {
            if content.first() == Some(&b'\\') {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_line_break = true;
                }
            } else if range.is_done() {
                break;
            } else if let Some(read) = range.line(content, limits.line_bytes) {
                if kept < limits.file_lines {
                    hunk.lines.push(read);
                } else {
                    file.cut = true;
                }
                kept += 1;
            } else {
                break;
            }
            line = lines.next();
        }
        if !hunk.lines.is_empty() {
            file.hunks.push(hunk);
        }
    }
    None
}

/// `@@ -old,count +new,count @@ heading`
struct Range {
    old: u32,
    old_left: u32,
    new: u32,
    new_left: u32,
    heading: String,
}

impl Range {
    fn read(line: &[u8]) -> Option<Range> {
        let text = String::from_utf8_lossy(line.strip_prefix(b"@@ -")?).into_owned();
        let (ranges, heading) = text.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let numbers = |range: &str| -> Option<(u32, u32)> {
            match range.split_once(',') {
                Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
                None => Some((range.parse().ok()?, 1)),
            }
        };
        let ((old, old_left), (new, new_left)) = (numbers(old)?, numbers(new)?);
        Some(Range { old, old_left, new, new_left, heading: heading.trim().to_owned() })
    }

    fn is_done(&self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }

    fn line(&mut self, line: &[u8], most: usize) -> Option<Line> {
        let (sign, content) = line.split_first()?;
        let kind = match sign {
            b' ' => LineKind::Same,
            b'+' => LineKind::Added,
            b'-' => LineKind::Removed,
            _ => return None,
        };
        let shown = content.get(..most).unwrap_or(content);
        // A character that would be cut in two is left out as a whole.
        let shown = match std::str::from_utf8(shown) {
            Err(error) if shown.len() < content.len() && error.error_len().is_none() => {
                shown.get(..error.valid_up_to()).unwrap_or(shown)
            }
            _ => shown,
        };
        let (text, cut_bytes) = (String::from_utf8_lossy(shown).into_owned(), content.len() - shown.len());
        let old_number = (kind != LineKind::Added).then_some(self.old);
        let new_number = (kind != LineKind::Removed).then_some(self.new);
        if old_number.is_some() {
            self.old += 1;
            self.old_left = self.old_left.saturating_sub(1);
        }
        if new_number.is_some() {
            self.new += 1;
            self.new_left = self.new_left.saturating_sub(1);
        }
        Some(Line { kind, old_number, new_number, text, cut_bytes, no_line_break: false })
    }
}

/// Lines of a text that may have been cut off; half a line at the end is no line then.
struct Lines<'a> {
    rest: &'a [u8],
    whole: bool,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match self.rest.iter().position(|b| *b == b'\n') {
            Some(at) => {
                let (line, rest) = self.rest.split_at(at);
                self.rest = rest.get(1..).unwrap_or_default();
                Some(line)
            }
            None if self.whole && !self.rest.is_empty() => Some(std::mem::take(&mut self.rest)),
            None => None,
        }
    }
}
