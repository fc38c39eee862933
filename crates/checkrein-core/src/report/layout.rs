//! The box a report stands in: lines of one width, whatever is written in them.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::shown::{characters, emoji_length};

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Of the whole box, in columns.
    pub width: usize,
    /// Whether there is more than ASCII.
    pub unicode: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 79, unicode: true }
    }
}

impl Style {
    /// Narrower than this nothing can be read any more; the box stays this wide.
    pub const WIDTH_MIN: usize = 40;
}

/// What is drawn, as it is with and without Unicode.
pub(super) struct Glyphs {
    top: [&'static str; 3],
    middle: [&'static str; 3],
    bottom: [&'static str; 3],
    side: &'static str,
    line: &'static str,
    pub pin: &'static str,
    pub branch: &'static str,
    pub times: &'static str,
    pub more: &'static str,
    /// With the space that follows: names after them begin in one column.
    pub good: &'static str,
    pub warned: &'static str,
    pub failed: &'static str,
    pub skipped: &'static str,
    pub not_run: &'static str,
    pub unfinished: &'static str,
}

static UNICODE: Glyphs = Glyphs {
    top: ["┌", "─", "┐"],
    middle: ["├", "─", "┤"],
    bottom: ["└", "─", "┘"],
    side: "│",
    line: "─",
    pin: "📍 ",
    branch: "└─ ",
    times: "×",
    more: "…",
    good: "✅ ",
    // Many terminals draw this one a column narrower than they should, hence the second space.
    warned: "⚠️  ",
    failed: "❌ ",
    skipped: "⏭  ",
    not_run: "·  ",
    unfinished: "⏸  ",
};

static ASCII: Glyphs = Glyphs {
    top: ["+", "-", "+"],
    middle: ["+", "-", "+"],
    bottom: ["+", "-", "+"],
    side: "|",
    line: "-",
    pin: "*  ",
    branch: r"\- ",
    times: "x",
    more: "...",
    good: "[ok]   ",
    warned: "[warn] ",
    failed: "[fail] ",
    skipped: "[skip] ",
    not_run: "[-]    ",
    unfinished: "[...]  ",
};

/// A box that is being written, line by line.
pub(super) struct Canvas {
    pub glyphs: &'static Glyphs,
    unicode: bool,
    /// Columns between the sides.
    inner: usize,
    out: String,
}

/// Columns on each side that stay empty.
const MARGIN: usize = 2;

impl Canvas {
    pub fn new(title: &str, style: Style) -> Canvas {
        let glyphs = if style.unicode { &UNICODE } else { &ASCII };
        let inner = style.width.max(Style::WIDTH_MIN) - 2;
        let mut canvas = Canvas { glyphs, unicode: style.unicode, inner, out: String::new() };
        canvas.rule(glyphs.top);
        let left = inner.saturating_sub(MARGIN + title.width()) / 2;
        canvas.line(&format!("{}{title}", " ".repeat(left)));
        canvas.rule(glyphs.middle);
        canvas
    }

    /// A heading of its own part of the box.
    pub fn section(&mut self, title: &str) {
        self.rule(self.glyphs.middle);
        self.blank();
        self.put(0, title);
        let line = self.glyphs.line.repeat(title.width().min(self.room(0)));
        self.put(0, &line);
    }

    pub fn blank(&mut self) {
        self.line("");
    }

    /// Words of ours, as many lines as they need; the later ones are as far in as the first.
    pub fn put(&mut self, indent: usize, text: &str) {
        self.hang(indent, "", text);
    }

    /// Words after a mark; later lines begin below the first word.
    pub fn hang(&mut self, indent: usize, mark: &str, text: &str) {
        let indent_more = indent + mark.width();
        let mut line = String::new();
        let mut first = true;
        wrap(text, self.room(indent_more), |part| {
            line.clear();
            line.push_str(&" ".repeat(MARGIN + if first { indent } else { indent_more }));
            if first {
                line.push_str(mark);
                first = false;
            }
            line.push_str(part);
            self.line(line.trim_end());
        });
    }

    /// Text of others: shown, not obeyed.
    pub fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        safe(text, self.unicode)
    }

    /// The same where there is room for one line only.
    pub fn safe_line<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.safe(text) {
            text if text.contains('\n') => text.replace('\n', " ").into(),
            text => text,
        }
    }

    pub fn finish(mut self) -> String {
        self.rule(self.glyphs.bottom);
        self.out
    }

    fn rule(&mut self, [left, line, right]: [&str; 3]) {
        self.out.push_str(left);
        for _ in 0..self.inner {
            self.out.push_str(line);
        }
        self.out.push_str(right);
        self.out.push('\n');
    }

    /// Columns for words that begin so far in.
    fn room(&self, indent: usize) -> usize {
        self.inner.saturating_sub(2 * MARGIN + indent)
    }

    fn line(&mut self, content: &str) {
        self.out.push_str(self.glyphs.side);
        self.out.push_str(content);
        for _ in width(content)..self.inner {
            self.out.push(' ');
        }
        self.out.push_str(self.glyphs.side);
        self.out.push('\n');
    }
}

pub(super) fn safe(text: &str, unicode: bool) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = characters(text).peekable();
    while let Some((_, c, hidden)) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            // The end of a line as some systems write it.
            '\r' if chars.peek().is_some_and(|(_, next, _)| *next == '\n') => {}
            '\t' => out.push_str("    "),
            c if hidden || !(unicode || c.is_ascii()) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.into()
}

/// A character may take no column at all; a line has at most so many of them for each it has.
const CHARS_PER_COLUMN_MAX: usize = 8;

/// Cuts text into lines of at most `room` columns, between words where that is possible.
fn wrap(text: &str, room: usize, mut each: impl FnMut(&str)) {
    for line in text.split('\n') {
        let mut rest = line.trim_end();
        loop {
            let Some(most) = longest(rest, room) else {
                each(rest);
                break;
            };
            let (fits, beyond) = rest.split_at_checked(most).unwrap_or((rest, ""));
            let cut = match (beyond.starts_with(' '), fits.rfind(' ')) {
                (false, Some(space)) if fits.get(..space).is_some_and(|words| !words.trim().is_empty()) => {
                    space
                }
                _ => most,
            };
            let (now, later) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            each(now.trim_end());
            rest = later.trim_start();
            if rest.is_empty() {
                break;
            }
        }
    }
}

/// Where the longest beginning that fits ends; none where all of it does.
fn longest(text: &str, room: usize) -> Option<usize> {
    let mut taken = 0;
    let mut end = None;
    for (count, (index, c)) in text.char_indices().enumerate() {
        taken += c.width().unwrap_or(0);
        if taken > room || count >= room * CHARS_PER_COLUMN_MAX {
            end = Some(index);
            break;
        }
    }
    // Characters beside each other can be wider than each alone: a sign that is made an emoji.
    let mut fits = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    while width(fits) > room {
        let Some((index, _)) = fits.char_indices().next_back() else { break };
        fits = fits.get(..index).unwrap_or("");
        end = Some(index);
    }
    end.map(|end| beside_emoji(text, end))
}

/// A place to cut that is not within an emoji, and not before the first character, so that there is an end.
fn beside_emoji(text: &str, at: usize) -> usize {
    let mut start = 0;
    while let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) {
        let length = text.get(start..).map_or(0, emoji_length).max(first.len_utf8());
        if start + length > at {
            return if start == 0 { length } else { start };
        }
        start += length;
    }
    at
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}
