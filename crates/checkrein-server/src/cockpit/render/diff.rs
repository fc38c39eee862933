//! The lines of a changed file as rows of a table: one below the other, or side by side.

use super::syntax::{Class, Lexer, of_path};
use super::text;
use crate::wire::diff::{ChangeWord, FileDiff, Hunk, Line, LineWord};

/// How the two sides stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Unified,
    Split,
}

impl View {
    pub const fn name(self) -> &'static str {
        match self {
            View::Unified => "unified",
            View::Split => "split",
        }
    }

    /// The widths of its columns, which the first row cannot say: it is one cell.
    const fn widths(self) -> &'static str {
        match self {
            View::Unified => {
                "<colgroup><col class=\"c-no c-old\"><col class=\"c-no\"><col class=\"c-sg\"><col></colgroup>"
            }
            View::Split => "<colgroup><col class=\"c-no\"><col><col class=\"c-no\"><col></colgroup>",
        }
    }

    const fn columns(self) -> u8 {
        match self {
            View::Unified | View::Split => 4,
        }
    }
}

/// What stands below a line: its threads, by the number a comment on it has.
pub type Below<'b> = &'b mut dyn FnMut(u32) -> Option<String>;

/// The whole table of a file. A row says in `data-line` which line a comment on it is about.
pub fn table(file: &FileDiff, view: View, below: Below<'_>) -> String {
    let mut out = String::with_capacity(file.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() * 160);
    out.push_str(&format!("<table class=\"diff {}\"><caption class=\"vh\">Changes in ", view.name()));
    text::push(&mut out, &file.path);
    out.push_str("</caption>");
    out.push_str(view.widths());
    let language = of_path(&file.path);
    let mut rows = Rows {
        out,
        view,
        gone: file.change == ChangeWord::Deleted,
        old: Lexer::new(language),
        new: Lexer::new(language),
        below,
    };
    for hunk in &file.hunks {
        rows.hunk(hunk);
    }
    rows.out.push_str("</table>");
    rows.out
}

/// A text with colours and line numbers, for looking at a file as it is.
pub fn source(path: &str, content: &str, below: Below<'_>) -> String {
    let mut out = String::from("<table class=\"diff source\"><caption class=\"vh\">");
    text::push(&mut out, path);
    out.push_str("</caption><colgroup><col class=\"c-no\"><col></colgroup><tbody>");
    let mut lexer = Lexer::new(of_path(path));
    for (index, line) in content.lines().enumerate() {
        let number = u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX);
        out.push_str(&format!(
            "<tr id=\"L{number}\" data-line=\"{number}\"><td class=\"no\">{number}</td><td class=\"co\">"
        ));
        colours(&mut out, &lexer.line(line));
        out.push_str("</td></tr>");
        if let Some(html) = below(number) {
            out.push_str(&format!("<tr class=\"below\"><td colspan=\"2\">{html}</td></tr>"));
        }
    }
    out.push_str("</tbody></table>");
    out
}

/// Code in a block of its own, with colours.
pub fn code(out: &mut String, language: &str, content: &str) {
    let mut lexer = Lexer::new(super::syntax::named(language));
    for (index, line) in content.lines().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        colours(out, &lexer.line(line));
    }
}

fn colours(out: &mut String, pieces: &[(&str, Class)]) {
    for (piece, class) in pieces {
        push_piece(out, piece, class.css(), "");
    }
}

struct Rows<'b> {
    out: String,
    view: View,
    /// Whether the file is gone, and comments are about its lines as they were.
    gone: bool,
    old: Lexer,
    new: Lexer,
    below: Below<'b>,
}

impl Rows<'_> {
    fn hunk(&mut self, hunk: &Hunk) {
        self.old.restart();
        self.new.restart();
        let first = |number: fn(&Line) -> Option<u32>| hunk.lines.iter().find_map(number).unwrap_or(0);
        self.out.push_str(&format!(
            "<tbody><tr class=\"hunk\"><td colspan=\"{}\">@@ −{} +{} @@ ",
            self.view.columns(),
            first(|line| line.old),
            first(|line| line.new)
        ));
        text::push(&mut self.out, &hunk.heading);
        self.out.push_str("</td></tr>");
        let places = places(hunk, self.gone);
        match self.view {
            View::Unified => self.unified(hunk, &places),
            View::Split => self.split(hunk, &places),
        }
        self.out.push_str("</tbody>");
    }

    fn unified(&mut self, hunk: &Hunk, places: &[Option<u32>]) {
        for (line, place) in hunk.lines.iter().zip(places) {
            let (class, sign) = match line.kind {
                LineWord::Same => ("", " "),
                LineWord::Added => ("ad", "+"),
                LineWord::Removed => ("rm", "−"),
            };
            self.open(class, *place);
            number(&mut self.out, line.old);
            number(&mut self.out, line.new);
            self.out.push_str(&format!("<td class=\"sg\">{sign}</td><td class=\"co\">"));
            self.content(line);
            self.out.push_str("</td></tr>");
            self.threads(line, *place);
        }
    }

    fn split(&mut self, hunk: &Hunk, places: &[Option<u32>]) {
        let mut rest = hunk.lines.iter().zip(places).peekable();
        while let Some((line, place)) = rest.next() {
            if line.kind == LineWord::Same {
                self.open("", *place);
                self.side(Some(line), LineWord::Removed);
                self.side(Some(line), LineWord::Added);
                self.out.push_str("</tr>");
                self.threads(line, *place);
                continue;
            }
            let mut block = vec![(line, place)];
            while let Some(pair) = rest.next_if(|(line, _)| line.kind != LineWord::Same) {
                block.push(pair);
            }
            let (removed, added): (Vec<_>, Vec<_>) =
                block.into_iter().partition(|(line, _)| line.kind == LineWord::Removed);
            for index in 0..removed.len().max(added.len()) {
                let (before, now) = (removed.get(index), added.get(index));
                let place = now.or(before).and_then(|(_, place)| **place);
                self.open("", place);
                self.side(before.map(|(line, _)| *line), LineWord::Removed);
                self.side(now.map(|(line, _)| *line), LineWord::Added);
                self.out.push_str("</tr>");
                if let Some((line, _)) = now.or(before) {
                    self.threads(line, place);
                }
            }
        }
    }

    /// One half of a row; a line that only the other side has leaves it empty.
    fn side(&mut self, line: Option<&Line>, side: LineWord) {
        let Some(line) = line else {
            self.out.push_str("<td class=\"no\"></td><td class=\"co no-line\"></td>");
            return;
        };
        let old = side == LineWord::Removed;
        number(&mut self.out, if old { line.old } else { line.new });
        let class = match line.kind {
            LineWord::Same => "co",
            LineWord::Added => "co ad",
            LineWord::Removed => "co rm",
        };
        self.out.push_str(&format!("<td class=\"{class}\">"));
        let mut lexer = if old { self.old.clone() } else { self.new.clone() };
        push_line(&mut self.out, line, &mut lexer);
        if old {
            self.old = lexer
        } else {
            self.new = lexer
        }
        self.out.push_str("</td>");
    }

    fn open(&mut self, class: &str, place: Option<u32>) {
        self.out.push_str("<tr");
        if !class.is_empty() {
            self.out.push_str(&format!(" class=\"{class}\""));
        }
        if let Some(place) = place {
            self.out.push_str(&format!(" data-line=\"{place}\""));
        }
        self.out.push('>');
    }

    fn content(&mut self, line: &Line) {
        match line.kind {
            LineWord::Removed => push_line(&mut self.out, line, &mut self.old),
            LineWord::Added => push_line(&mut self.out, line, &mut self.new),
            LineWord::Same => {
                self.old.line(&line.text);
                push_line(&mut self.out, line, &mut self.new);
            }
        }
    }

    fn threads(&mut self, line: &Line, place: Option<u32>) {
        // A line that is gone shares its place with the one that is there now, which shows them.
        let own = if self.gone { line.old } else { line.new };
        let Some(html) = own.filter(|own| Some(*own) == place).and_then(|own| (self.below)(own)) else {
            return;
        };
        let columns = self.view.columns();
        self.out.push_str(&format!("<tr class=\"below\"><td colspan=\"{columns}\">{html}</td></tr>"));
    }
}

/// The line a comment on each row is about: itself, or what is there now in the place of one that is gone.
fn places(hunk: &Hunk, gone: bool) -> Vec<Option<u32>> {
    if gone {
        return hunk.lines.iter().map(|line| line.old).collect();
    }
    let mut next = None;
    let mut places: Vec<Option<u32>> = Vec::with_capacity(hunk.lines.len());
    for line in hunk.lines.iter().rev() {
        next = line.new.or(next);
        places.push(next);
    }
    places.reverse();
    let mut before = None;
    for place in &mut places {
        before = place.or(before);
        *place = before;
    }
    places
}

fn number(out: &mut String, number: Option<u32>) {
    match number {
        Some(number) => out.push_str(&format!("<td class=\"no\">{number}</td>")),
        None => out.push_str("<td class=\"no\"></td>"),
    }
}

/// A line in the colours of its language, with the words that changed in it.
fn push_line(out: &mut String, line: &Line, lexer: &mut Lexer) {
    let colours = lexer.line(&line.text);
    let mark = match line.kind {
        LineWord::Same => "",
        LineWord::Added => "wa",
        LineWord::Removed => "wr",
    };
    let mut words = line.words.iter().map(|piece| (piece.text.len(), piece.changed));
    let (mut left, mut changed) = words.next().unwrap_or((usize::MAX, false));
    for (piece, class) in colours {
        let mut piece = piece;
        while !piece.is_empty() {
            while left == 0 {
                (left, changed) = words.next().unwrap_or((usize::MAX, false));
            }
            let (now, rest) = piece.split_at_checked(left.min(piece.len())).unwrap_or((piece, ""));
            push_piece(out, now, class.css(), if changed { mark } else { "" });
            left = left.saturating_sub(now.len());
            piece = rest;
        }
    }
    if line.cut_bytes > 0 {
        out.push_str(&format!("<span class=\"odd\">… {} more bytes are not shown</span>", line.cut_bytes));
    }
    if line.no_line_break {
        out.push_str("<span class=\"odd\">no line break at the end</span>");
    }
}

fn push_piece(out: &mut String, piece: &str, colour: &str, mark: &str) {
    match (colour, mark) {
        ("", "") => text::push(out, piece),
        (one, "") | ("", one) => {
            out.push_str(&format!("<span class=\"{one}\">"));
            text::push(out, piece);
            out.push_str("</span>");
        }
        (colour, mark) => {
            out.push_str(&format!("<span class=\"{colour} {mark}\">"));
            text::push(out, piece);
            out.push_str("</span>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::diff::Piece;

    fn line(kind: LineWord, old: u32, new: u32, text: &str) -> Line {
        let some = |number: u32| (number > 0).then_some(number);
        Line {
            kind,
            old: some(old),
            new: some(new),
            text: text.to_owned(),
            cut_bytes: 0,
            no_line_break: false,
            words: Vec::new(),
        }
    }

    fn file(path: &str, lines: Vec<Line>) -> FileDiff {
        FileDiff {
            path: path.to_owned(),
            mark: None,
            mark_lapsed: false,
            change: ChangeWord::Modified,
            from: None,
            added: 0,
            removed: 0,
            old_mode: None,
            new_mode: None,
            link_target: None,
            binary: false,
            cut: false,
            hunks: vec![Hunk { heading: String::new(), lines }],
        }
    }

    /// Rows as text: what is in their cells, and the line a comment is about.
    fn rows(html: &str) -> Vec<String> {
        let row = |row: &str| {
            let place =
                row.split("data-line=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("-");
            let (mut text, mut cells) = (String::new(), 0);
            for piece in row.split('<').skip(1) {
                let (tag, content) = piece.split_once('>').unwrap_or((piece, ""));
                if tag.starts_with("td") {
                    if cells > 0 {
                        text.push('|');
                    }
                    cells += 1;
                }
                text.push_str(content);
            }
            format!("{place} {text}")
        };
        html.split("<tr").skip(2).map(row).collect()
    }

    fn sample() -> FileDiff {
        file(
            "a.txt",
            vec![
                line(LineWord::Same, 1, 1, "one"),
                line(LineWord::Removed, 2, 0, "two"),
                line(LineWord::Removed, 3, 0, "three"),
                line(LineWord::Added, 0, 2, "TWO"),
                line(LineWord::Same, 4, 3, "four"),
                line(LineWord::Removed, 5, 0, "five"),
            ],
        )
    }

    #[test]
    fn one_below_the_other() {
        assert_eq!(
            rows(&table(&sample(), View::Unified, &mut |_| None)),
            ["1 1|1| |one", "2 2||−|two", "2 3||−|three", "2 |2|+|TWO", "3 4|3| |four", "3 5||−|five"]
        );
    }

    #[test]
    fn side_by_side() {
        assert_eq!(
            rows(&table(&sample(), View::Split, &mut |_| None)),
            ["1 1|one|1|one", "2 2|two|2|TWO", "2 3|three||", "3 4|four|3|four", "3 5|five||"]
        );
    }

    #[test]
    fn a_thread_stands_once_below_its_line() {
        for view in [View::Unified, View::Split] {
            let html = table(&sample(), view, &mut |line| (line == 2).then(|| "<p>thread</p>".to_owned()));
            assert_eq!(html.matches("<p>thread</p>").count(), 1, "{view:?}");
        }
        let gone = FileDiff { change: ChangeWord::Deleted, ..sample() };
        let html = table(&gone, View::Unified, &mut |line| (line == 5).then(|| "thread".to_owned()));
        assert_eq!(html.matches("thread").count(), 1);
    }

    #[test]
    fn a_line_that_is_cut_says_so() {
        let one = Line { cut_bytes: 96, ..line(LineWord::Added, 0, 1, "let a") };
        for view in [View::Unified, View::Split] {
            let html = table(&file("a.rs", vec![one.clone()]), view, &mut |_| None);
            assert!(html.contains("… 96 more bytes are not shown"), "{html}");
        }
    }

    #[test]
    fn words_and_colours_cross() {
        let words = [("let a", false), (" = 1", true), (";", false)];
        let piece = |(text, changed): (&str, bool)| Piece { text: text.to_owned(), changed };
        let one = Line { words: words.map(piece).to_vec(), ..line(LineWord::Added, 0, 1, "let a = 1;") };
        let html = table(&file("a.rs", vec![one]), View::Unified, &mut |_| None);
        assert!(
            html.contains(
                "<span class=\"hk\">let</span> a<span class=\"wa\"> = </span><span class=\"hn wa\">1</span>;"
            ),
            "{html}"
        );
    }

    #[test]
    fn nothing_in_a_diff_is_a_tag() {
        let evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'";
        for view in [View::Unified, View::Split] {
            let mut file =
                file(evil, vec![line(LineWord::Added, 0, 1, evil), line(LineWord::Same, 1, 2, evil)]);
            for hunk in &mut file.hunks {
                hunk.heading = evil.to_owned();
            }
            let html = table(&file, view, &mut |_| None);
            assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        }
        let html = source("<b>.html", evil, &mut |_| None);
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("<b>"), "{html}");
    }
}
