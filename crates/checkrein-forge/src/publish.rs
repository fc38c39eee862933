//! The result of a job goes back to the repository it started from, once, at the end.
//!
//! That repository's working tree and index are never written. A branch that somebody has checked out is not
//! moved under them: the result is left beside it, and the person pulls it when it suits.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ForgeError;
use crate::git::UPLOAD_PACK;
use crate::identity::Signature;
use crate::log::{FORMAT, commits, range};
use crate::merge::{Conflict, MergedTree, author};
use crate::oid::Oid;
use crate::refs::{Expected, Transaction};
use crate::repository::{Bare, FETCH, Source};

/// What is published, where to.
#[derive(Clone, Debug)]
pub struct Publish<'a> {
    /// Where the job started.
    pub source: &'a Source,
    /// The head of the job's main branch that was approved.
    pub head: &'a Oid,
    /// The head of its last phase, which may have taken in later commits of the branch the job started from.
    pub work: &'a Oid,
    /// A directory that is the job's alone and stays behind, such as `.checkrein/job` (decision X12).
    pub without: &'a str,
    /// Who merges, where the branch went on meanwhile.
    pub by: &'a Signature,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// The job changed nothing outside its own directory.
    Nothing,
    /// The branch the job started from has the result now.
    Moved { branch: String, from: Oid, to: Oid },
    /// The result is on a branch of its own; `hint` says how to get it.
    Beside { branch: String, commit: Oid, hint: String },
    /// Nothing was published: the branch changed the same lines meanwhile (decision R9).
    Conflict { branch: String, conflict: Conflict },
}

impl Bare {
    /// Publishes a result. Doing it again finds it there.
    pub fn publish(&self, publish: &Publish<'_>) -> Result<Published, ForgeError> {
        let source = publish.source;
        let result = self.without_artefacts(publish)?;
        if result == source.commit {
            return Ok(Published::Nothing);
        }
        let beside = |commit: Oid, why: &str| -> Result<(String, Oid, String), ForgeError> {
            let branch = self.names().result();
            self.send(&source.directory, &commit, &branch.reference())?;
            let hint =
                format!("{why}; look at it with `git log {branch}`, take it with `git merge {branch}`");
            Ok((branch.to_string(), commit, hint))
        };
        let Some(name) = &source.branch else {
            let (branch, commit, hint) = beside(result, "the job did not start from a branch")?;
            return Ok(Published::Beside { branch, commit, hint });
        };
        let reference = format!("refs/heads/{name}");
        let Some(there) = self.source_head(source, &reference)? else {
            let (branch, commit, hint) = beside(result, &format!("branch `{name}` is gone"))?;
            return Ok(Published::Beside { branch, commit, hint });
        };
        self.fetch(&source.directory, &format!("+{there}:refs/checkrein/upstream"))?;
        let result = self.joined_with_base(publish, &there, result)?;
        if self.contains(&there, &result)? {
            return Ok(Published::Moved { branch: name.clone(), from: source.commit.clone(), to: there });
        }
        let merged = if self.contains(&result, &there)? {
            result
        } else {
            match self.merge_trees(&there, &result)? {
                MergedTree::Clean(tree) => {
                    let message = format!("merge {}\n", self.names().result());
                    self.commit_tree(&tree, &[&there, &result], publish.by, publish.by, &message)?
                }
                MergedTree::Conflict(conflict) => {
                    self.keep_base(&there)?;
                    return Ok(Published::Conflict { branch: name.clone(), conflict });
                }
            }
        };
        if self.is_checked_out(source, &reference)? {
            let (branch, commit, hint) = beside(merged, &format!("branch `{name}` is checked out"))?;
            return Ok(Published::Beside { branch, commit, hint });
        }
        let (branch, merged, hint) = beside(merged, &format!("branch `{name}` moved just now"))?;
        let update = ["update-ref", reference.as_str(), merged.as_str(), there.as_str()];
        if self.git().call_on(&source.directory, update).answer()?.code != 0 {
            return Ok(Published::Beside { branch, commit: merged, hint });
        }
        let scaffold = ["update-ref", "-d", &format!("refs/heads/{branch}"), merged.as_str()];
        self.git().call_on(&source.directory, scaffold).run()?;
        Ok(Published::Moved { branch: name.clone(), from: there, to: merged })
    }

    /// Where the work took in later commits of the branch it started from, the result comes from them too: what was settled
    /// there is not met again.
    pub(crate) fn joined_with_base(
        &self,
        publish: &Publish<'_>,
        there: &Oid,
        result: Oid,
    ) -> Result<Oid, ForgeError> {
        let Some(base) = self.merge_base(there, publish.work)? else { return Ok(result) };
        if self.contains(&result, &base)? {
            return Ok(result);
        }
        let Some(last) = self.log(None, publish.head, 1)?.into_iter().next() else { return Ok(result) };
        // The time is that of the last commit, so that doing it again makes the same one.
        let by = publish.by.identity.at(last.committed_at_seconds);
        let message = format!("merge {}\n", self.names().result());
        self.commit_tree(&self.tree_of(&result)?, &[&base, &result], &by, &by, &message)
    }

    /// Where a branch does not fit the one the job started from, as that is in its repository now.
    pub fn conflict_with_base(&self, source: &Source, head: &Oid) -> Result<Option<Conflict>, ForgeError> {
        let Some(name) = &source.branch else { return Ok(None) };
        let Some(there) = self.source_head(source, &format!("refs/heads/{name}"))? else { return Ok(None) };
        self.fetch(&source.directory, &format!("+{there}:refs/checkrein/upstream"))?;
        self.keep_base(&there)?;
        self.conflict_between(head, &there)
    }

    /// Keeps the branch the job started from among its own, for those who settle what does not fit.
    pub(crate) fn keep_base(&self, there: &Oid) -> Result<(), ForgeError> {
        let base = self.names().base().reference();
        self.change(Transaction::default().set(base, there, Expected::Anything))
    }

    /// The job's commits again without its own directory; those that are empty then are left out. Where phases
    /// were merged as they were, their single commits are kept, and so is the commit that joins them.
    pub(crate) fn without_artefacts(&self, publish: &Publish<'_>) -> Result<Oid, ForgeError> {
        let start = &publish.source.commit;
        let call = self.call(["log", "-z", FORMAT, "--topo-order", "--reverse"]);
        // What each commit has become, with its tree.
        let mut again: HashMap<Oid, (Oid, Oid)> = HashMap::new();
        again.insert(start.clone(), (start.clone(), self.tree_of(start)?));
        for commit in commits(call.args(range(Some(start), publish.head)))? {
            let tree = self.restored(&commit.tree, start, publish.without)?;
            let mut parents: Vec<Oid> = Vec::new();
            for parent in &commit.parents {
                let parent = again.get(parent).map_or(parent, |(parent, _)| parent);
                if !parents.contains(parent) {
                    parents.push(parent.clone());
                }
            }
            // What has nothing to leave out stays itself, such as commits of the branch the job started from.
            if tree == commit.tree && parents == commit.parents {
                again.insert(commit.oid.clone(), (commit.oid, tree));
                continue;
            }
            if let [only] = parents.as_slice()
                && self.tree_among(&again, only)? == tree
            {
                again.insert(commit.oid.clone(), (only.clone(), tree));
                continue;
            }
            let by = author(&commit)?;
            let committer = by.identity.at(commit.committed_at_seconds);
            let message = format!("{}\n", commit.message);
            let parents: Vec<&Oid> = parents.iter().collect();
            let made = self.commit_tree(&tree, &parents, &by, &committer, &message)?;
            again.insert(commit.oid, (made, tree));
        }
        Ok(again.get(publish.head).map_or_else(|| publish.head.clone(), |(made, _)| made.clone()))
    }

    /// The tree of a commit that was made again, or of one that was there.
    fn tree_among(&self, again: &HashMap<Oid, (Oid, Oid)>, commit: &Oid) -> Result<Oid, ForgeError> {
        match again.values().find(|(made, _)| made == commit) {
            Some((_, tree)) => Ok(tree.clone()),
            None => self.tree_of(commit),
        }
    }

    /// A tree in which one directory is as it was at the start, or is not there if it was not.
    fn restored(&self, tree: &Oid, start: &Oid, directory: &str) -> Result<Oid, ForgeError> {
        let index = self.scratch()?;
        let on = |arguments: &[&str]| self.call(arguments).env("GIT_INDEX_FILE", index.path().join("index"));
        on(&["read-tree", tree.as_str()]).run()?;
        // With an index of ours and no working tree, this touches no file.
        let prefix = format!("{}/", directory.trim_matches('/'));
        let listed = on(&["ls-files", "-z", "--", &format!(":(top,literal){prefix}")]).run()?;
        let listed = listed.split(|b| *b == 0).filter(|path| !path.is_empty());
        let mut changes: Vec<u8> = Vec::new();
        for path in listed {
            changes.extend(format!("0 {}\t", self.zero()).into_bytes());
            changes.extend_from_slice(path);
            changes.push(0);
        }
        for entry in self.list_files(start)? {
            if entry.path.as_bytes().starts_with(prefix.as_bytes()) {
                changes.extend(format!("{} {}\t", entry.kind.mode(), entry.oid).into_bytes());
                changes.extend_from_slice(entry.path.as_bytes());
                changes.push(0);
            }
        }
        if changes.is_empty() {
            return Ok(tree.clone());
        }
        on(&["update-index", "-z", "--index-info"]).run_with(changes)?;
        Oid::from_bytes(&on(&["write-tree"]).run()?)
    }

    pub(crate) fn source_head(&self, source: &Source, reference: &str) -> Result<Option<Oid>, ForgeError> {
        let verify = ["rev-parse", "--verify", "--quiet", &format!("{reference}^{{commit}}")];
        let answer = self.git().call_on(&source.directory, verify).answer()?;
        Ok(Oid::from_bytes(&answer.output).ok())
    }

    /// Copies a commit to the other repository, to a branch of ours there.
    pub(crate) fn send(&self, to: &Path, commit: &Oid, reference: &str) -> Result<(), ForgeError> {
        let call = self.git().call_on(to, FETCH).arg(UPLOAD_PACK).arg("--").arg(self.path());
        call.arg(format!("+{commit}:{reference}")).run().map(drop)
    }

    /// Whether a working tree of that repository is on the branch, or in the middle of a rebase of it.
    pub(crate) fn is_checked_out(&self, source: &Source, reference: &str) -> Result<bool, ForgeError> {
        let output =
            self.git().call_on(&source.directory, ["worktree", "list", "--porcelain", "-z"]).run()?;
        let line = format!("branch {reference}");
        if output.split(|b| *b == 0).any(|field| field == line.as_bytes()) {
            return Ok(true);
        }
        let mut places = vec![source.directory.clone()];
        let further = fs::read_dir(source.directory.join("worktrees")).into_iter().flatten();
        places.extend(further.filter_map(|entry| entry.ok().map(|entry| entry.path())));
        let rebased = |place: &PathBuf, file: &str| {
            fs::read_to_string(place.join(file)).is_ok_and(|said| said.trim() == reference)
        };
        let files = ["rebase-merge/head-name", "rebase-apply/head-name"];
        Ok(places.iter().any(|place| files.iter().any(|file| rebased(place, file))))
    }
}
