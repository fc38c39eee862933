//! A review for tests: the second round of a phase, with all there can be.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Digest;
use checkrein_core::run::job::{FileMark, Todo};
use checkrein_forge::{Hunk, Line, LineKind};
use checkrein_server::wire::diff;

use super::model::{CommitShown, FileShown, Review};
use super::thread::{CommentShown, Thread};

pub fn review() -> Review {
    let todo = |id: u32, content: &str, done: bool| Todo { id, content: content.to_owned(), done };
    let letter = file("letter.md", "modified", Some(FileMark::ChangesRequested), LETTER);
    let mut script = file("src/commands/a_rather_long_name_of_a_file.rs", "modified", None, SCRIPT);
    script.nature = Some("now executable (mode 100644 -> 100755)".to_owned());
    Review {
        id: "20260301-120000-7kq2m.2.2".to_owned(),
        run: "20260301-120000-7kq2m".to_owned(),
        status: CheckpointStatus::Pending,
        open: true,
        moved: false,
        digest: Digest::of(b"letter"),
        description: "Write a letter to everybody who asked, and keep it short".to_owned(),
        level: "dependent".to_owned(),
        phase: "phase-2-tactical".to_owned(),
        kind: PhaseKind::Tactical,
        round: 2,
        because: vec!["ann requested changes: round 2 waits for review".to_owned()],
        forge: vec!["https://forge.example.org/ann/letters/pulls/7".to_owned()],
        repository: "/data/jobs/20260301-120000-7kq2m/repository.git".to_owned(),
        branch: "phase-2-tactical".to_owned(),
        base: "1111111111111111111111111111111111111111".to_owned(),
        head: "2222222222222222222222222222222222222222".to_owned(),
        summary: "The letter is shorter now.".to_owned(),
        todos: vec![todo(1, "write letter.md", true), todo(2, "send it", false)],
        next_todos: Vec::new(),
        deliverables: vec!["letter.md".to_owned()],
        confidence: Some(0.8),
        milestone: None,
        findings: vec!["warning [medium] [security] `build/fifo` was not taken: it is no file".to_owned()],
        unchanged: false,
        conflict: None,
        artefacts: vec![("plan.md".to_owned(), "# Plan\n\n1. write letter.md\n2. send it\n".to_owned())],
        commits: vec![
            commit("3333", "agent", "todo 1: write letter.md", false),
            commit("4444", "ann", "Dear, not Hi", true),
        ],
        files: vec![letter, script, file("logo.png", "added", Some(FileMark::Approved), "")],
        since: Some(vec![file("letter.md", "modified", None, "=Dear reader,|-all of you|+you")]),
        threads: vec![
            thread(
                "c1",
                Some("letter.md"),
                Some(3),
                &[
                    ("ann", "[FIX] too long, and nobody reads so much of it anyway"),
                    ("agent", "cut it by half"),
                ],
            ),
            thread("c3", None, None, &[("ann", "Nearly there.")]),
            Thread { was_at: Some(40), ..thread("c4", Some("letter.md"), None, &[("bob", "why?")]) },
        ],
        waiting: 0,
        not_shown: Vec::new(),
    }
}

/// `=` stays, `-` goes, `+` comes, `@` is the next hunk; lines are separated by bars.
fn file(path: &str, word: &'static str, mark: Option<FileMark>, lines: &str) -> FileShown {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for line in lines.split('|').filter(|line| !line.is_empty()) {
        let (sign, text) = line.split_at(1);
        if sign == "@" || hunks.is_empty() {
            hunks.push(Hunk { heading: String::new(), lines: Vec::new() });
        }
        let next = |number: &mut u32| {
            *number += 1;
            Some(*number)
        };
        let (kind, old_number, new_number) = match sign {
            "@" => {
                (old, new) = (old + 20, new + 20);
                continue;
            }
            "+" => (LineKind::Added, None, next(&mut new)),
            "-" => (LineKind::Removed, next(&mut old), None),
            _ => (LineKind::Same, next(&mut old), next(&mut new)),
        };
        let line =
            Line { kind, old_number, new_number, text: text.to_owned(), cut_bytes: 0, no_line_break: false };
        hunks.last_mut().unwrap().lines.push(line);
    }
    let of = |kind: LineKind| {
        hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind).count() as u64
    };
    FileShown {
        path: path.to_owned(),
        name: path.to_owned(),
        from: None,
        word,
        added: of(LineKind::Added),
        removed: of(LineKind::Removed),
        nature: None,
        binary: lines.is_empty(),
        cut: false,
        protected: path.starts_with("src"),
        mark,
        mark_lapsed: false,
        hunks: hunks.iter().map(diff::Hunk::of).collect(),
    }
}

const LETTER: &str =
    "=Dear reader,|-I write to all of you today|+I write to you today|+because you asked.|=|=Yours";
const SCRIPT: &str = "=fn main() {|-\tsay(\"hi\");|+\tsay(\"dear\");|=}|@|=// end|+// of it all, with a line that is much longer than any screen of this width could ever show at once";

fn commit(id: &str, author: &str, title: &str, human: bool) -> CommitShown {
    let (id, author, title) = (id.repeat(10), author.to_owned(), title.to_owned());
    CommitShown { id, author, title, at_seconds: 1_772_366_400, human }
}

fn thread(id: &str, file: Option<&str>, line: Option<u32>, said: &[(&str, &str)]) -> Thread {
    let number: u32 = id.trim_start_matches('c').parse().unwrap();
    let comments = said.iter().zip(number..).map(|((by, text), number)| CommentShown {
        id: format!("c{number}"),
        by: (*by).to_owned(),
        from_agent: *by == "agent",
        text: (*text).to_owned(),
    });
    Thread {
        id: id.to_owned(),
        file: file.map(str::to_owned),
        line,
        changed: false,
        was_at: None,
        phase: None,
        round: 1,
        comments: comments.collect(),
    }
}
