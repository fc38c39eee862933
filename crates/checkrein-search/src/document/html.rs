//! HTML as the text a person sees. No page is built: tags end or part texts, and scripts are left out.

use super::{Block, Gathering, Headings};

pub fn blocks(text: &str) -> Vec<Block> {
    let mut page = Page { line: 1, ..Page::default() };
    let mut rest = text;
    while !rest.is_empty() {
        let (words, tag) = match rest.find('<') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        page.words(words);
        rest = page.tag(tag);
    }
    page.end();
    page.gathering.finish()
}

#[derive(Default)]
struct Page {
    gathering: Gathering,
    headings: Headings,
    /// The heading whose text is being read.
    title: Option<(usize, String)>,
    current: String,
    begun: u32,
    line: u32,
    /// A space is due before the next word.
    space: bool,
}

impl Page {
    fn words(&mut self, words: &str) {
        for (number, part) in words.split('\n').enumerate() {
            if number > 0 {
                self.line += 1;
                self.space = true;
            }
            self.space |= part.starts_with([' ', '\t', '\r']);
            for word in part.split_ascii_whitespace() {
                if self.current.is_empty() {
                    self.begun = self.line;
                } else if self.space {
                    self.current.push(' ');
                }
                self.current.push_str(&decoded(word));
                self.space = true;
            }
            self.space = self.space && (part.ends_with([' ', '\t', '\r']) || part.trim().is_empty());
        }
    }

    /// Ends the paragraph.
    fn end(&mut self) {
        let text = std::mem::take(&mut self.current);
        self.space = false;
        if let Some((_, title)) = &mut self.title {
            title.push_str(&format!(" {text}"));
        } else if !text.is_empty() {
            self.gathering.line(&self.headings.path(), self.begun, &text);
            if let Some(open) = &mut self.gathering.open {
                open.last_line = self.line;
            }
            self.gathering.end();
        }
    }

    /// Reads what begins with `<`; what is behind it.
    fn tag<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some(comment) = text.strip_prefix("<!--") {
            return self.skip(comment, "-->");
        }
        let Some(end) = text.find('>') else {
            return "";
        };
        let (tag, behind) = text.split_at(end);
        let behind = behind.strip_prefix('>').unwrap_or(behind);
        let inner = tag.trim_start_matches('<');
        let name = inner
            .trim_start_matches('/')
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if name.is_empty() && !inner.starts_with(['/', '!', '?']) {
            // A lone `<` is a character.
            self.words("<");
            return text.strip_prefix('<').unwrap_or_default();
        }
        self.line += lines(tag);
        let closing = inner.starts_with('/');
        match name.as_str() {
            "script" | "style" | "template" | "noscript" | "svg" if !closing && !inner.ends_with('/') => {
                self.end();
                return self.skip_element(behind, &name);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(&name, closing),
            "b" | "i" | "em" | "strong" | "a" | "span" | "code" | "u" | "s" | "small" | "sub" | "sup"
            | "mark" | "abbr" | "cite" | "kbd" | "q" | "var" | "time" | "font" | "wbr" => {}
            "td" | "th" | "br" | "img" => self.space = true,
            _ => self.end(),
        }
        behind
    }

    fn heading(&mut self, name: &str, closing: bool) {
        self.end();
        if let Some((level, title)) = self.title.take() {
            self.headings.enter(level, &title);
        }
        if !closing {
            let level = name.trim_start_matches('h').parse().unwrap_or(1);
            self.title = Some((level, String::new()));
        }
    }

    fn skip<'t>(&mut self, text: &'t str, end: &str) -> &'t str {
        let (skipped, behind) = text.split_once(end).unwrap_or((text, ""));
        self.line += lines(skipped);
        behind
    }

    fn skip_element<'t>(&mut self, text: &'t str, name: &str) -> &'t str {
        let mut rest = text;
        while let Some(at) = rest.find("</") {
            let (skipped, behind) = rest.split_at(at);
            self.line += lines(skipped);
            let closing = behind.strip_prefix("</").unwrap_or_default();
            let found = closing.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
            if found {
                return self.skip(closing, ">");
            }
            rest = closing;
        }
        ""
    }
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(0)
}

/// A word with its character references resolved.
pub(super) fn decoded(word: &str) -> String {
    if !word.contains('&') {
        return word.to_owned();
    }
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let reference = behind.split_once(';').filter(|(name, _)| name.len() <= 10);
        match reference.and_then(|(name, behind)| Some((character(name)?, behind))) {
            Some((character, behind)) => {
                out.push(character);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| !character.is_control());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "euro" => '€',
        "copy" => '©',
        "times" => '×',
        "deg" => '°',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_a_person_sees_it() {
        let page = "<!doctype html>\n<title>T</title><style>p{}</style>\n<h1>Big &amp; bold</h1>\n<p>One <b>two</b>three\nfour</p><!-- no\n --><script>if (a<b) {}</script>\n<h2>Sub</h2><ul><li>x<li>y</ul>1 < 2 <br>end";
        let found: Vec<(String, u32, String)> =
            blocks(page).into_iter().map(|b| (b.heading, b.first_line, b.text)).collect();
        let row = |heading: &str, line, text: &str| (heading.to_owned(), line, text.to_owned());
        assert_eq!(
            found,
            [
                row("", 2, "T"),
                row("Big & bold", 4, "One twothree four"),
                row("Big & bold › Sub", 7, "x"),
                row("Big & bold › Sub", 7, "y"),
                row("Big & bold › Sub", 7, "1 < 2 end"),
            ]
        );
        for odd in ["<", "<p", "<!--", "<script>", "</", "&#x110000;&;&amp", "<h1>open", "<<<>>>"] {
            blocks(odd);
        }
    }
}
