//! What a person changes on the branch of a review: a commit in their name, on the head they looked at.

use checkrein_core::checkpoint::CheckpointId;
use checkrein_core::principal::Principal;
use checkrein_core::run::{Command, RunId};
use checkrein_core::shown::{characters, hides_something};
use checkrein_forge::{
    Branch, EntryKind, FileChange, FilesCommit, ForgeError, Identity, Oid, Signature, TreeEntry, TreePath,
};

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::authority::{Act, require};
use crate::run::RunView;
use crate::{Engine, EngineError};

/// Changes to files of a branch.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// The commit that was on the screen; on any other, nothing is done.
    pub head: String,
    /// What the commit says; made of the files where there is nothing.
    pub message: Option<String>,
    pub files: Vec<FileEdit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    Write {
        path: String,
        content: String,
    },
    /// Only if nothing is there.
    Create {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
}

/// What becomes of a conflict.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    pub head: String,
    pub message: Option<String>,
    /// Every file in conflict, and what it is to be.
    pub files: Vec<(String, Settled)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    Text(String),
    /// As it is on the branch under review.
    Ours,
    /// As it is on the other side.
    Theirs,
    Deleted,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub run: RunId,
    pub checkpoint: CheckpointId,
    /// The head of the branch now.
    pub head: String,
    pub changed: bool,
}

/// The longest text that is taken at once.
pub const EDIT_BYTES_MAX: usize = 1 << 20;

impl Engine {
    /// Writes, creates or deletes files on the branch of the review a job waits at.
    pub async fn edit_files(&self, by: &Principal, id: &str, edit: &Edit) -> Result<Edited, EngineError> {
        require(by, Act::PushToBranches)?;
        if edit.files.is_empty() {
            return Err(EngineError::Empty("files"));
        }
        edit.files.iter().try_for_each(FileEdit::check)?;
        let message = message(edit.message.as_deref(), || edit.words())?;
        let files = edit.files.clone();
        let change = move |_: &JobRepository, _: &Branch, head: &Oid, there: &[TreeEntry]| {
            let files = files.iter().map(|file| file.change(there, head));
            Ok((files.collect::<Result<Vec<FileChange>, EngineError>>()?, None))
        };
        self.commit_on(by, id, &edit.head, message, change).await
    }

    /// Settles the conflict a review is held by: one commit that joins both sides.
    pub async fn settle_conflict(
        &self,
        by: &Principal,
        id: &str,
        settlement: &Settlement,
    ) -> Result<Edited, EngineError> {
        require(by, Act::PushToBranches)?;
        let view = self.spoken_of(by, id, None).await?;
        let met = view.run.job().and_then(|(_, job)| job.phase.work.as_ref()?.conflict.clone());
        let Some(met) = met else { return Err(EngineError::NoConflict(id.to_owned())) };
        settlement.check()?;
        let message = message(settlement.message.as_deref(), || settlement.words())?;
        let settled = settlement.files.clone();
        let change = move |repository: &JobRepository, branch: &Branch, head: &Oid, there: &[TreeEntry]| {
            let (other, _) = repository.other_side(branch, &met)?;
            let conflict = repository.bare.conflict_between(head, &other)?;
            let theirs = repository.bare.list_files(&other)?;
            let missing: Vec<String> = conflict
                .iter()
                .flat_map(|conflict| &conflict.files)
                .map(|file| file.path.to_string())
                .filter(|path| !settled.iter().any(|(named, _)| named == path))
                .collect();
            if !missing.is_empty() {
                return Err(EngineError::Unsettled(missing));
            }
            let changes = settled.iter().map(|(path, settled)| settled.change(path, there, &theirs));
            Ok((changes.collect(), Some(other)))
        };
        self.commit_on(by, id, &settlement.head, message, change).await
    }

    /// A commit of a person's on the branch of the review a job waits at.
    async fn commit_on<F>(
        &self,
        by: &Principal,
        id: &str,
        looked_at: &str,
        message: String,
        change: F,
    ) -> Result<Edited, EngineError>
    where
        F: FnOnce(
                &JobRepository,
                &Branch,
                &Oid,
                &[TreeEntry],
            ) -> Result<(Vec<FileChange>, Option<Oid>), EngineError>
            + Send
            + 'static,
    {
        let mut view = self.spoken_of(by, id, None).await?;
        self.notice_push(&mut view).await?;
        let (checkpoint, head) = stands_at(&view, id)?;
        if head != looked_at {
            return Err(EngineError::HeadMoved { id: checkpoint, looked_at: looked_at.to_owned(), head });
        }
        let (run, at) = (view.run.clone(), self.now().as_second());
        let place = JobPlace::of(&self.store, &run.id);
        let who = identity(&by.name)?.at(at);
        let (old, named) = (Oid::parse(&head)?, checkpoint.clone());
        let made = blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
            let branch = repository.branch(&job.phase);
            let there = repository.bare.list_files(&old)?;
            let (changes, other) = change(&repository, &branch, &old, &there)?;
            let commit = commit(&branch, &old, &who, &message, &changes);
            let made = match other {
                Some(other) => repository.bare.settle(&commit, &other),
                None => repository.bare.commit_files(&commit),
            };
            match made {
                Ok(made) => {
                    repository.mirror(definition, &branch);
                    Ok(made)
                }
                // Somebody pushed between looking and writing.
                Err(ForgeError::Moved { found: Some(found), .. }) => {
                    let (looked_at, head) = (old.to_string(), found.to_string());
                    Err(EngineError::HeadMoved { id: named, looked_at, head })
                }
                Err(error) => Err(error.into()),
            }
        })
        .await?;
        self.notice_push(&mut view).await?;
        let changed = made.as_str() != looked_at;
        Ok(Edited { run: view.run.id.clone(), checkpoint, head: made.to_string(), changed })
    }

    /// Says that a thread of a review is settled, or that it is open again.
    pub async fn resolve_thread(
        &self,
        by: &Principal,
        id: &str,
        comment: &str,
        resolved: bool,
    ) -> Result<(), EngineError> {
        require(by, Act::Comment)?;
        let command = Command::Resolve { comment: comment.to_owned(), resolved, by: by.name.clone() };
        self.say(by, id, command, None).await.map(drop)
    }
}

fn commit<'c>(
    branch: &'c Branch,
    onto: &'c Oid,
    by: &'c Signature,
    message: &'c str,
    changes: &'c [FileChange],
) -> FilesCommit<'c> {
    FilesCommit { branch, onto, by, message, changes }
}

/// The review and the commit it is of.
pub(super) fn stands_at(view: &RunView, id: &str) -> Result<(CheckpointId, String), EngineError> {
    let head = view.run.job().and_then(|(_, job)| Some(job.phase.work.as_ref()?.head.clone()));
    match (&view.checkpoint, head) {
        (Some(at), Some(head)) => Ok((CheckpointId::new(at.clone())?, head)),
        _ => Err(EngineError::NotAReview(id.to_owned())),
    }
}

/// In whose name a person's commits are made. It is never the engine's or the agent's.
fn identity(name: &str) -> Result<Identity, ForgeError> {
    let shown: String =
        characters(name).map(|(_, c, hidden)| if hidden || "<>".contains(c) { ' ' } else { c }).collect();
    let shown = if shown.trim().is_empty() { "somebody" } else { shown.trim() };
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c.to_ascii_lowercase() } else { '-' };
    let local: String = shown.chars().map(plain).collect();
    Identity::new(shown, &format!("{local}@people.checkrein.invalid"))
}

fn message(written: Option<&str>, own: impl FnOnce() -> String) -> Result<String, EngineError> {
    let text = match written.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => text.to_owned(),
        None => own(),
    };
    if text.contains('\0') {
        return Err(EngineError::Invisible("message"));
    }
    Ok(format!("{text}\n"))
}

impl Edit {
    fn words(&self) -> String {
        let words = |file: &FileEdit| match file {
            FileEdit::Write { path, .. } => format!("edit {path}"),
            FileEdit::Create { path, .. } => format!("add {path}"),
            FileEdit::Delete { path } => format!("delete {path}"),
        };
        self.files.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

impl FileEdit {
    fn path(&self) -> &str {
        match self {
            FileEdit::Write { path, .. } | FileEdit::Create { path, .. } | FileEdit::Delete { path } => path,
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        let path = self.path();
        if path.trim().is_empty() {
            return Err(EngineError::Empty("path"));
        }
        if hides_something(path) && !matches!(self, FileEdit::Delete { .. }) {
            return Err(EngineError::Invisible("path"));
        }
        if !TreePath::from(path).is_plain() {
            return Err(ForgeError::BadPath { path: TreePath::from(path) }.into());
        }
        match self {
            FileEdit::Write { content, .. } | FileEdit::Create { content, .. }
                if content.len() > EDIT_BYTES_MAX =>
            {
                Err(EngineError::TooLong { what: path.to_owned(), bytes_max: EDIT_BYTES_MAX })
            }
            _ => Ok(()),
        }
    }

    /// What git is told, where it fits what is there.
    fn change(&self, there: &[TreeEntry], head: &Oid) -> Result<FileChange, EngineError> {
        let path = TreePath::from(self.path());
        let found = there.iter().find(|entry| entry.path == path);
        let none = || EngineError::NoFile { path: self.path().to_owned(), commit: head.to_string() };
        match (self, found.map(|found| found.kind)) {
            (FileEdit::Delete { .. }, Some(_)) => Ok(FileChange::Delete { path }),
            (FileEdit::Delete { .. } | FileEdit::Write { .. }, None) => Err(none()),
            (FileEdit::Write { content, .. }, Some(kind @ (EntryKind::File | EntryKind::Executable))) => {
                Ok(FileChange::WriteAs { path, content: content.clone().into_bytes(), kind })
            }
            (FileEdit::Write { .. }, Some(_)) => Err(EngineError::NotAText(self.path().to_owned())),
            (FileEdit::Create { .. }, Some(_)) => Err(EngineError::FileThere(self.path().to_owned())),
            (FileEdit::Create { content, .. }, None) => {
                let inside =
                    |entry: &TreeEntry| is_inside(&entry.path, &path) || is_inside(&path, &entry.path);
                if there.iter().any(inside) {
                    return Err(EngineError::FileThere(self.path().to_owned()));
                }
                Ok(FileChange::Write { path, content: content.clone().into_bytes() })
            }
        }
    }
}

/// Whether one path is below the other.
fn is_inside(path: &TreePath, above: &TreePath) -> bool {
    path.as_bytes().strip_prefix(above.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'))
}

impl Settlement {
    fn words(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|(path, _)| path.as_str()).collect();
        format!("settle the conflict in {}", files.join(", "))
    }

    fn check(&self) -> Result<(), EngineError> {
        for (path, settled) in &self.files {
            let Settled::Text(text) = settled else { continue };
            if text.len() > EDIT_BYTES_MAX {
                return Err(EngineError::TooLong { what: path.clone(), bytes_max: EDIT_BYTES_MAX });
            }
            let marked = |mark: &str| text.lines().any(|line| line.starts_with(mark));
            if marked("<<<<<<< ") && marked(">>>>>>> ") {
                return Err(EngineError::Unsettled(vec![path.clone()]));
            }
        }
        Ok(())
    }
}

impl Settled {
    fn change(&self, path: &str, ours: &[TreeEntry], theirs: &[TreeEntry]) -> FileChange {
        let path = TreePath::from(path);
        let find = |side: &[TreeEntry]| side.iter().find(|entry| entry.path == path).cloned();
        let taken = |entry: Option<TreeEntry>| match entry {
            Some(entry) => FileChange::Take { path: path.clone(), oid: entry.oid, kind: entry.kind },
            None => FileChange::Delete { path: path.clone() },
        };
        match self {
            Settled::Text(text) => {
                let kind = find(ours).or_else(|| find(theirs)).map(|entry| entry.kind);
                let kind = kind.filter(|kind| *kind == EntryKind::Executable).unwrap_or(EntryKind::File);
                FileChange::WriteAs { path: path.clone(), content: text.clone().into_bytes(), kind }
            }
            Settled::Ours => taken(find(ours)),
            Settled::Theirs => taken(find(theirs)),
            Settled::Deleted => FileChange::Delete { path: path.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_in_a_persons_name_and_never_in_another() {
        for (name, expected) in [
            ("ann", "ann <ann@people.checkrein.invalid>"),
            ("agent", "agent <agent@people.checkrein.invalid>"),
            ("Zoë <x@y>\n", "Zoë  x@y <zo---x-y@people.checkrein.invalid>"),
            ("<>", "somebody <somebody@people.checkrein.invalid>"),
        ] {
            let identity = identity(name).unwrap();
            assert_eq!(format!("{} <{}>", identity.name(), identity.email()), expected);
        }
    }

    #[test]
    fn what_cannot_be_a_file_is_refused() {
        for path in ["", " ", "/etc/passwd", "../x", "a/../b", ".git/config", "a//b", "x\u{202e}y"] {
            let edit = FileEdit::Create { path: path.to_owned(), content: String::new() };
            assert!(edit.check().is_err(), "{path:?}");
        }
        let fine = FileEdit::Create { path: "docs/ü b.md".to_owned(), content: String::new() };
        assert!(fine.check().is_ok());
    }

    #[test]
    fn a_text_with_both_sides_in_it_settles_nothing() {
        let settlement = |text: &str| Settlement {
            files: vec![("a".to_owned(), Settled::Text(text.to_owned()))],
            ..Settlement::default()
        };
        assert!(settlement("<<<<<<< one\na\n=======\nb\n>>>>>>> two\n").check().is_err());
        assert!(settlement("a\nb\n").check().is_ok());
    }
}
