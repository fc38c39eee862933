//! Text without a structure of its own: paragraphs.

use super::{Block, Gathering, numbered};

pub fn blocks(text: &str) -> Vec<Block> {
    let mut gathering = Gathering::default();
    for (number, line) in numbered(text) {
        if line.trim().is_empty() {
            gathering.end();
        } else {
            gathering.line("", number, line.trim_end());
        }
    }
    gathering.finish()
}
