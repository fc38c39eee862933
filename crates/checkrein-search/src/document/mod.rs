//! Documents as blocks of text: what stands together, under which heading, at which lines.
//!
//! What is read here was written by others. Every reader is bounded by the size of its input and gives up rather
//! than follow what is odd.

mod docx;
mod html;
mod markdown;
mod pdf;
mod plain;
mod todos;
mod zip;

use thiserror::Error;

/// What a file is read as, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Markdown,
    Todos,
    Html,
    Pdf,
    Docx,
    Text,
}

/// A larger file is not read.
pub const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// What a file may come to when it is unpacked.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// A paragraph, a list entry, a block of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The headings it stands under, outermost first: `Plan › Risks`.
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    #[error("it is larger than {} MiB", DOCUMENT_BYTES_MAX >> 20)]
    TooLarge,
    #[error("it is not text")]
    NotText,
    #[error("it is encrypted")]
    Encrypted,
    #[error("it is damaged or not what its name says")]
    Damaged,
}

impl DocumentKind {
    /// None for what has no text to search.
    pub fn of(path: &str) -> Option<DocumentKind> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        Some(match extension {
            "md" | "markdown" | "mdown" => DocumentKind::Markdown,
            "yaml" | "yml" if name.contains("todos") => DocumentKind::Todos,
            "html" | "htm" | "xhtml" => DocumentKind::Html,
            "pdf" => DocumentKind::Pdf,
            "docx" => DocumentKind::Docx,
            "txt" | "text" | "rst" | "adoc" | "org" | "log" | "csv" | "tsv" | "json" | "yaml" | "yml"
            | "toml" | "xml" | "tex" => DocumentKind::Text,
            "" => DocumentKind::Text,
            _ => return None,
        })
    }
}

/// The text of a document, in its order.
pub fn blocks(kind: DocumentKind, bytes: &[u8]) -> Result<Vec<Block>, Unreadable> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(Unreadable::TooLarge);
    }
    match kind {
        DocumentKind::Pdf => return pdf::blocks(bytes),
        DocumentKind::Docx => return docx::blocks(bytes),
        _ => {}
    }
    if bytes.iter().take(8_000).any(|byte| *byte == 0) {
        return Err(Unreadable::NotText);
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(match kind {
        DocumentKind::Markdown => markdown::blocks(text),
        DocumentKind::Todos => todos::blocks(text),
        DocumentKind::Html => html::blocks(text),
        _ => plain::blocks(text),
    })
}

/// Headings that are open, outermost first.
#[derive(Debug, Default)]
struct Headings(Vec<(usize, String)>);

impl Headings {
    fn enter(&mut self, level: usize, text: &str) {
        self.0.retain(|(open, _)| *open < level);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.0.push((level, text.chars().take(HEADING_CHARS_MAX).collect()));
    }

    fn path(&self) -> String {
        let names: Vec<&str> =
            self.0.iter().map(|(_, text)| text.as_str()).filter(|text| !text.is_empty()).collect();
        names.join(" › ")
    }
}

const HEADING_CHARS_MAX: usize = 200;

/// Lines that gather until their block ends.
#[derive(Debug, Default)]
struct Gathering {
    blocks: Vec<Block>,
    open: Option<Block>,
}

impl Gathering {
    fn line(&mut self, heading: &str, number: u32, text: &str) {
        let open = self.open.get_or_insert_with(|| Block {
            heading: heading.to_owned(),
            first_line: number,
            last_line: number,
            text: String::new(),
        });
        if !open.text.is_empty() {
            open.text.push('\n');
        }
        open.text.push_str(text);
        open.last_line = number;
    }

    fn end(&mut self) {
        self.blocks.extend(self.open.take().filter(|block| !block.text.trim().is_empty()));
    }

    fn finish(mut self) -> Vec<Block> {
        self.end();
        self.blocks
    }
}

/// Lines with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines())
}
