//! Rows as lines of a screen: numbers beside them, too long ones on several lines.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::app::Colours;
use super::super::content::{Ink, Row};
use super::style;

const TAB: usize = 4;
/// Two numbers of four digits, and a space behind each.
const GUTTER: usize = 10;

/// How many lines a row takes.
pub fn height(row: &Row, width: usize, numbered: bool) -> usize {
    wrap(row, room(width, numbered)).len()
}

pub fn row_lines(row: &Row, width: usize, numbered: bool, colours: Colours) -> Vec<Line<'static>> {
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut gutter = match row.numbers {
        Some((old, new)) => format!("{:>4} {:>4} ", number(old), number(new)),
        None => " ".repeat(GUTTER),
    };
    let mut lines = Vec::new();
    for pieces in wrap(row, room(width, numbered)) {
        let mut spans = Vec::with_capacity(pieces.len() + 1);
        if numbered {
            spans.push(Span::styled(gutter.clone(), style(Ink::Faint, colours)));
        }
        spans.extend(pieces.into_iter().map(|(ink, text)| Span::styled(text, style(ink, colours))));
        lines.push(Line::from(spans));
        gutter = " ".repeat(GUTTER);
    }
    lines
}

/// The line with the cursor, to the edge of the screen.
pub fn selected(mut line: Line<'static>, width: usize) -> Line<'static> {
    let gap = width.saturating_sub(line.width());
    line.spans.push(Span::raw(" ".repeat(gap)));
    for span in &mut line.spans {
        span.style = span.style.add_modifier(Modifier::REVERSED);
    }
    line
}

/// The end of a name that is too long.
pub fn ending(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let mut rest = name.chars();
    while rest.as_str().width() + 1 > width && rest.next().is_some() {}
    format!("…{}", rest.as_str())
}

const fn room(width: usize, numbered: bool) -> usize {
    let room = if numbered { width.saturating_sub(GUTTER) } else { width };
    if room == 0 { 1 } else { room }
}

/// Lines of a diff break anywhere, prose between words; a thread keeps its bar.
fn wrap(row: &Row, width: usize) -> Vec<Vec<(Ink, String)>> {
    let hang = match &row.thread {
        Some(_) => "  │ ".to_owned(),
        None => " ".repeat(row.hang.min(width / 2)),
    };
    let mut lines: Vec<Vec<(char, Ink)>> = vec![Vec::new()];
    let mut used = 0;
    for (c, ink) in row.pieces.iter().flat_map(|(ink, text)| text.chars().map(move |c| (c, *ink))) {
        let Some(line) = lines.last_mut() else { break };
        if c == '\t' {
            let spaces = TAB - used % TAB;
            line.extend(std::iter::repeat_n((' ', ink), spaces));
            used += spaces;
            continue;
        }
        let wide = c.width().unwrap_or(0);
        if used + wide > width && !line.is_empty() {
            let prose = row.numbers.is_none();
            let space = line.iter().rposition(|(c, _)| *c == ' ').filter(|_| prose && c != ' ');
            let after = match space.filter(|at| *at > hang.chars().count()) {
                Some(at) => line.split_off(at + 1),
                None => Vec::new(),
            };
            let mut next: Vec<(char, Ink)> = hang.chars().map(|c| (c, Ink::Faint)).collect();
            next.extend(after);
            used = next.iter().map(|(c, _)| c.width().unwrap_or(0)).sum();
            lines.push(next);
            if prose && c == ' ' {
                continue;
            }
        }
        if let Some(line) = lines.last_mut() {
            line.push((c, ink));
            used += wide;
        }
    }
    lines.into_iter().map(joined).collect()
}

fn joined(line: Vec<(char, Ink)>) -> Vec<(Ink, String)> {
    let mut pieces: Vec<(Ink, String)> = Vec::new();
    for (c, ink) in line {
        match pieces.last_mut() {
            Some((last, text)) if *last == ink => text.push(c),
            _ => pieces.push((ink, c.to_string())),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(row: &Row, width: usize) -> String {
        let line = |line: Vec<(Ink, String)>| line.into_iter().map(|(_, text)| text).collect::<String>();
        wrap(row, width).into_iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn prose_breaks_between_words_and_code_anywhere() {
        let prose = Row::new(Ink::Plain, "one two three");
        let code = Row { numbers: Some((None, None)), ..prose.clone() };
        let said = Row { thread: Some("c1".to_owned()), ..Row::new(Ink::Plain, "  │ one two three") };
        for (row, width, expected) in [
            (&prose, 20, "one two three"),
            (&prose, 9, "one two |three"),
            (&prose, 4, "one |two |thre|e"),
            (&prose, 7, "one two|three"),
            (&code, 5, "one t|wo th|ree"),
            (&said, 12, "  │ one two |  │ three"),
            (&Row::blank(), 5, ""),
            (&Row::new(Ink::Plain, "a\tb"), 9, "a   b"),
            (&Row::new(Ink::Plain, "日本語"), 4, "日本|語"),
        ] {
            assert_eq!(wrapped(row, width), expected);
        }
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(ending("src/commands/review.rs", 12), "…s/review.rs");
        assert_eq!(ending("short", 12), "short");
    }
}
