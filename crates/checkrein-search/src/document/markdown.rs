//! Markdown, line by line: headings open sections, blank lines end paragraphs, fences hold code together.

use super::{Block, Gathering, Headings, numbered};

pub fn blocks(text: &str) -> Vec<Block> {
    let mut headings = Headings::default();
    let mut gathering = Gathering::default();
    let mut fence: Option<String> = None;
    let mut in_front = text.starts_with("---\n");
    for (number, line) in numbered(text) {
        let plain = line.trim();
        if in_front {
            if number > 1 && (plain == "---" || plain == "...") {
                in_front = false;
                gathering.end();
            } else if number > 1 {
                gathering.line("", number, line.trim_end());
            }
            continue;
        }
        if let Some(open) = &fence {
            gathering.line(&headings.path(), number, line);
            if plain.starts_with(open.as_str()) && plain.trim_start_matches(['`', '~']).is_empty() {
                fence = None;
                gathering.end();
            }
            continue;
        }
        if let Some(mark) = fence_of(plain) {
            gathering.end();
            gathering.line(&headings.path(), number, line);
            fence = Some(mark);
        } else if let Some((level, title)) = heading(line) {
            gathering.end();
            headings.enter(level, title);
        } else if let Some(level) = underline(plain).filter(|_| is_title(&gathering)) {
            let title = gathering.open.take().map(|block| block.text).unwrap_or_default();
            headings.enter(level, &title);
        } else if plain.is_empty() {
            gathering.end();
        } else {
            gathering.line(&headings.path(), number, line.trim_end());
        }
    }
    let mut blocks = gathering.finish();
    // A section without a text is found by its name.
    if blocks.is_empty() && !headings.0.is_empty() {
        blocks.push(Block { heading: String::new(), first_line: 1, last_line: 1, text: headings.path() });
    }
    blocks
}

fn fence_of(line: &str) -> Option<String> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|next| *next == mark).count();
    (length >= 3).then(|| std::iter::repeat_n(mark, length).collect())
}

/// `## Title ##`
fn heading(line: &str) -> Option<(usize, &str)> {
    let line =
        line.strip_prefix("   ").or(line.strip_prefix("  ")).or(line.strip_prefix(' ')).unwrap_or(line);
    let level = line.chars().take_while(|mark| *mark == '#').count();
    let title = line.trim_start_matches('#');
    let spaced = title.is_empty() || title.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && spaced).then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn underline(line: &str) -> Option<usize> {
    let all = |mark: char| line.len() >= 2 && line.chars().all(|next| next == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

/// Whether what stands above is one line of plain text.
fn is_title(gathering: &Gathering) -> bool {
    let title = |block: &Block| {
        block.first_line == block.last_line && !block.text.starts_with(['-', '*', '+', '>', '|', '`'])
    };
    gathering.open.as_ref().is_some_and(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_code_and_paragraphs_keep_their_place() {
        let text = "---\ntitle: x\n---\nIntro\n\n# Plan\nfirst\nsecond\n\n## Risks ##\n```sh\n# no heading\n\nrm -rf\n```\nafter\n\nSetext\n------\n- a\n- b\n# Next\nend\n";
        let found: Vec<(String, u32, u32, String)> =
            blocks(text).into_iter().map(|b| (b.heading, b.first_line, b.last_line, b.text)).collect();
        let row = |heading: &str, from, to, text: &str| (heading.to_owned(), from, to, text.to_owned());
        assert_eq!(
            found,
            [
                row("", 2, 2, "title: x"),
                row("", 4, 4, "Intro"),
                row("Plan", 7, 8, "first\nsecond"),
                row("Plan › Risks", 11, 15, "```sh\n# no heading\n\nrm -rf\n```"),
                row("Plan › Risks", 16, 16, "after"),
                row("Plan › Setext", 20, 21, "- a\n- b"),
                row("Next", 23, 23, "end"),
            ]
        );
        assert_eq!(blocks("# Only a title\n")[0].text, "Only a title");
        assert!(blocks("").is_empty());
    }
}
