//! The text of a PDF, page by page.
//!
//! A reader of our own: it wants the text and nothing else, is bounded in everything, and cannot be made to do more
//! than that by a file somebody sends. Scanned pages have no text and encrypted files are refused.

mod content;
mod file;
mod font;
mod object;

use super::{Block, Gathering, Unreadable};
use file::File;

/// A document of more pages is cut there.
const PAGES_MAX: usize = 5_000;

pub fn blocks(bytes: &[u8]) -> Result<Vec<Block>, Unreadable> {
    let head = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    if !head.windows(5).any(|five| five == b"%PDF-") {
        return Err(Unreadable::Damaged);
    }
    let mut file = File::read(bytes)?;
    let pages = file.pages();
    if pages.is_empty() {
        return Err(Unreadable::Damaged);
    }
    let mut gathering = Gathering::default();
    let mut line = 0;
    for (number, page) in (1..=PAGES_MAX).zip(&pages) {
        let heading = format!("page {number}");
        for text in content::text(&mut file, page).lines() {
            line += 1;
            if text.trim().is_empty() {
                gathering.end();
            } else {
                gathering.line(&heading, line, text.trim());
            }
        }
        gathering.end();
    }
    Ok(gathering.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one object for each text, and streams that say their length.
    fn pdf(objects: &[&str]) -> Vec<u8> {
        let mut out = b"%PDF-1.4\n".to_vec();
        for (number, object) in (1..).zip(objects) {
            out.extend(format!("{number} 0 obj\n{object}\nendobj\n").into_bytes());
        }
        out.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
        out
    }

    fn page(content: &str, font: &str) -> Vec<u8> {
        let stream = format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len());
        pdf(&[
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R >> >> >>",
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
            &stream,
            font,
            "<< /Length 200 >>\nstream\n1 begincodespacerange <0000> <ffff> endcodespacerange\n2 beginbfchar <0001> <0048> <0002> <00690021> endbfchar\n1 beginbfrange <0010> <0012> <0061> endbfrange\nendstream",
        ])
    }

    const PLAIN: &str =
        "<< /Type /Font /Subtype /Type1 /Encoding << /Differences [ 1 /H /eacute 65 /period ] >> >>";

    #[test]
    fn texts_of_a_page_are_read_in_order() {
        for (content, font, expected) in [
            (
                "BT /F1 12 Tf 72 700 Td (Hello \\(world\\)) Tj 0 -14 Td [(Pay)-300(me) 20 (nt)] TJ ET",
                PLAIN,
                "Hello (world)\nPay ment",
            ),
            ("BT /F1 12 Tf (\\001\\002llo) Tj <41> Tj ET", PLAIN, "Héllo."),
            (
                "BT /F1 9 Tf 1 0 0 1 0 0 Tm <0001000200100012> Tj ET",
                "<< /Subtype /Type0 /ToUnicode 6 0 R >>",
                "Hi!ac",
            ),
            ("BT /F1 9 Tf (a) Tj T* (b) ' ET q Q BI /W 1 ID \u{1}\u{2} EI BT (c) Tj ET", PLAIN, "a\nb\nc"),
        ] {
            let found = blocks(&page(content, font)).unwrap();
            let text: Vec<&str> = found.iter().map(|block| block.text.as_str()).collect();
            assert_eq!(text.join("\n"), expected, "{content}");
            assert_eq!(found[0].heading, "page 1");
        }
    }

    #[test]
    fn odd_files_end_without_harm() {
        assert_eq!(blocks(b"no"), Err(Unreadable::Damaged));
        assert_eq!(blocks(b"%PDF-1.4\ntrailer << /Encrypt 1 0 R >>"), Err(Unreadable::Encrypted));
        let circle = pdf(&["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] >>"]);
        assert_eq!(blocks(&circle), Err(Unreadable::Damaged));
        let deep = pdf(&[&"[".repeat(100_000), &"<<".repeat(100_000)]);
        assert_eq!(blocks(&deep), Err(Unreadable::Damaged));
        let whole = page("BT /F1 12 Tf (x) Tj ET", PLAIN);
        for cut in 0..whole.len() {
            let _ = blocks(&whole[..cut]);
        }
    }
}
