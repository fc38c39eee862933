//! Commits the engine makes itself: of files it writes, and of trees that are there.

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::identity::{Role, Signature};
use crate::import::Parent;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::refs::{Expected, Transaction};
use crate::repository::Bare;
use crate::tree::EntryKind;

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    Write {
        path: TreePath,
        content: Vec<u8>,
    },
    /// The same, as something other than a plain file.
    WriteAs {
        path: TreePath,
        content: Vec<u8>,
        kind: EntryKind,
    },
    /// What is in the repository already.
    Take {
        path: TreePath,
        oid: Oid,
        kind: EntryKind,
    },
    Delete {
        path: TreePath,
    },
}

impl FileChange {
    fn path(&self) -> &TreePath {
        match self {
            FileChange::Write { path, .. }
            | FileChange::WriteAs { path, .. }
            | FileChange::Take { path, .. }
            | FileChange::Delete { path } => path,
        }
    }
}

/// Files to be committed on a branch.
#[derive(Clone, Debug)]
pub struct FilesCommit<'a> {
    pub branch: &'a Branch,
    /// Where the branch was when the files were written.
    pub onto: &'a Oid,
    pub by: &'a Signature,
    pub message: &'a str,
    pub changes: &'a [FileChange],
}

impl Bare {
    /// Commits files on a branch and returns its new head, or the old one if nothing is different. Doing it
    /// again gives the same commit.
    pub fn commit_files(&self, commit: &FilesCommit<'_>) -> Result<Oid, ForgeError> {
        let (made, tree) = self.written(commit, None)?;
        if tree == self.tree_of(commit.onto)? {
            return Ok(commit.onto.clone());
        }
        self.advance(commit.branch, commit.onto, &made)
    }

    /// Commits files on a branch as what settles it with another commit: its tree is `joined` with these
    /// changes, and it comes from both.
    pub(crate) fn commit_joined(
        &self,
        commit: &FilesCommit<'_>,
        other: &Oid,
        joined: &Oid,
    ) -> Result<Oid, ForgeError> {
        let (made, _) = self.written(commit, Some((other, joined)))?;
        self.advance(commit.branch, commit.onto, &made)
    }

    /// The commit and its tree; no branch has it yet.
    fn written(
        &self,
        commit: &FilesCommit<'_>,
        joins: Option<(&Oid, &Oid)>,
    ) -> Result<(Oid, Oid), ForgeError> {
        if let Some(change) = commit.changes.iter().find(|change| !change.path().is_plain()) {
            return Err(ForgeError::BadPath { path: change.path().clone() });
        }
        let (imported, ()) = self.import(|stream| {
            let parent = Parent::Commit(commit.onto);
            let mark = stream.commit(Some(&parent), commit.by, commit.by, commit.message)?;
            if let Some((other, tree)) = joins {
                stream.joins(other)?;
                stream.whole_tree(tree)?;
            }
            for change in commit.changes {
                match change {
                    FileChange::Write { path, content } => {
                        stream.file(path.as_bytes(), EntryKind::File.mode(), content)?;
                    }
                    FileChange::WriteAs { path, content, kind } => {
                        stream.file(path.as_bytes(), kind.mode(), content)?;
                    }
                    FileChange::Take { path, oid, kind } => {
                        stream.object(path.as_bytes(), kind.mode(), oid)?;
                    }
                    FileChange::Delete { path } => stream.delete(path.as_bytes())?,
                }
            }
            stream.ask(mark)
        })?;
        let unexpected = || ForgeError::Unexpected { command: "fast-import".to_owned(), text: String::new() };
        imported.asked.into_iter().next().ok_or_else(unexpected)
    }

    pub(crate) fn commit_tree(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        author: &Signature,
        committer: &Signature,
        message: &str,
    ) -> Result<Oid, ForgeError> {
        let mut call = self.call(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        let call = call.envs(author.environment(Role::Author)).envs(committer.environment(Role::Committer));
        Oid::from_bytes(&call.run_with(message.as_bytes().to_vec())?)
    }

    /// Moves a branch from one commit to the next. A branch that has it already is as good.
    /// Puts a branch back to where it was before a merge that is not to count yet.
    pub fn take_back_merge(&self, branch: &Branch, merged: &Oid, before: &Oid) -> Result<(), ForgeError> {
        let expected = Expected::At(merged.clone());
        self.change(Transaction::default().set(branch.reference(), before, expected))
    }

    pub(crate) fn advance(&self, branch: &Branch, from: &Oid, to: &Oid) -> Result<Oid, ForgeError> {
        let expected = Expected::At(from.clone());
        match self.change(Transaction::default().set(branch.reference(), to, expected)) {
            Ok(()) => Ok(to.clone()),
            Err(ForgeError::Moved { found: Some(found), .. }) if self.contains(&found, to)? => Ok(to.clone()),
            Err(error) => Err(error),
        }
    }
}
