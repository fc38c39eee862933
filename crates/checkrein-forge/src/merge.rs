//! A phase becomes part of the job's main branch. Nothing is checked out: trees are merged as objects, and a
//! branch moves only from where it was seen.

use crate::Merge;

use crate::branch::Branch;
use crate::commit::FilesCommit;
use crate::error::ForgeError;
use crate::identity::{Identity, Signature};
use crate::log::{Commit, FORMAT, commits, range};
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::Bare;

/// One merge. The same request gives the same commit however often it is made.
#[derive(Clone, Debug)]
pub struct MergeRequest<'a> {
    pub how: Merge,
    /// The commit that was approved.
    pub head: &'a Oid,
    pub into: &'a Branch,
    /// Where that branch was when the merge was decided.
    pub onto: &'a Oid,
    pub by: &'a Signature,
    pub message: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// What the branch is, or was, moved to.
    Done(Oid),
    /// Nothing changed in the phase, so nothing was done (decision L11).
    Empty,
    /// Nothing was done; a person has to look (decision L12).
    Conflict(Conflict),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub files: Vec<ConflictedFile>,
    /// What git says about it.
    pub messages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictedFile {
    pub path: TreePath,
    /// The file with both sides between markers, where there is such a text.
    pub text: Option<String>,
    /// Whether the text is longer than what is here.
    pub cut: bool,
}

impl Bare {
    pub fn merge(&self, request: &MergeRequest<'_>) -> Result<Merged, ForgeError> {
        let tree = match self.merge_trees(request.onto, request.head)? {
            MergedTree::Clean(tree) => tree,
            MergedTree::Conflict(conflict) => return Ok(Merged::Conflict(conflict)),
        };
        if tree == self.tree_of(request.onto)? {
            return Ok(Merged::Empty);
        }
        let (by, message) = (request.by, request.message);
        let made = match request.how {
            Merge::Squash => self.commit_tree(&tree, &[request.onto], by, by, message)?,
            Merge::Merge => self.commit_tree(&tree, &[request.onto, request.head], by, by, message)?,
            Merge::Rebase => match self.rebase(request, &tree)? {
                Rebased::Done(made) => made,
                Rebased::Conflict(conflict) => return Ok(Merged::Conflict(conflict)),
            },
        };
        self.advance(request.into, request.onto, &made).map(Merged::Done)
    }

    /// Where two commits do not fit together; nothing is merged.
    pub fn conflict_between(&self, ours: &Oid, theirs: &Oid) -> Result<Option<Conflict>, ForgeError> {
        Ok(match self.merge_trees(ours, theirs)? {
            MergedTree::Clean(_) => None,
            MergedTree::Conflict(conflict) => Some(conflict),
        })
    }

    /// Settles what does not fit between a branch and another commit by the files a person names: one commit
    /// on the branch that comes from both.
    pub fn settle(&self, commit: &FilesCommit<'_>, other: &Oid) -> Result<Oid, ForgeError> {
        let (tree, _) = self.merge_as_far_as_it_goes(commit.onto, other)?;
        self.commit_joined(commit, other, &tree)
    }

    /// What both sides together are, with what they have in common found by git.
    pub(crate) fn merge_trees(&self, ours: &Oid, theirs: &Oid) -> Result<MergedTree, ForgeError> {
        let (tree, conflict) = self.merge_as_far_as_it_goes(ours, theirs)?;
        Ok(conflict.map_or(MergedTree::Clean(tree), MergedTree::Conflict))
    }

    /// The same, and where they do not fit a tree with both sides in the files.
    fn merge_as_far_as_it_goes(
        &self,
        ours: &Oid,
        theirs: &Oid,
    ) -> Result<(Oid, Option<Conflict>), ForgeError> {
        let call =
            self.call(["merge-tree", "--write-tree", "-z", "--messages", ours.as_str(), theirs.as_str()]);
        let place = call.place();
        let answer = call.answer()?;
        match answer.code {
            0 => Ok((Oid::from_bytes(first_field(&answer.output))?, None)),
            1 => {
                let tree = Oid::from_bytes(first_field(&answer.output))?;
                Ok((tree, Some(self.conflict(&answer.output)?)))
            }
            _ => Err(answer.failure(place)),
        }
    }

    /// The changes from `base` to `theirs`, done to `ours`, whatever the histories say.
    pub(crate) fn apply(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergedTree, ForgeError> {
        let tools = Identity::new("checkrein", "merge@checkrein.invalid")?.at(0);
        // Git takes the base from histories, so both sides get one that says what is meant.
        let side = |commit: &Oid| {
            let tree = self.tree_of(commit)?;
            self.commit_tree(&tree, &[base], &tools, &tools, "one side of a merge\n")
        };
        self.merge_trees(&side(ours)?, &side(theirs)?)
    }

    /// The phase's commits on top of the other branch. Commits that join are left out, so what only they
    /// brought is added at the end: the files are the same whichever way was taken.
    fn rebase(&self, request: &MergeRequest<'_>, tree: &Oid) -> Result<Rebased, ForgeError> {
        let call = self.call(["log", "-z", FORMAT, "--topo-order", "--reverse", "--no-merges"]);
        let mut tip = request.onto.clone();
        let mut tip_tree = self.tree_of(&tip)?;
        for commit in commits(call.args(range(Some(request.onto), request.head)))? {
            let Some(parent) = commit.parents.first() else { continue };
            let next = match self.apply(parent, &tip, &commit.oid)? {
                MergedTree::Clean(tree) => tree,
                MergedTree::Conflict(conflict) => return Ok(Rebased::Conflict(conflict)),
            };
            if next != tip_tree {
                tip = self.commit_tree(&next, &[&tip], &author(&commit)?, request.by, &commit.message)?;
                tip_tree = next;
            }
        }
        if tip_tree != *tree {
            tip = self.commit_tree(tree, &[&tip], request.by, request.by, request.message)?;
        }
        Ok(Rebased::Done(tip))
    }

    fn conflict(&self, output: &[u8]) -> Result<Conflict, ForgeError> {
        let mut fields = output.split(|b| *b == 0);
        let tree = Oid::from_bytes(fields.next().unwrap_or_default())?;
        let mut paths: Vec<TreePath> = Vec::new();
        // `mode oid stage<tab>path`, until an empty field.
        for record in fields.by_ref().take_while(|record| !record.is_empty()) {
            let path = record.splitn(2, |b| *b == b'\t').nth(1).unwrap_or_default();
            let path = TreePath::new(path);
            if paths.last() != Some(&path) {
                paths.push(path);
            }
        }
        let messages = messages(fields);
        let files = paths.into_iter().map(|path| self.conflicted(&tree, path)).collect::<Result<_, _>>()?;
        Ok(Conflict { files, messages })
    }

    fn conflicted(&self, tree: &Oid, path: TreePath) -> Result<ConflictedFile, ForgeError> {
        match self.show_file(tree, &path, CONFLICT_BYTES) {
            Ok(content) => {
                let text = String::from_utf8(content.bytes).ok();
                Ok(ConflictedFile { path, text, cut: content.cut })
            }
            Err(ForgeError::NoFile { .. }) => Ok(ConflictedFile { path, text: None, cut: false }),
            Err(error) => Err(error),
        }
    }
}

pub(crate) enum MergedTree {
    Clean(Oid),
    Conflict(Conflict),
}

enum Rebased {
    Done(Oid),
    Conflict(Conflict),
}

const CONFLICT_BYTES: usize = 256 << 10;

/// `number of paths, paths, kind, message`, again and again.
fn messages<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(count) =
        fields.next().and_then(|count| std::str::from_utf8(count).ok()?.parse::<usize>().ok())
    {
        let mut rest = fields.by_ref().skip(count);
        if let (Some(kind), Some(message)) = (rest.next(), rest.next())
            && kind != b"Auto-merging"
        {
            messages.push(String::from_utf8_lossy(message).trim().to_owned());
        }
    }
    messages
}

pub(crate) fn author(commit: &Commit) -> Result<Signature, ForgeError> {
    // A commit of a person may carry names we would not write ourselves.
    let clean = |text: &str| text.replace(['<', '>', '\n', '\r', '\0'], " ");
    let or = |text: String, other: &str| if text.trim().is_empty() { other.to_owned() } else { text };
    let name = or(clean(&commit.author_name), "unknown");
    let email = or(clean(&commit.author_email), "unknown@invalid");
    Ok(Identity::new(&name, &email)?.at(commit.authored_at_seconds))
}

fn first_field(output: &[u8]) -> &[u8] {
    output.split(|b| *b == 0).next().unwrap_or_default()
}
