//! Colours for code: line by line, in one pass and by a table, so a hostile file costs no more than another.
//!
//! Grammars with regular expressions were measured and took four times as long as a page may.

mod language;

pub use language::{Language, named, of_path};
use language::{Lines, Quote, Shape};

/// What a piece of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Plain,
    Keyword,
    Text,
    Comment,
    Number,
    /// A type, a key or a tag's attribute.
    Name,
}

impl Class {
    /// The class of its element; plain text needs none.
    pub const fn css(self) -> &'static str {
        match self {
            Class::Plain => "",
            Class::Keyword => "hk",
            Class::Text => "hs",
            Class::Comment => "hc",
            Class::Number => "hn",
            Class::Name => "ht",
        }
    }
}

/// Reads the lines of one file from its first.
#[derive(Clone, Debug)]
pub struct Lexer {
    language: Option<&'static Language>,
    inside: Inside,
}

/// What the line before left open.
#[derive(Clone, Copy, Debug)]
enum Inside {
    Nothing,
    Comment(&'static str),
    Quote(&'static Quote),
    Tag,
    Fence,
}

/// Longer lines stay without colours: nobody reads them.
const LINE_BYTES_MAX: usize = 2_000;

impl Lexer {
    pub const fn new(language: Option<&'static Language>) -> Lexer {
        Lexer { language, inside: Inside::Nothing }
    }

    /// Forgets what was open: the next line is from elsewhere.
    pub fn restart(&mut self) {
        self.inside = Inside::Nothing;
    }

    /// The pieces of a line; together they are the line.
    pub fn line<'t>(&mut self, text: &'t str) -> Vec<(&'t str, Class)> {
        let Some(language) = self.language.filter(|_| text.len() <= LINE_BYTES_MAX) else {
            return vec![(text, Class::Plain)];
        };
        let mut line = Reading { language, rest: text, at_start: true, out: Vec::new() };
        if language.shape == Shape::Markdown && self.fenced(text) {
            return vec![(text, Class::Text)];
        }
        while !line.rest.is_empty() {
            self.inside = line.step(self.inside);
        }
        if let Inside::Quote(quote) = self.inside
            && quote.lines == Lines::One
        {
            self.inside = Inside::Nothing;
        }
        line.out
    }

    fn fenced(&mut self, text: &str) -> bool {
        let fence = text.trim_start().starts_with("```") || text.trim_start().starts_with("~~~");
        match (self.inside, fence) {
            (Inside::Fence, true) => self.inside = Inside::Nothing,
            (Inside::Fence, false) => {}
            (_, true) => self.inside = Inside::Fence,
            _ => return false,
        }
        true
    }
}

struct Reading<'t> {
    language: &'static Language,
    rest: &'t str,
    /// Whether nothing but space came before.
    at_start: bool,
    out: Vec<(&'t str, Class)>,
}

impl<'t> Reading<'t> {
    fn step(&mut self, inside: Inside) -> Inside {
        match inside {
            Inside::Comment(end) => return self.until(end, Class::Comment, inside),
            Inside::Quote(quote) => return self.quoted(quote, 0),
            Inside::Fence => return inside,
            Inside::Nothing | Inside::Tag => {}
        }
        let language = self.language;
        if let Some((open, close)) = language.block_comment
            && self.rest.starts_with(open)
        {
            return self.until(close, Class::Comment, Inside::Comment(close));
        }
        if language.line_comments.iter().any(|mark| self.rest.starts_with(mark)) && self.comment_may_begin() {
            self.take(self.rest.len(), Class::Comment);
            return Inside::Nothing;
        }
        match language.shape {
            Shape::Markdown if self.at_start => {
                if let Some(class) = markdown_line(self.rest) {
                    self.take(self.rest.len(), class);
                    return Inside::Nothing;
                }
            }
            Shape::Tags => return self.tag(inside),
            _ => {}
        }
        if let Some(quote) = language.quotes.iter().find(|quote| self.rest.starts_with(quote.open)) {
            return self.quoted(quote, quote.open.len());
        }
        self.word();
        Inside::Nothing
    }

    /// A `#` in the middle of a word of a shell or a colour is none.
    fn comment_may_begin(&self) -> bool {
        let single = self.rest.starts_with(['#', ';']);
        let before = self.out.last().and_then(|(text, _)| text.chars().next_back());
        !single || before.is_none_or(char::is_whitespace)
    }

    fn tag(&mut self, inside: Inside) -> Inside {
        let Some(first) = self.rest.chars().next() else { return inside };
        if matches!(inside, Inside::Tag) {
            if let Some(quote) = self.language.quotes.iter().find(|quote| self.rest.starts_with(quote.open)) {
                self.quoted(quote, quote.open.len());
                return Inside::Tag;
            }
            if first == '>' {
                self.take(1, Class::Keyword);
                return Inside::Nothing;
            }
            let length = self.rest.find(['>', '"', '\'']).unwrap_or(self.rest.len());
            let words = if length == 0 { first.len_utf8() } else { length };
            self.take(words, Class::Name);
            return Inside::Tag;
        }
        if first == '<' {
            let name = self.rest.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(self.rest.len());
            self.take(name, Class::Keyword);
            return Inside::Tag;
        }
        let length = self.rest.find('<').unwrap_or(self.rest.len());
        self.take(length, Class::Plain);
        Inside::Nothing
    }

    /// The rest of a string, of which `skip` bytes opened it.
    fn quoted(&mut self, quote: &'static Quote, skip: usize) -> Inside {
        let body = self.rest.get(skip..).unwrap_or_default();
        let mut end = None;
        let mut escaped = false;
        for (at, c) in body.char_indices() {
            if escaped {
                escaped = false;
            } else if quote.escapes && c == '\\' {
                escaped = true;
            } else if body.get(at..).is_some_and(|rest| rest.starts_with(quote.close)) {
                end = Some(skip.saturating_add(at).saturating_add(quote.close.len()));
                break;
            }
        }
        let length = end.unwrap_or(self.rest.len());
        let key = self.language.shape == Shape::Keys
            && self.rest.get(length..).is_some_and(|after| after.trim_start().starts_with(':'));
        self.take(length, if key { Class::Name } else { Class::Text });
        if end.is_some() { Inside::Nothing } else { Inside::Quote(quote) }
    }

    fn until(&mut self, end: &'static str, class: Class, open: Inside) -> Inside {
        match self.rest.find(end) {
            Some(at) => {
                self.take(at.saturating_add(end.len()), class);
                Inside::Nothing
            }
            None => {
                self.take(self.rest.len(), class);
                open
            }
        }
    }

    fn word(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        if !(is_word(first) || matches!(first, '#' | '@')) {
            let stop = |c: char| is_word(c) || matches!(c, '#' | '@') || self.may_open(c);
            let tail = self.rest.get(first.len_utf8()..).unwrap_or_default();
            let length = tail.find(stop).unwrap_or(tail.len()).saturating_add(first.len_utf8());
            let keys = self.language.shape == Shape::Keys;
            let blank = |c: char| c.is_whitespace() || (keys && matches!(c, '-' | '{'));
            let space = self.rest.get(..length).is_some_and(|text| text.chars().all(blank));
            let at_start = self.at_start && space;
            self.take(length, Class::Plain);
            self.at_start = at_start;
            return;
        }
        let tail = self.rest.get(first.len_utf8()..).unwrap_or_default();
        let keys = self.language.shape == Shape::Keys;
        let inner = |c: char| is_word(c) || (keys && matches!(c, '-' | '.'));
        let length = tail.find(|c| !inner(c)).unwrap_or(tail.len()).saturating_add(first.len_utf8());
        let (word, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let class = self.class_of(word, first, after);
        self.take(length, class);
    }

    fn class_of(&self, word: &str, first: char, after: &str) -> Class {
        let language = self.language;
        let sql = language.names.contains(&"sql");
        let known = |word: &str| language.keywords.contains(&word);
        if language.shape == Shape::Keys && self.at_start && after.trim_start().starts_with([':', '=']) {
            Class::Name
        } else if known(word) || (sql && known(&word.to_ascii_lowercase())) {
            Class::Keyword
        } else if first.is_ascii_digit() {
            Class::Number
        } else if language.shape == Shape::Code && first.is_uppercase() {
            Class::Name
        } else {
            Class::Plain
        }
    }

    /// Whether something other than a word may begin with this.
    fn may_open(&self, c: char) -> bool {
        let language = self.language;
        let begins = |mark: &str| mark.starts_with(c);
        language.quotes.iter().any(|quote| begins(quote.open))
            || language.line_comments.iter().any(|mark| begins(mark))
            || language.block_comment.is_some_and(|(open, _)| begins(open))
    }

    fn take(&mut self, length: usize, class: Class) {
        let (piece, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.at_start = false;
        if !piece.is_empty() {
            self.out.push((piece, class));
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A line of Markdown that is one thing as a whole.
fn markdown_line(text: &str) -> Option<Class> {
    if text.starts_with('#') {
        Some(Class::Keyword)
    } else if text.starts_with('>') {
        Some(Class::Comment)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> String {
        let mut lexer = Lexer::new(of_path(path));
        let line = |line: &str| {
            let pieces = lexer.line(line);
            assert_eq!(pieces.iter().map(|(text, _)| *text).collect::<String>(), line);
            let word = |(text, class): &(&str, Class)| match class {
                Class::Plain => (*text).to_owned(),
                other => format!("{}({text})", other.css().trim_start_matches('h')),
            };
            pieces.iter().map(word).collect::<String>()
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn pieces_have_their_classes() {
        for (path, text, expected) in [
            (
                "a.rs",
                "pub fn f(x: u8) -> Vec<T> { 1 } // so",
                "k(pub) k(fn) f(x: k(u8)) -> t(Vec)<t(T)> { n(1) } c(// so)",
            ),
            ("a.rs", "let s = \"a \\\" b\"; x", "k(let) s = s(\"a \\\" b\"); x"),
            ("a.rs", "fn f<'a>(x: &'a str)", "k(fn) f<'a>(x: &'a k(str))"),
            ("a.rs", "/* a\nb */ let", "c(/* a)\nc(b */) k(let)"),
            ("a.py", "x = \"\"\"a\nb\"\"\" # c", "x = s(\"\"\"a)\ns(b\"\"\") c(# c)"),
            ("a.js", "const a = `x\n${y}`;", "k(const) a = s(`x)\ns(${y}`);"),
            ("a.json", "{\"a\": [1, true, \"b\"]}", "{t(\"a\"): [n(1), k(true), s(\"b\")]}"),
            ("a.yaml", "- name: b # c", "- t(name): b c(# c)"),
            ("a.yaml", "a-b: true", "t(a-b): k(true)"),
            ("a.toml", "version = \"1\"", "t(version) = s(\"1\")"),
            ("a.html", "<a href=\"x\">y</a>", "k(<a)t( href=)s(\"x\")k(>)yk(</a)k(>)"),
            ("a.sh", "echo $x#y 'z' # c", "echo $x#y s('z') c(# c)"),
            ("a.sql", "SELECT a FROM b -- c", "k(SELECT) a k(FROM) b c(-- c)"),
            ("a.md", "# T\ntext `c`\n```\nx\n```\ny", "k(# T)\ntext s(`c`)\ns(```)\ns(x)\ns(```)\ny"),
            ("Makefile", "all: # c", "all: c(# c)"),
            ("a.unknown", "fn \"x\"", "fn \"x\""),
            ("a.rs", "größe = 漢; \"ü\"", "größe = 漢; s(\"ü\")"),
        ] {
            assert_eq!(shown(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn an_open_string_ends_with_its_line() {
        assert_eq!(shown("a.js", "a = 'x\nlet b"), "a = s('x)\nk(let) b");
    }
}
