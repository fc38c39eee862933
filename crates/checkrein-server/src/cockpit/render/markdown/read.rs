//! From Markdown to the leaves of a document.

use std::rc::Rc;

use comrak::arena_tree::NodeEdge;
use comrak::nodes::{ListType, Node, NodeValue, TableAlignment};
use comrak::{Arena, Options, parse_document};

/// A text as its leaves, in order.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) leaves: Vec<Leaf>,
}

/// What has words and no blocks in it.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// From the outside in.
    pub path: Vec<Container>,
    pub kind: Kind,
    pub tokens: Vec<Token>,
    /// Its first and last line.
    pub lines: (u32, u32),
}

/// A list, an item, a quote or a table that is around leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    /// Which one it is, in its document.
    pub id: usize,
    pub kind: Around,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Quote,
    /// The number an ordered one begins with.
    List(Option<usize>),
    /// Whether it is done, where it can be.
    Item(Option<bool>),
    Table,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Heading(u8),
    Paragraph,
    /// In the language of its fence.
    Code(String),
    /// With the side each of its cells keeps to.
    Row {
        header: bool,
        sides: Vec<&'static str>,
    },
    Rule,
}

/// A word, or what stands between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub what: What,
    pub styles: Rc<[Style]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum What {
    Text(String),
    LineBreak,
    /// The end of a cell.
    Cell,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Strong,
    Emphasis,
    Strike,
    Code,
    Link(String),
}

/// Deeper than anybody nests; what is deeper is shown as it is written.
const DEPTH_MAX: usize = 40;

impl Document {
    pub fn read(text: &str) -> Document {
        if text.len() > super::BYTES_MAX {
            return Document { leaves: vec![plain(text)] };
        }
        let arena = Arena::new();
        let mut options = Options::default();
        options.extension.strikethrough = true;
        options.extension.table = true;
        options.extension.autolink = true;
        options.extension.tasklist = true;
        let root = parse_document(&arena, text, &options);
        if depth(root) > DEPTH_MAX {
            return Document { leaves: vec![plain(text)] };
        }
        let mut reading = Reading { leaves: Vec::new(), path: Vec::new(), ids: 0 };
        for child in root.children() {
            reading.block(child);
        }
        Document { leaves: reading.leaves }
    }
}

fn depth(root: Node<'_>) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    for edge in root.traverse() {
        match edge {
            NodeEdge::Start(_) => now = now.saturating_add(1),
            NodeEdge::End(_) => now = now.saturating_sub(1),
        }
        deepest = deepest.max(now);
    }
    deepest
}

/// A text as one block of code.
fn plain(text: &str) -> Leaf {
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    Leaf { path: Vec::new(), kind: Kind::Code(String::new()), tokens: code_lines(text), lines: (1, lines) }
}

fn code_lines(text: &str) -> Vec<Token> {
    let line = |line: &str| Token { what: What::Text(line.to_owned()), styles: Rc::from([]) };
    text.lines().map(line).collect()
}

struct Reading {
    leaves: Vec<Leaf>,
    path: Vec<Container>,
    ids: usize,
}

impl Reading {
    fn block(&mut self, node: Node<'_>) {
        let value = node.data().value.clone();
        match value {
            NodeValue::BlockQuote => self.within(Around::Quote, node),
            NodeValue::List(list) => {
                let start = (list.list_type == ListType::Ordered).then_some(list.start);
                self.within(Around::List(start), node);
            }
            NodeValue::Item(_) => self.within(Around::Item(None), node),
            NodeValue::TaskItem(task) => self.within(Around::Item(Some(task.symbol.is_some())), node),
            NodeValue::Table(table) => {
                let side = |side: &TableAlignment| match side {
                    TableAlignment::Right => "right",
                    TableAlignment::Center => "center",
                    TableAlignment::Left | TableAlignment::None => "",
                };
                let sides: Vec<&'static str> = table.alignments.iter().map(side).collect();
                self.enter(Around::Table);
                for row in node.children() {
                    let header = matches!(row.data().value, NodeValue::TableRow(true));
                    self.row(row, Kind::Row { header, sides: sides.clone() });
                }
                self.path.pop();
            }
            NodeValue::Heading(heading) => self.words(node, Kind::Heading(heading.level)),
            NodeValue::CodeBlock(code) => {
                let language = code.info.split([' ', ',', '{']).next().unwrap_or_default().to_owned();
                self.leaf(node, Kind::Code(language), code_lines(&code.literal));
            }
            // HTML is shown, not followed.
            NodeValue::HtmlBlock(html) => {
                self.leaf(node, Kind::Code("html".to_owned()), code_lines(&html.literal));
            }
            NodeValue::ThematicBreak => self.leaf(node, Kind::Rule, Vec::new()),
            _ => self.words(node, Kind::Paragraph),
        }
    }

    fn within(&mut self, kind: Around, node: Node<'_>) {
        self.enter(kind);
        let before = self.leaves.len();
        for child in node.children() {
            self.block(child);
        }
        // An empty item is an item all the same.
        if self.leaves.len() == before && matches!(kind, Around::Item(_)) {
            self.leaf(node, Kind::Paragraph, Vec::new());
        }
        self.path.pop();
    }

    fn enter(&mut self, kind: Around) {
        self.ids = self.ids.saturating_add(1);
        self.path.push(Container { id: self.ids, kind });
    }

    fn leaf(&mut self, node: Node<'_>, kind: Kind, tokens: Vec<Token>) {
        let at = node.data().sourcepos;
        let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let lines = (line(at.start.line), line(at.end.line.max(at.start.line)));
        self.leaves.push(Leaf { path: self.path.clone(), kind, tokens, lines });
    }

    fn words(&mut self, node: Node<'_>, kind: Kind) {
        let mut tokens = Vec::new();
        inline(node, &Rc::from([]), &mut tokens);
        self.leaf(node, kind, tokens);
    }

    fn row(&mut self, row: Node<'_>, kind: Kind) {
        let mut tokens = Vec::new();
        for cell in row.children() {
            inline(cell, &Rc::from([]), &mut tokens);
            tokens.push(Token { what: What::Cell, styles: Rc::from([]) });
        }
        self.leaf(row, kind, tokens);
    }
}

fn inline(node: Node<'_>, styles: &Rc<[Style]>, out: &mut Vec<Token>) {
    for child in node.children() {
        let value = child.data().value.clone();
        let inner = |style: Style| -> Rc<[Style]> { styles.iter().cloned().chain([style]).collect() };
        let deeper = |style: Style, out: &mut Vec<Token>| inline(child, &inner(style), out);
        match value {
            NodeValue::Text(text) => words(&text, styles, out),
            NodeValue::SoftBreak => words(" ", styles, out),
            NodeValue::LineBreak => {
                out.push(Token { what: What::LineBreak, styles: Rc::clone(styles) });
            }
            NodeValue::Code(code) => words(&code.literal, &inner(Style::Code), out),
            NodeValue::HtmlInline(html) => words(&html, &inner(Style::Code), out),
            NodeValue::Strong => deeper(Style::Strong, out),
            NodeValue::Emph => deeper(Style::Emphasis, out),
            NodeValue::Strikethrough => deeper(Style::Strike, out),
            NodeValue::Link(link) => deeper(Style::Link(link.url), out),
            // Nothing is fetched: a picture is a link to it.
            NodeValue::Image(link) => {
                let styles = inner(Style::Link(link.url));
                words("picture: ", &styles, out);
                inline(child, &styles, out);
            }
            _ => inline(child, styles, out),
        }
    }
}

/// Text in words and what is between them, so that two versions can be compared.
fn words(text: &str, styles: &Rc<[Style]>, out: &mut Vec<Token>) {
    let class = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            1
        } else if c.is_whitespace() {
            2
        } else {
            3
        }
    };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match class(first) {
            3 => first.len_utf8(),
            own => rest.find(|c| class(c) != own).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        out.push(Token { what: What::Text(word.to_owned()), styles: Rc::clone(styles) });
        rest = after;
    }
}
