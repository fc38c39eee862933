//! The text of a Word document: its paragraphs, with those that are styled as headings. Lines are paragraphs.

use super::html::decoded;
use super::{Block, Gathering, Headings, TEXT_BYTES_MAX, Unreadable, zip};

pub fn blocks(bytes: &[u8]) -> Result<Vec<Block>, Unreadable> {
    // An encrypted one is another kind of container.
    if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return Err(Unreadable::Encrypted);
    }
    let document = zip::entry(bytes, "word/document.xml", TEXT_BYTES_MAX).ok_or(Unreadable::Damaged)?;
    let document = String::from_utf8(document).map_err(|_| Unreadable::Damaged)?;
    Ok(read(&document))
}

fn read(xml: &str) -> Vec<Block> {
    let mut gathering = Gathering::default();
    let mut headings = Headings::default();
    let (mut number, mut text, mut level, mut in_text) = (0, String::new(), None, false);
    let mut rest = xml;
    while let Some((words, behind)) = rest.split_once('<') {
        if in_text {
            text.push_str(&decoded(words));
        }
        let Some((tag, behind)) = behind.split_once('>') else { break };
        rest = behind;
        let name = tag.trim_start_matches('/').split([' ', '/', '\n', '\t']).next().unwrap_or_default();
        let closing = tag.starts_with('/');
        match name {
            "w:t" => in_text = !closing && !tag.ends_with('/'),
            "w:tab" | "w:br" | "w:cr" if !closing => text.push(' '),
            "w:pStyle" => level = heading_level(tag),
            "w:outlineLvl" => {
                level = level.or_else(|| value(tag)?.parse::<usize>().ok().map(|level| level + 1))
            }
            "w:p" if closing => {
                number += 1;
                let said = std::mem::take(&mut text);
                match level.take().filter(|level| (1..=9).contains(level)) {
                    _ if said.trim().is_empty() => {}
                    Some(level) => headings.enter(level, &said),
                    None => {
                        gathering.line(&headings.path(), number, said.trim());
                        gathering.end();
                    }
                }
            }
            _ => {}
        }
    }
    gathering.finish()
}

/// `<w:pStyle w:val="Heading2"/>`; the names are the same in every language.
fn heading_level(tag: &str) -> Option<usize> {
    let style = value(tag)?.to_ascii_lowercase();
    match style.strip_prefix("heading") {
        Some(level) => level.trim().parse().ok(),
        None if style == "title" => Some(1),
        None => None,
    }
}

fn value(tag: &str) -> Option<&str> {
    tag.split_once("w:val=\"")?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stand_under_their_headings() {
        let xml = r#"<w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Terms</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Pay within </w:t></w:r><w:r><w:t>30 days &amp; more</w:t></w:r></w:p><w:p/></w:body>"#;
        let blocks = read(xml);
        assert_eq!(blocks.len(), 1);
        assert_eq!(
            (blocks[0].heading.as_str(), blocks[0].text.as_str()),
            ("Terms", "Pay within 30 days & more")
        );
        assert_eq!(blocks[0].first_line, 2);
    }

    #[test]
    fn what_is_no_document_is_refused() {
        assert_eq!(super::blocks(b"PK\x03\x04"), Err(Unreadable::Damaged));
        assert_eq!(super::blocks(b""), Err(Unreadable::Damaged));
    }
}
