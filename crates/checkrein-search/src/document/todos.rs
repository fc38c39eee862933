//! Lists of todos: each entry by itself, under the phase it belongs to.

use super::{Block, Gathering, numbered};

pub fn blocks(text: &str) -> Vec<Block> {
    let mut heading = "todos".to_owned();
    let mut gathering = Gathering::default();
    for (number, line) in numbered(text) {
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with('#') || plain == "todos:" {
            gathering.end();
            continue;
        }
        let entry = plain.strip_prefix("- ");
        if entry.is_some() || !line.starts_with([' ', '\t', '-']) {
            gathering.end();
        }
        let said = entry.unwrap_or(plain);
        if let Some((_, phase)) = said.split_once("phase:").filter(|(before, _)| before.is_empty()) {
            heading = format!("todos › {}", phase.trim().trim_matches(['"', '\'']));
            continue;
        }
        gathering.line(&heading, number, said);
    }
    gathering.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_todo_is_a_block_under_its_phase() {
        let text = "phase: phase-2-tactical\ndescription: the parser\ntodos:\n- id: 1\n  content: write the lexer\n  done: true\n- id: 2\n  content: >\n    test it\n";
        let found: Vec<(u32, u32, String)> =
            blocks(text).into_iter().map(|b| (b.first_line, b.last_line, b.text)).collect();
        assert_eq!(
            found,
            [
                (2, 2, "description: the parser".to_owned()),
                (4, 6, "id: 1\ncontent: write the lexer\ndone: true".to_owned()),
                (7, 9, "id: 2\ncontent: >\ntest it".to_owned()),
            ]
        );
        assert_eq!(blocks(text)[1].heading, "todos › phase-2-tactical");
    }
}
