//! One file of a diff, with its threads at their lines.

use checkrein_server::wire::diff::{Hunk, Line, LineWord};

use super::super::model::{FileShown, Review};
use super::super::thread::Thread;
use super::{Ink, Row, thread};

/// What is known of the file, on one line.
pub fn heading(file: &FileShown) -> Row {
    let mut row = Row::new(Ink::Heading, file.name.clone());
    if let Some(from) = &file.from {
        row = row.and(Ink::Faint, format!(" from {from}"));
    }
    row = row.and(Ink::Faint, format!("  {} ", file.word));
    row = row.and(Ink::Added, format!("+{}", file.added)).and(Ink::Removed, format!(" -{}", file.removed));
    if let Some(nature) = &file.nature {
        row = row.and(Ink::Warning, format!("  {nature}"));
    }
    if let Some(mark) = file.mark {
        row = row.and(Ink::Person, format!("  {}", mark.name().replace('_', " ")));
    }
    if file.mark_lapsed {
        row = row.and(Ink::Warning, "  no longer approved: it has changed since");
    }
    if file.protected {
        row = row.and(Ink::Warning, "  protected");
    }
    row
}

pub fn file(review: &Review, file: &FileShown) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut waiting: Vec<&Thread> = review.threads_of(&file.path).collect();
    let mut take = |rows: &mut Vec<Row>, fits: &dyn Fn(&Thread) -> bool| {
        let (now, later): (Vec<&Thread>, Vec<&Thread>) = waiting.iter().partition(|thread| fits(thread));
        waiting = later;
        now.iter().for_each(|one| rows.extend(thread(one, None)));
    };
    // What is about the file as a whole stands above it.
    take(&mut rows, &|thread| thread.line.is_none() && thread.was_at.is_none());
    if file.binary {
        rows.push(Row::new(Ink::Faint, "(not text, not shown)"));
    } else if file.hunks.is_empty() {
        rows.push(Row::new(Ink::Faint, if file.cut { "(too large to show)" } else { "(no lines differ)" }));
    }
    for hunk in &file.hunks {
        rows.push(Row::new(Ink::Hunk, ranges(hunk)).stop());
        for (index, line) in hunk.lines.iter().enumerate() {
            rows.push(diff_row(line, nearest(hunk, index)));
            if line.no_line_break {
                rows.push(Row::new(Ink::Faint, "\\ no line break at the end of the file"));
            }
            if let Some(number) = line.new {
                take(&mut rows, &|thread| thread.line == Some(number));
            }
        }
    }
    if file.cut && !file.hunks.is_empty() {
        rows.push(Row::new(Ink::Faint, "… and more; look at it with git"));
    }
    if !waiting.is_empty() {
        rows.push(Row::blank());
        rows.push(Row::new(Ink::Faint, "at lines that are not shown above"));
        for one in waiting {
            let place = match (one.line, one.was_at) {
                (Some(line), _) => format!("line {line}"),
                (None, Some(line)) => format!("was line {line}"),
                (None, None) => String::new(),
            };
            rows.extend(thread(one, Some(place)));
        }
    }
    rows
}

fn diff_row(line: &Line, at: Option<u32>) -> Row {
    let (sign, ink, word) = match line.kind {
        LineWord::Same => (" ", Ink::Plain, Ink::Plain),
        LineWord::Added => ("+", Ink::Added, Ink::AddedWord),
        LineWord::Removed => ("-", Ink::Removed, Ink::RemovedWord),
    };
    let mut row = Row::new(ink, sign);
    if line.words.is_empty() {
        row.pieces.push((ink, line.text.clone()));
    }
    let pieces = line.words.iter();
    row.pieces.extend(pieces.map(|piece| (if piece.changed { word } else { ink }, piece.text.clone())));
    if line.cut_bytes > 0 {
        row.pieces.push((Ink::Warning, format!("… {} more bytes not shown", line.cut_bytes)));
    }
    row.numbers = Some((line.old, line.new));
    row.line = at;
    row
}

/// The line of the new file that is there, or the next one: a comment on what is gone stands where it was.
fn nearest(hunk: &Hunk, index: usize) -> Option<u32> {
    let after = hunk.lines.iter().skip(index).find_map(|line| line.new);
    after.or_else(|| hunk.lines.iter().take(index).rev().find_map(|line| line.new))
}

/// `@@ -1,3 +1,4 @@ heading`
fn ranges(hunk: &Hunk) -> String {
    let range = |number: fn(&Line) -> Option<u32>| {
        let mut numbers = hunk.lines.iter().filter_map(number);
        match numbers.next() {
            None => "0,0".to_owned(),
            Some(first) => format!("{first},{}", numbers.count() + 1),
        }
    };
    let (old, new) = (range(|line| line.old), range(|line| line.new));
    format!("@@ -{old} +{new} @@ {}", hunk.heading).trim_end().to_owned()
}
