//! Taking what an agent has committed while it still works.
//!
//! Nothing in its clone holds still then: what cannot be had now, or does not go on from where the branch is, is left
//! to the collection at the end.

use super::Collect;
use super::beneath::Root;
use super::collect::write_commits;
use super::history::{Objects, Wanted};
use crate::error::ForgeError;
use crate::oid::Oid;
use crate::push::Remembered;
use crate::repository::Bare;

impl Bare {
    /// Takes the agent's commits, and nothing else of its clone, to its branch; where that is then, if there was
    /// anything.
    pub fn take_commits(&self, collect: &Collect<'_>) -> Result<Option<Oid>, ForgeError> {
        let (head, before) = self.remembered(collect.branch)?;
        if head != before.landed {
            return Ok(None);
        }
        let Ok(root) = Root::open(collect.clone) else { return Ok(None) };
        // What is odd about them is told at the end.
        let (history, _) = self.history(&Wanted {
            clone: collect.clone,
            root: &root,
            branch: collect.branch,
            before: &before,
            objects: Objects::Copied,
            most: collect.limits.commits,
            most_bytes: collect.limits.commits_bytes,
            most_files: collect.limits.files,
            most_file_bytes: collect.limits.file_bytes,
        })?;
        let Some(history) = history else { return Ok(None) };
        let joined = self.joined(collect.branch, &history.commits)?;
        let (imported, _) =
            self.import(|stream| write_commits(stream, collect, &before, &history.commits, &joined))?;
        let taken = imported.asked.into_iter().next_back().map(|(taken, _)| taken);
        // An agent that went back to an earlier commit has nothing new, and was seen there.
        let taken = taken.unwrap_or_else(|| before.taken.clone());
        let now = Remembered { seen: history.head, taken, ..before.clone() };
        let by = collect.engine.at(collect.at_seconds);
        match self.land(collect.branch, &head, &before, now, &by) {
            Ok((new, _)) => Ok(Some(new).filter(|new| *new != head)),
            Err(ForgeError::Moved { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
