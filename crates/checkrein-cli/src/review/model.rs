//! A review as a person sees it, made of what programs are told, so that a store and a server are the same to it.
//!
//! An agent wrote most of it, so every text goes through [`clean`] on its way in: nothing that is shown later
//! can command a terminal. Names that are sent back are kept beside what is shown of them.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Digest;
use checkrein_core::omission::{Omission, listed};
use checkrein_core::run::job::{Conflict, FileMark, Settled, Todo};
use checkrein_forge::EntryKind;
use checkrein_server::wire::diff::{ChangeWord, Diff, FileDiff, Hunk};
use checkrein_server::wire::forge::ForgeLink;
use checkrein_server::wire::review::{self as wire, FoundItem};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::thread::{Thread, thread};
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
    /// Where else it is reviewed, one line each.
    pub forge: Vec<String>,
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
    /// What is not shown of it.
    pub not_shown: Vec<Omission>,
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
    /// It was approved, and has changed since.
    pub mark_lapsed: bool,
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
    /// The branch the job started from, if that is what does not fit.
    pub base: Option<String>,
}

/// Text that cannot command a terminal, with its line breaks and tabs.
pub fn clean(text: &str) -> String {
    text.split('\t').map(harmless).collect::<Vec<_>>().join("\t")
}

impl Review {
    pub fn of(told: wire::Review) -> Review {
        let text = |value: &Value| value.as_str().map(clean);
        let todos = |value: &Value| -> Vec<Todo> {
            let list: Vec<Todo> = read(value);
            list.into_iter().map(|todo| Todo { content: one_line(&todo.content), ..todo }).collect()
        };
        let protected: Vec<String> = read(&told.protected);
        // Where the job's own files are, by one of them.
        let own = told.artefacts.iter().find_map(|artefact| artefact.path.rsplit_once('/'));
        let own = own.map_or(String::new(), |(directory, _)| format!("{directory}/"));
        let shown = |diff: Diff| -> Vec<FileShown> {
            let mut files: Vec<FileShown> =
                diff.files.into_iter().map(|file| FileShown::of(file, &protected)).collect();
            // What the engine keeps about the phase is read last.
            files.sort_by_key(|file| is_record(&own, &file.path));
            files
        };
        let deliverables: Vec<String> = read(&told.deliverables);
        let repository = told.clone_url.as_deref().or(told.repository.as_deref());
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
            kind: serde_json::from_value(told.phase_kind).unwrap_or(PhaseKind::Strategic),
            round: told.round,
            because: told.because.iter().map(|reason| one_line(reason)).collect(),
            repository: one_line(repository.unwrap_or_default()),
            forge: told.forge.as_ref().map(forge).unwrap_or_default(),
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
            files: shown(told.diff),
            since: told.since_last_round.map(shown),
            threads: told.threads.iter().map(|told_of| thread(told_of, &told.comments)).collect(),
            not_shown: told.not_shown,
            waiting: told.comments.iter().filter(|said| !said.delivered && !said.from_agent).count(),
        }
    }

    /// The files of one of the two diffs.
    pub fn files_of(&self, which: super::Which) -> &[FileShown] {
        match (which, &self.since) {
            (super::Which::SinceLastRound, Some(since)) => since,
            _ => &self.files,
        }
    }

    /// What speaks against an approval, which then has to be confirmed.
    pub fn doubts(&self) -> Vec<String> {
        let marked = self.files.iter().filter(|file| file.mark == Some(FileMark::ChangesRequested));
        let marked: Vec<&str> = marked.map(|file| file.name.as_str()).collect();
        let mut doubts = Vec::new();
        if !marked.is_empty() {
            doubts.push(format!("You request changes of {}.", marked.join(", ")));
        }
        doubts.extend(self.told_not_shown());
        doubts
    }

    /// In a sentence.
    pub fn told_not_shown(&self) -> Option<String> {
        let listed = one_line(&listed(&self.not_shown));
        (!listed.is_empty()).then(|| format!("Not shown: {listed}."))
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
    fn of(told: FileDiff, protected: &[String]) -> FileShown {
        let kind = |mode: &Option<String>| mode.as_deref().and_then(EntryKind::from_mode);
        let mut hunks = told.hunks;
        for hunk in &mut hunks {
            hunk.heading = one_line(&hunk.heading);
            for line in &mut hunk.lines {
                line.text = clean(&line.text);
                line.words.iter_mut().for_each(|piece| piece.text = clean(&piece.text));
            }
        }
        FileShown {
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
            mark_lapsed: told.mark_lapsed,
            hunks,
            path: told.path,
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
fn nature(
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
fn is_record(own: &str, path: &str) -> bool {
    path.strip_prefix(own).is_some_and(|name| {
        matches!(name, "workspace.md" | "feedback.md")
            || name.starts_with("tools/")
            || name.starts_with("archive/")
    })
}

fn found_line(found: &FoundItem, here: &str) -> String {
    let FoundItem { phase, kind, severity, category, text } = found;
    let phase = if phase == here { String::new() } else { format!("{}: ", one_line(phase)) };
    one_line(&format!("{phase}{kind} [{severity}] [{category}] {text}"))
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

/// The pull request, what became of it, and what keeps the job from it.
fn forge(told: &ForgeLink) -> Vec<String> {
    let settled = match told.settled {
        None => "",
        Some(Settled::Merged) => ", merged",
        Some(Settled::Closed) => ", closed",
    };
    let link = told.url.as_deref().map(|url| format!("{}{settled}", one_line(url)));
    let trouble = told.trouble.as_deref().map(|text| format!("out of reach: {}", one_line(text)));
    link.into_iter().chain(trouble).collect()
}

/// As it was met, with both sides of each file where they can be shown.
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
        base: met.base.as_deref().map(one_line),
    })
}

fn read<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}
