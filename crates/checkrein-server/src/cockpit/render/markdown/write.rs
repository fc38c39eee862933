//! From leaves to HTML. The only tags there are, are written here.

use super::compare::{Change, Fate, Shown};
use super::read::{Around, Container, Kind, Leaf, Style, Token, What};
use super::{Below, Links};
use crate::cockpit::render::{diff, text};

pub(super) fn write(shown: &[Shown<'_>], links: &Links<'_>, below: Below<'_>) -> String {
    let mut writer = Writer { out: String::new(), open: Vec::new(), links };
    for one in shown {
        writer.leaf(one);
        let removed = matches!(one.change, Change::Removed);
        if let Some(html) = (!removed).then(|| below(one.leaf.lines.0, one.leaf.lines.1)).flatten() {
            match &one.leaf.kind {
                Kind::Row { sides, .. } => {
                    let columns = sides.len().max(1);
                    let row = format!("<tr class=\"below\"><td colspan=\"{columns}\">{html}</td></tr>");
                    writer.out.push_str(&row);
                }
                _ => writer.out.push_str(&html),
            }
        }
    }
    writer.close_to(0);
    writer.out
}

struct Writer<'w> {
    out: String,
    open: Vec<Container>,
    links: &'w Links<'w>,
}

impl Writer<'_> {
    fn leaf(&mut self, shown: &Shown<'_>) {
        let shared = self.open.iter().zip(&shown.path).take_while(|(one, other)| one == other).count();
        self.close_to(shared);
        for container in shown.path.iter().skip(shared) {
            self.open(container);
        }
        let leaf = shown.leaf;
        let class = match &shown.change {
            Change::Same => "",
            Change::Added => " class=\"ad\"",
            Change::Removed => " class=\"rm\"",
            Change::Words(_) => " class=\"ch\"",
        };
        let line = match shown.change {
            Change::Removed => String::new(),
            _ => format!(" data-line=\"{}\"", leaf.lines.0),
        };
        let words = words(leaf, &shown.change);
        match &leaf.kind {
            // The page itself has the first two levels.
            Kind::Heading(level) => {
                let level = level.saturating_add(2).min(6);
                self.out.push_str(&format!("<h{level}{class}{line}>"));
                self.inline(&words);
                self.out.push_str(&format!("</h{level}>"));
            }
            Kind::Paragraph => {
                self.out.push_str(&format!("<p{class}{line}>"));
                self.inline(&words);
                self.out.push_str("</p>");
            }
            Kind::Code(language) => {
                self.out.push_str(&format!("<pre{class}{line}><code>"));
                self.code(language, &words);
                self.out.push_str("</code></pre>");
            }
            Kind::Row { header, sides } => {
                self.out.push_str(&format!("<tr{class}{line}>"));
                self.cells(if *header { "th" } else { "td" }, sides, &words);
                self.out.push_str("</tr>");
            }
            Kind::Rule => self.out.push_str("<hr>"),
        }
    }

    fn open(&mut self, container: &Container) {
        match container.kind {
            Around::Quote => self.out.push_str("<blockquote>"),
            Around::List(None) => self.out.push_str("<ul>"),
            Around::List(Some(1)) => self.out.push_str("<ol>"),
            Around::List(Some(start)) => self.out.push_str(&format!("<ol start=\"{start}\">")),
            Around::Item(None) => self.out.push_str("<li>"),
            Around::Item(Some(done)) => {
                let (sign, word) = if done { ("☑", "done") } else { ("☐", "to do") };
                self.out.push_str(&format!(
                    "<li class=\"task\"><span role=\"img\" aria-label=\"{word}\">{sign}</span>"
                ));
            }
            Around::Table => self.out.push_str("<table><tbody>"),
        }
        self.open.push(container.clone());
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(container) = self.open.pop() else { return };
            self.out.push_str(match container.kind {
                Around::Quote => "</blockquote>",
                Around::List(None) => "</ul>",
                Around::List(Some(_)) => "</ol>",
                Around::Item(_) => "</li>",
                Around::Table => "</tbody></table>",
            });
        }
    }

    fn cells(&mut self, tag: &str, sides: &[&'static str], words: &[(Token, Fate)]) {
        let mut sides = sides.iter();
        let mut cells: Vec<&[(Token, Fate)]> =
            words.split(|(token, fate)| token.what == What::Cell && *fate != Fate::Removed).collect();
        // Every cell has an end, so nothing is behind the last one.
        cells.pop();
        for cell in cells {
            match sides.next().copied().unwrap_or_default() {
                "" => self.out.push_str(&format!("<{tag}>")),
                side => self.out.push_str(&format!("<{tag} class=\"{side}\">")),
            }
            self.inline(cell);
            self.out.push_str(&format!("</{tag}>"));
        }
    }

    /// Code is compared by lines: each token is one.
    fn code(&mut self, language: &str, lines: &[(Token, Fate)]) {
        if lines.iter().all(|(_, fate)| *fate == Fate::Kept) {
            let text: Vec<&str> = lines.iter().map(|(token, _)| token.text()).collect();
            diff::code(&mut self.out, language, &text.join("\n"));
            return;
        }
        for (index, (token, fate)) in lines.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.fate(*fate, Fate::Kept);
            text::push(&mut self.out, token.text());
            self.fate(Fate::Kept, *fate);
        }
    }

    fn inline(&mut self, words: &[(Token, Fate)]) {
        let (mut open, mut fate): (Vec<Style>, Fate) = (Vec::new(), Fate::Kept);
        for (token, now) in words {
            let shared = if *now == fate {
                open.iter().zip(token.styles.iter()).take_while(|(one, other)| one == other).count()
            } else {
                0
            };
            self.close_styles(&mut open, shared);
            if *now != fate {
                self.fate(*now, fate);
                fate = *now;
            }
            for style in token.styles.iter().skip(shared) {
                self.open_style(style);
                open.push(style.clone());
            }
            match &token.what {
                What::Text(word) => text::push(&mut self.out, word),
                What::LineBreak => self.out.push_str("<br>"),
                What::Cell => {}
            }
        }
        self.close_styles(&mut open, 0);
        self.fate(Fate::Kept, fate);
    }

    /// From words of one fate to words of another.
    fn fate(&mut self, now: Fate, before: Fate) {
        if now == before {
            return;
        }
        self.out.push_str(match before {
            Fate::Kept => "",
            Fate::Added => "</ins>",
            Fate::Removed => "</del>",
        });
        self.out.push_str(match now {
            Fate::Kept => "",
            Fate::Added => "<ins>",
            Fate::Removed => "<del>",
        });
    }

    fn open_style(&mut self, style: &Style) {
        match style {
            Style::Strong => self.out.push_str("<strong>"),
            Style::Emphasis => self.out.push_str("<em>"),
            Style::Strike => self.out.push_str("<s>"),
            Style::Code => self.out.push_str("<code>"),
            Style::Link(address) => match self.address(address) {
                Some(address) => {
                    self.out.push_str("<a href=\"");
                    text::push_attribute(&mut self.out, &address);
                    self.out.push_str("\" rel=\"noopener noreferrer nofollow\">");
                }
                // Where it leads is nowhere one can go from here.
                None => self.out.push_str("<span class=\"dead\">"),
            },
        }
    }

    fn close_styles(&mut self, open: &mut Vec<Style>, depth: usize) {
        while open.len() > depth {
            let tag = match open.pop() {
                Some(Style::Strong) => "</strong>",
                Some(Style::Emphasis) => "</em>",
                Some(Style::Strike) => "</s>",
                Some(Style::Code) => "</code>",
                Some(Style::Link(address)) if self.address(&address).is_some() => "</a>",
                Some(Style::Link(_)) => "</span>",
                None => "",
            };
            self.out.push_str(tag);
        }
    }

    /// Where a link may lead: out, or to another file of the branch.
    fn address(&self, address: &str) -> Option<String> {
        if text::is_safe_address(address) {
            return Some(address.to_owned());
        }
        let file = self.links.file?;
        let path = address.split(['#', '?']).next().unwrap_or_default();
        let first = path.split('/').next().unwrap_or_default();
        if path.is_empty() || path.starts_with('/') || first.contains(':') {
            return None;
        }
        let mut parts: Vec<&str> = self.links.directory.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Some(file(&parts.join("/")))
    }
}

impl Token {
    fn text(&self) -> &str {
        match &self.what {
            What::Text(text) => text,
            What::LineBreak | What::Cell => "",
        }
    }
}

/// The words of a leaf with what became of each.
fn words(leaf: &Leaf, change: &Change) -> Vec<(Token, Fate)> {
    let fate = match change {
        Change::Words(words) => return words.clone(),
        Change::Same => Fate::Kept,
        Change::Added => Fate::Added,
        Change::Removed => Fate::Removed,
    };
    // The end of a cell is structure, whatever became of its words.
    let one = |token: &Token| (token.clone(), if token.what == What::Cell { Fate::Kept } else { fate });
    leaf.tokens.iter().map(one).collect()
}
