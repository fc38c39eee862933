//! A review as a server tells of it.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::run::job::{Conflict, Todo};
use checkrein_forge::{EntryKind, Hunk, Line, LineKind};
use checkrein_server::wire::diff::{self, ChangeWord, LineWord};
use checkrein_server::wire::review as wire;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::{CommitShown, ConflictShown, FileShown, Review, clean, found_line, is_record, nature};
use super::thread::{CommentShown, Thread};
use crate::output::one_line;

impl Review {
    pub fn heard(told: &wire::Review) -> Review {
        let text = |value: &Value| value.as_str().map(clean);
        let todos = |value: &Value| -> Vec<Todo> {
            let list: Vec<Todo> = read(value);
            list.into_iter().map(|todo| Todo { content: one_line(&todo.content), ..todo }).collect()
        };
        let protected: Vec<String> = read(&told.protected);
        // Where the job's own files are, by one of them.
        let own = told.artefacts.iter().find_map(|artefact| artefact.path.rsplit_once('/'));
        let own = own.map_or(String::new(), |(directory, _)| format!("{directory}/"));
        let shown = |diff: &diff::Diff| -> Vec<FileShown> {
            let mut files: Vec<FileShown> = diff.files.iter().map(|told| file(told, &protected)).collect();
            files.sort_by_key(|file| is_record(&own, &file.path));
            files
        };
        let deliverables: Vec<String> = read(&told.deliverables);
        Review {
            id: clean(&told.id),
            run: one_line(&told.run_id),
            status: told.status,
            open: told.open && told.status == CheckpointStatus::Pending,
            moved: told.moved,
            digest: told.digest,
            description: text(&told.description).unwrap_or_default(),
            level: text(&told.level).unwrap_or_else(|| "custom".to_owned()),
            phase: one_line(&told.phase),
            kind: serde_json::from_value(told.phase_kind.clone()).unwrap_or(PhaseKind::Strategic),
            round: told.round,
            because: told.because.iter().map(|reason| one_line(reason)).collect(),
            repository: one_line(
                told.clone_url.as_deref().or(told.repository.as_deref()).unwrap_or_default(),
            ),
            branch: one_line(&told.branch),
            base: one_line(&told.base),
            head: one_line(&told.head),
            summary: text(&told.summary).unwrap_or_default(),
            todos: todos(&told.todos),
            next_todos: todos(&told.next_todos),
            deliverables: deliverables.iter().map(|text| one_line(text)).collect(),
            confidence: told.confidence.as_f64(),
            milestone: text(&told.milestone),
            findings: told.findings.iter().map(|found| found_line(found, &told.phase)).collect(),
            unchanged: told.no_change_since_last_round.as_bool().unwrap_or(false),
            conflict: conflict(&told.conflict),
            artefacts: told.artefacts.iter().map(|told| (one_line(&told.path), clean(&told.text))).collect(),
            commits: told.commits.iter().map(commit).collect(),
            files: shown(&told.diff),
            since: told.since_last_round.as_ref().map(shown),
            threads: told.threads.iter().map(|thread| self::thread(thread, &told.comments)).collect(),
            waiting: told.comments.iter().filter(|said| !said.delivered && !said.from_agent).count(),
        }
    }
}

fn read<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

fn file(told: &diff::FileDiff, protected: &[String]) -> FileShown {
    let kind = |mode: &Option<String>| mode.as_deref().and_then(EntryKind::from_mode);
    FileShown {
        path: told.path.clone(),
        name: one_line(&told.path),
        from: told.from.as_deref().map(one_line),
        word: match told.change {
            ChangeWord::Added => "added",
            ChangeWord::Deleted => "deleted",
            ChangeWord::Modified => "modified",
            ChangeWord::Retyped => "retyped",
            ChangeWord::Renamed => "renamed",
        },
        added: told.added,
        removed: told.removed,
        nature: nature(kind(&told.old_mode), kind(&told.new_mode), told.link_target.as_deref()),
        binary: told.binary,
        cut: told.cut,
        protected: protected.contains(&told.path),
        mark: told.mark,
        hunks: told.hunks.iter().map(hunk).collect(),
    }
}

fn hunk(told: &diff::Hunk) -> Hunk {
    let line = |told: &diff::Line| Line {
        kind: match told.kind {
            LineWord::Same => LineKind::Same,
            LineWord::Added => LineKind::Added,
            LineWord::Removed => LineKind::Removed,
        },
        old_number: told.old,
        new_number: told.new,
        text: clean(&told.text),
        no_line_break: told.no_line_break,
    };
    Hunk { heading: one_line(&told.heading), lines: told.lines.iter().map(line).collect() }
}

fn commit(told: &wire::Commit) -> CommitShown {
    CommitShown {
        id: one_line(&told.id),
        title: one_line(told.message.lines().next().unwrap_or_default()),
        author: one_line(&told.author),
        at_seconds: told.at.map_or(0, |at| at.as_second()),
        human: told.human,
    }
}

fn conflict(told: &Value) -> Option<ConflictShown> {
    let met: Conflict = serde_json::from_value(told.clone()).ok()?;
    let texts = told.get("texts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let both_sides = |path: &String| {
        let file = texts.iter().find(|file| file.get("path").and_then(Value::as_str) == Some(path))?;
        let more = if file.get("cut") == Some(&Value::Bool(true)) { "\n… and more" } else { "" };
        file.get("text").and_then(Value::as_str).map(|text| format!("{}{more}", clean(text)))
    };
    Some(ConflictShown {
        files: met.files.iter().map(|path| (one_line(path), both_sides(path))).collect(),
        messages: met.messages.iter().map(|message| one_line(message)).collect(),
        kept_on: met.kept_on.as_deref().map(one_line),
    })
}

fn thread(told: &wire::Thread, comments: &[wire::Comment]) -> Thread {
    let said = told.comments.iter().filter_map(|id| comments.iter().find(|comment| comment.id == *id));
    Thread {
        id: one_line(&told.id),
        file: told.file.clone(),
        line: told.line,
        changed: told.line_changed,
        was_at: told.was_at,
        phase: told.phase.as_deref().map(one_line),
        round: told.round,
        comments: said
            .map(|comment| CommentShown {
                id: one_line(&comment.id),
                by: one_line(&comment.by),
                from_agent: comment.from_agent,
                text: clean(&comment.text),
            })
            .collect(),
    }
}
