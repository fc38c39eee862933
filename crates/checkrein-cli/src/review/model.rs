//! A review as a person sees it.
//!
//! An agent wrote most of it, so every text goes through [`clean`] on its way in: nothing that is shown later
//! can command a terminal. Names that are sent back to the engine are kept beside what is shown of them.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Digest;
use checkrein_core::run::job::{Conflict, FileMark, Todo};
use checkrein_engine::{ReviewMaterial, Reviewed};
use checkrein_forge::{Change, Commit, Diff, EntryKind, FileDiff, Hunk};
use checkrein_server::wire::review::FoundItem;
use serde_json::Value;

use super::thread::{Thread, threads};
use crate::output::{harmless, one_line};

pub struct Review {
    pub id: String,
    pub run: String,
    pub status: CheckpointStatus,
    /// Whether its run waits at it.
    pub open: bool,
    /// Whether somebody pushed since it was opened.
    pub moved: bool,
    pub digest: Digest,
    pub description: String,
    pub level: String,
    pub phase: String,
    pub kind: PhaseKind,
    pub round: u32,
    pub because: Vec<String>,
    pub repository: String,
    pub branch: String,
    pub base: String,
    pub head: String,
    pub summary: String,
    pub todos: Vec<Todo>,
    pub next_todos: Vec<Todo>,
    pub deliverables: Vec<String>,
    pub confidence: Option<f64>,
    pub milestone: Option<String>,
    /// What was found, one line each.
    pub findings: Vec<String>,
    /// A round in which nothing changed.
    pub unchanged: bool,
    pub conflict: Option<ConflictShown>,
    /// Names and texts.
    pub artefacts: Vec<(String, String)>,
    pub commits: Vec<CommitShown>,
    pub files: Vec<FileShown>,
    /// What the last round changed.
    pub since: Option<Vec<FileShown>>,
    pub threads: Vec<Thread>,
    /// How many comments the agent was not given yet.
    pub waiting: usize,
}

pub struct FileShown {
    /// As the engine knows it.
    pub path: String,
    /// As it is shown.
    pub name: String,
    pub from: Option<String>,
    pub word: &'static str,
    pub added: u64,
    pub removed: u64,
    /// What it is beside a plain file, or became: `now executable (mode 100644 -> 100755)`, `link to TARGET`.
    pub nature: Option<String>,
    pub binary: bool,
    /// Whether there are more hunks than these.
    pub cut: bool,
    pub protected: bool,
    pub mark: Option<FileMark>,
    pub hunks: Vec<Hunk>,
}

pub struct CommitShown {
    pub id: String,
    pub title: String,
    pub author: String,
    pub at_seconds: i64,
    /// Whether neither the agent nor the engine made it.
    pub human: bool,
}

pub struct ConflictShown {
    pub files: Vec<(String, Option<String>)>,
    pub messages: Vec<String>,
    pub kept_on: Option<String>,
}

/// Text that cannot command a terminal, with its line breaks and tabs.
pub fn clean(text: &str) -> String {
    text.split('\t').map(harmless).collect::<Vec<_>>().join("\t")
}

impl Review {
    pub fn of(reviewed: &Reviewed, material: &ReviewMaterial) -> Review {
        let asked = reviewed.asked();
        let text = |name: &str| asked.get(name).and_then(Value::as_str).map(clean);
        let checkpoint = &reviewed.checkpoint.checkpoint;
        let todos = |name: &str| -> Vec<Todo> {
            let list: Vec<Todo> =
                serde_json::from_value(asked.get(name).cloned().unwrap_or_default()).unwrap_or_default();
            list.into_iter().map(|todo| Todo { content: one_line(&todo.content), ..todo }).collect()
        };
        let protected = texts(&asked, "protected");
        let own = reviewed.view.run.job().map_or("", |(definition, _)| definition.repository.artefacts());
        let shown = |diff: &Diff| -> Vec<FileShown> {
            let mut files: Vec<FileShown> =
                diff.files.iter().map(|file| FileShown::of(file, reviewed, &protected)).collect();
            // What the engine keeps about the phase is read last.
            files.sort_by_key(|file| is_record(own, &file.path));
            files
        };
        let since = material.since_last_round.as_ref();
        Review {
            id: clean(checkpoint.id.as_str()),
            run: reviewed.view.run.id.to_string(),
            status: checkpoint.status,
            open: reviewed.open && checkpoint.status == CheckpointStatus::Pending,
            moved: checkpoint.moved,
            digest: checkpoint.digest,
            description: text("description").unwrap_or_default(),
            level: text("level").unwrap_or_else(|| "custom".to_owned()),
            phase: one_line(&checkpoint.phase),
            kind: serde_json::from_value(asked.get("phase_kind").cloned().unwrap_or_default())
                .unwrap_or(PhaseKind::Strategic),
            round: checkpoint.round,
            because: reviewed.because.iter().map(|reason| one_line(reason)).collect(),
            repository: one_line(&material.repository.to_string_lossy()),
            branch: one_line(&material.branch),
            base: material.base.to_string(),
            head: material.head.to_string(),
            summary: text("summary").unwrap_or_default(),
            todos: todos("todos"),
            next_todos: todos("next_todos"),
            deliverables: texts(&asked, "deliverables").iter().map(|text| one_line(text)).collect(),
            confidence: asked.get("confidence").and_then(Value::as_f64),
            milestone: text("milestone"),
            findings: reviewed
                .findings
                .iter()
                .map(|found| found_line(&found.into(), &checkpoint.phase))
                .collect(),
            unchanged: asked.get("no_change_since_last_round").and_then(Value::as_bool).unwrap_or(false),
            conflict: conflict(&asked, material),
            artefacts: material.artefacts.iter().map(|(name, text)| (one_line(name), clean(text))).collect(),
            commits: material.commits.iter().map(|commit| shown_commit(commit, material)).collect(),
            files: shown(&material.diff),
            since: since.map(shown),
            threads: threads(reviewed, since),
            waiting: reviewed.comments.iter().filter(|comment| comment.waits()).count(),
        }
    }

    /// The files of one of the two diffs.
    pub fn files_of(&self, which: super::Which) -> &[FileShown] {
        match (which, &self.since) {
            (super::Which::SinceLastRound, Some(since)) => since,
            _ => &self.files,
        }
    }

    pub fn marked_for_changes(&self) -> Vec<&str> {
        let marked = self.files.iter().filter(|file| file.mark == Some(FileMark::ChangesRequested));
        marked.map(|file| file.name.as_str()).collect()
    }

    /// Threads that belong to no file that is shown.
    pub fn conversation(&self) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(|thread| !self.files.iter().any(|file| thread.is_of(&file.path)))
    }

    pub fn threads_of<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r Thread> {
        self.threads.iter().filter(move |thread| thread.is_of(path))
    }

    pub fn comments_of(&self, path: &str) -> usize {
        self.threads_of(path).map(|thread| thread.comments.len()).sum()
    }
}

impl FileShown {
    fn of(file: &FileDiff, reviewed: &Reviewed, protected: &[String]) -> FileShown {
        let path = file.path.to_string();
        let (word, from) = match &file.change {
            Change::Added => ("added", None),
            Change::Deleted => ("deleted", None),
            Change::Modified => ("modified", None),
            Change::Retyped => ("retyped", None),
            Change::Renamed { from, .. } => ("renamed", Some(one_line(&from.to_string()))),
        };
        let mut hunks = file.hunks.clone();
        for hunk in &mut hunks {
            hunk.heading = one_line(&hunk.heading);
            hunk.lines.iter_mut().for_each(|line| line.text = clean(&line.text));
        }
        FileShown {
            name: one_line(&path),
            from,
            word,
            added: file.added,
            removed: file.removed,
            nature: nature(file.old_kind, file.new_kind, file.link_target()),
            binary: file.binary,
            cut: file.cut,
            protected: protected.contains(&path),
            mark: reviewed.marks.get(&path).copied(),
            hunks,
            path,
        }
    }

    /// `M`, as git says it.
    pub fn letter(&self) -> char {
        match self.word {
            "added" => 'A',
            "deleted" => 'D',
            "retyped" => 'T',
            "renamed" => 'R',
            _ => 'M',
        }
    }
}

/// What a file is if that is more than a file, and what it was if that is something else.
pub(super) fn nature(
    old_kind: Option<EntryKind>,
    new_kind: Option<EntryKind>,
    link_target: Option<&str>,
) -> Option<String> {
    let word = |kind: EntryKind| match kind {
        EntryKind::File => "file",
        EntryKind::Executable => "executable",
        EntryKind::Link => "link",
        EntryKind::Submodule => "submodule",
    };
    let is = |kind: EntryKind| match link_target {
        Some(target) if kind == EntryKind::Link => format!("link to {}", one_line(target)),
        _ => word(kind).to_owned(),
    };
    let now = new_kind.or(old_kind)?;
    match (old_kind, new_kind) {
        (Some(old), Some(new)) if old != new => {
            let became = match (old, new) {
                (EntryKind::File, EntryKind::Executable) => "now executable".to_owned(),
                (EntryKind::Executable, EntryKind::File) => "no longer executable".to_owned(),
                (old, new) => format!("{} -> {}", word(old), is(new)),
            };
            Some(format!("{became} (mode {} -> {})", old.mode(), new.mode()))
        }
        // What was executable all along is nothing new.
        (Some(EntryKind::Executable), _) => None,
        _ => (now != EntryKind::File).then(|| is(now)),
    }
}

/// Files the engine writes about a phase.
pub(super) fn is_record(own: &str, path: &str) -> bool {
    path.strip_prefix(own).is_some_and(|name| {
        matches!(name, "workspace.md" | "feedback.md")
            || name.starts_with("tools/")
            || name.starts_with("archive/")
    })
}

pub(super) fn found_line(found: &FoundItem, here: &str) -> String {
    let FoundItem { phase, kind, severity, category, text } = found;
    let phase = if phase == here { String::new() } else { format!("{}: ", one_line(phase)) };
    one_line(&format!("{phase}{kind} [{severity}] [{category}] {text}"))
}

fn shown_commit(commit: &Commit, material: &ReviewMaterial) -> CommitShown {
    CommitShown {
        id: commit.oid.to_string(),
        title: one_line(commit.title()),
        author: one_line(&commit.author_name),
        at_seconds: commit.authored_at_seconds,
        human: material.human.contains(&commit.oid),
    }
}

/// As it was met, with both sides of each file where they can be shown.
fn conflict(asked: &Value, material: &ReviewMaterial) -> Option<ConflictShown> {
    let met: Conflict = serde_json::from_value(asked.get("conflict")?.clone()).ok()?;
    let both_sides = |path: &String| {
        let now = material.conflict.as_ref()?;
        let file = now.files.iter().find(|file| file.path.to_string() == *path)?;
        let more = if file.cut { "\n… and more" } else { "" };
        file.text.as_ref().map(|text| format!("{}{more}", clean(text)))
    };
    Some(ConflictShown {
        files: met.files.iter().map(|path| (one_line(path), both_sides(path))).collect(),
        messages: met.messages.iter().map(|message| one_line(message)).collect(),
        kept_on: met.kept_on.as_deref().map(one_line),
    })
}

fn texts(asked: &Value, name: &str) -> Vec<String> {
    let list = asked.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
