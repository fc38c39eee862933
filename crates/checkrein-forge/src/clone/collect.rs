//! Taking what an agent left: its files, what it deleted, its own commits.

use std::io;
use std::path::Path;

use super::Limits;
use super::beneath::Root;
use super::finding::Finding;
use super::history::{History, Objects, Wanted};
use super::ignored::Ignored;
use super::walk::{Before, Content, Taken, Walk};
use crate::branch::Branch;
use crate::call::Fed;
use crate::error::ForgeError;
use crate::identity::Identity;
use crate::import::{Mark, Parent, Stream};
use crate::log::Commit;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::push::{Landing, Remembered};
use crate::repository::Bare;
use crate::tree::{EntryKind, TreeEntry};

/// One collection. Nothing of the agent may be running any more.
#[derive(Clone, Debug)]
pub struct Collect<'a> {
    pub clone: &'a Path,
    pub branch: &'a Branch,
    /// In whose name the agent's work is committed, whatever name it used itself.
    pub agent: &'a Identity,
    /// In whose name it is merged with what a person pushed.
    pub engine: &'a Identity,
    pub at_seconds: i64,
    /// For what the agent did not commit itself.
    pub message: &'a str,
    pub limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Where the branch is now.
    pub head: Oid,
    /// The agent's work alone.
    pub work: Oid,
    pub landing: Landing,
    /// What differs between the last collection, or the start, and this one.
    pub files_changed: Vec<TreePath>,
    pub findings: Vec<Finding>,
    /// Whether the clone holds the files of `work`, and beside them only what is ignored.
    pub whole: bool,
}

impl Bare {
    /// Takes what is in a clone to its branch. Doing it again finds nothing new.
    pub fn collect(&self, collect: &Collect<'_>) -> Result<Collected, ForgeError> {
        // Somebody may push in the middle of it; then it is done once more with what they pushed.
        for _ in 0..TRIES {
            match self.collect_once(collect) {
                Err(ForgeError::Moved { .. }) => {}
                result => return result,
            }
        }
        self.collect_once(collect)
    }

    fn collect_once(&self, collect: &Collect<'_>) -> Result<Collected, ForgeError> {
        let (head, before) = self.remembered(collect.branch)?;
        let gone = |error: rustix::io::Errno| ForgeError::file(collect.clone, error.into());
        let root = Root::regain(collect.clone).map_err(gone)?;
        let (history, odd) = self.history(&Wanted {
            clone: collect.clone,
            root: &root,
            branch: collect.branch,
            before: &before,
            objects: Objects::Shown,
            most: collect.limits.commits,
            most_bytes: collect.limits.commits_bytes,
            most_files: collect.limits.files,
            most_file_bytes: collect.limits.file_bytes,
        })?;
        let had = Before::new(self.list_files(&before.taken)?);
        let had = match history.as_ref().and_then(|history| history.commits.last()) {
            Some(last) => had.and_tracked(self.list_files(&last.tree)?),
            None => had,
        };
        let (taken, mut findings) = Walk::new(&root, &had, collect.limits, Ignored::new(self)).run()?;
        findings.extend(odd);
        let whole = !taken.iter().any(|taken| matches!(taken.content, Content::Kept { .. }));
        let (work, odd) =
            self.write_work(collect, &before, &Files { root: &root, had: &had, taken }, history.as_ref())?;
        findings.extend(odd);

        let seen = history.map_or_else(|| before.seen.clone(), |history| history.head);
        let now = Remembered { seen, taken: work.clone(), ..before.clone() };
        let files_changed = self.changed_paths(&before.taken, &work)?;
        let by = collect.engine.at(collect.at_seconds);
        let (head, landing) = self.land(collect.branch, &head, &before, now, &by)?;
        let whole = whole && findings.is_empty();
        Ok(Collected { head, work, landing, files_changed, findings, whole })
    }

    /// The agent's commits again in its own name, and what it left uncommitted on top.
    fn write_work(
        &self,
        collect: &Collect<'_>,
        before: &Remembered,
        files: &Files<'_>,
        history: Option<&History>,
    ) -> Result<(Oid, Vec<Finding>), ForgeError> {
        let commits = history.map(|history| history.commits.as_slice()).unwrap_or_default();
        let joined = self.joined(collect.branch, commits)?;
        let (imported, odd) = self.import(|stream| {
            let last = write_commits(stream, collect, before, commits, &joined)?;
            let parent = last.map_or(Parent::Commit(&before.taken), Parent::Mark);
            let by = collect.agent.at(collect.at_seconds);
            let mark = stream.commit(Some(&parent), &by, &by, collect.message)?;
            stream.clear()?;
            let odd = self.write_files(files, collect.limits, stream)?;
            stream.ask(mark)?;
            Ok(odd)
        })?;
        let unexpected = || ForgeError::Unexpected { command: "fast-import".to_owned(), text: String::new() };
        let mut asked = imported.asked.into_iter().rev();
        let (with_files, tree) = asked.next().ok_or_else(unexpected)?;
        let (committed, committed_tree) = match asked.next() {
            Some(last) => last,
            None => (before.taken.clone(), self.tree_of(&before.taken)?),
        };
        Ok((if tree == committed_tree { committed } else { with_files }, odd))
    }

    /// What an agent's commits merged of ours: each commit and the one it joins. Without it, a conflict that
    /// an agent resolved would be met again. Whatever else it merged is only its files.
    pub(super) fn joined(&self, branch: &Branch, commits: &[Commit]) -> Result<Vec<(Oid, Oid)>, ForgeError> {
        let merges: Vec<&Commit> = commits.iter().filter(|commit| commit.parents.len() > 1).collect();
        if merges.is_empty() {
            return Ok(Vec::new());
        }
        let ours = self.references(&self.mergeable(branch))?;
        let mut joined = Vec::new();
        for commit in merges {
            for other in commit.parents.iter().skip(1) {
                for tip in ours.values() {
                    if self.contains(tip, other)? {
                        joined.push((commit.oid.clone(), other.clone()));
                        break;
                    }
                }
            }
        }
        Ok(joined)
    }

    fn write_files(
        &self,
        files: &Files<'_>,
        limits: Limits,
        stream: &mut Stream<'_>,
    ) -> Result<Vec<Finding>, Fed> {
        let mut findings = Vec::new();
        let (mut added_bytes, mut left_out) = (0_u64, 0_usize);
        for Taken { path, content } in &files.taken {
            let (executable, size_bytes) = match content {
                Content::Link { target } => {
                    stream.file(path.as_bytes(), EntryKind::Link.mode(), target)?;
                    continue;
                }
                Content::Kept { kind, oid } => {
                    stream.object(path.as_bytes(), kind.mode(), oid)?;
                    continue;
                }
                Content::File { executable, size_bytes } => (*executable, *size_bytes),
            };
            let had = files.had.get(path);
            if size_bytes > limits.file_bytes {
                if !self.is_same(files, path, size_bytes, had)? {
                    let limit_bytes = limits.file_bytes;
                    findings.push(Finding::TooBig { path: path.clone(), size_bytes, limit_bytes });
                }
                write_kept(stream, had)?;
                continue;
            }
            let growth = size_bytes.saturating_sub(had.and_then(|had| had.size_bytes).unwrap_or_default());
            if added_bytes.saturating_add(growth) > limits.total_bytes {
                left_out += 1;
                write_kept(stream, had)?;
                continue;
            }
            added_bytes += growth;
            let kind = if executable { EntryKind::Executable } else { EntryKind::File };
            match files.root.read(path, limits.file_bytes) {
                Ok(Some(bytes)) => stream.file(path.as_bytes(), kind.mode(), &bytes)?,
                Ok(None) => {
                    findings.push(unreadable(path, "it grew while it was read"));
                    write_kept(stream, had)?;
                }
                Err(error) => {
                    findings.push(unreadable(path, &error.to_string()));
                    write_kept(stream, had)?;
                }
            }
        }
        if left_out > 0 {
            findings.push(Finding::TooMuch { left_out, limit_bytes: limits.total_bytes });
        }
        Ok(findings)
    }

    /// Whether a file that is too big to be taken is the one the branch has anyway.
    fn is_same(
        &self,
        files: &Files<'_>,
        path: &TreePath,
        size_bytes: u64,
        had: Option<&TreeEntry>,
    ) -> Result<bool, ForgeError> {
        let Some(had) = had.filter(|had| had.size_bytes == Some(size_bytes)) else { return Ok(false) };
        let Ok(mut file) = files.root.file(path) else { return Ok(false) };
        let call = self.call(["hash-object", "--stdin", "--no-filters", "-t", "blob"]);
        let (output, _) = call.feed(|sink| Ok(io::copy(&mut file, sink)?))?;
        Ok(Oid::from_bytes(&output)? == had.oid)
    }

    fn changed_paths(&self, old: &Oid, new: &Oid) -> Result<Vec<TreePath>, ForgeError> {
        if old == new {
            return Ok(Vec::new());
        }
        let call = self.call(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff"]);
        let output = call.args([old.as_str(), new.as_str(), "--"]).run()?;
        Ok(output.split(|b| *b == 0).filter(|path| !path.is_empty()).map(TreePath::new).collect())
    }
}

const TRIES: usize = 3;

/// An agent's commits again in its own name, on top of what was taken before; the last one.
pub(super) fn write_commits(
    stream: &mut Stream<'_>,
    collect: &Collect<'_>,
    before: &Remembered,
    commits: &[Commit],
    joined: &[(Oid, Oid)],
) -> Result<Option<Mark>, Fed> {
    let mut last = None;
    for commit in commits {
        let parent = last.map_or(Parent::Commit(&before.taken), Parent::Mark);
        let by = collect.agent.at(commit.authored_at_seconds.min(collect.at_seconds));
        let mark = stream.commit(Some(&parent), &by, &by, &format!("{}\n", commit.message))?;
        for (_, other) in joined.iter().filter(|(by, _)| *by == commit.oid) {
            stream.joins(other)?;
        }
        stream.whole_tree(&commit.tree)?;
        last = Some(mark);
    }
    if let Some(mark) = last {
        stream.ask(mark)?;
    }
    Ok(last)
}

struct Files<'a> {
    root: &'a Root,
    had: &'a Before,
    taken: Vec<Taken>,
}

fn write_kept(stream: &mut Stream<'_>, had: Option<&TreeEntry>) -> Result<(), Fed> {
    match had {
        Some(had) => stream.object(had.path.as_bytes(), had.kind.mode(), &had.oid),
        None => Ok(()),
    }
}

fn unreadable(path: &TreePath, reason: &str) -> Finding {
    Finding::Unreadable { path: path.clone(), reason: reason.to_owned() }
}
