//! The clone an agent works in.
//!
//! It has its own copy of everything, so whatever an agent does to it, the job's repository stays whole.
//! After an agent has been in it, git is never run there again: `collect` reads its files itself.

mod beneath;
mod collect;
mod finding;
mod history;
mod ignored;
mod remove;
mod walk;

pub use collect::{Collect, Collected};
pub use finding::Finding;

use std::fs;
use std::path::Path;

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::git::UPLOAD_PACK;
use crate::identity::Identity;
use crate::oid::Oid;
use crate::path::quoted;
use crate::push::Remembered;
use crate::refs::Transaction;
use crate::repository::{Bare, FETCH, Kind, init};

/// How much of what an agent left is taken. What is beyond is a finding, and the branch keeps what it had.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub file_bytes: u64,
    /// For all files together, beyond what the branch had.
    pub total_bytes: u64,
    pub files: usize,
    /// How many of an agent's own commits are kept one by one.
    pub commits: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes: 64 << 20, total_bytes: 1 << 30, files: 200_000, commits: 500 }
    }
}

impl Bare {
    /// Makes the clone of a branch in a directory that is not there yet, and returns the commit it is at.
    pub fn create_clone(&self, path: &Path, branch: &Branch, agent: &Identity) -> Result<Oid, ForgeError> {
        if path.symlink_metadata().is_ok() {
            return Err(ForgeError::Exists { path: path.to_owned() });
        }
        let head = self.existing_head(branch)?;
        let failed = |error| ForgeError::file(path, error);
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(failed)?;
        // Built beside its place and moved there, so that half of one is never worked in.
        let building = tempfile::Builder::new().prefix(".cloning-").tempdir_in(parent).map_err(failed)?;
        let building = building.path().canonicalize().map_err(failed).map(|path| (building, path))?;
        self.fill_clone(&building.1, branch, &head, agent)?;
        self.change(Remembered::at(&head).write(branch, Transaction::default(), None))?;
        fs::rename(&building.1, path).map_err(failed)?;
        Ok(head)
    }

    /// Removes a clone and everything in it, also what an agent made hard to remove.
    pub fn discard_clone(&self, path: &Path) -> Result<(), ForgeError> {
        remove::remove(path).map_err(|error| ForgeError::file(path, error))
    }

    fn fill_clone(
        &self,
        place: &Path,
        branch: &Branch,
        head: &Oid,
        agent: &Identity,
    ) -> Result<(), ForgeError> {
        let git = self.git();
        init(git, place, Kind::WithFiles, self.format(), branch)?;
        let inside = place.join(".git");
        let on = |arguments: &[&str]| git.call_on(&inside, arguments).env("GIT_WORK_TREE", place);
        // No remote is written down, so that a push of the agent finds no way by itself.
        let (main, unmerged) = (self.names().main(), branch.unmerged());
        let mut fetch =
            git.call_on(&inside, FETCH).arg("--update-head-ok").arg(UPLOAD_PACK).arg("--").arg(self.path());
        fetch = fetch.arg(format!("{head}:{}", branch.reference()));
        // What the branch may have to be merged with.
        let others = [main, unmerged].map(|other| other.reference());
        for reference in self.references(&others)?.into_keys() {
            if others.contains(&reference) && reference != branch.reference() {
                fetch = fetch.arg(format!("{reference}:{reference}"));
            }
        }
        fetch.run()?;
        on(&["read-tree", "-m", "-u", "HEAD"]).run()?;
        // Nobody but us has been here yet, so what git keeps is written without asking it three times.
        let config = inside.join("config");
        let failed = |error| ForgeError::file(&config, error);
        let (name, email) = (quoted(agent.name().as_bytes()), quoted(agent.email().as_bytes()));
        let mut lines = fs::read(&config).map_err(failed)?;
        lines.extend(b"[user]\n\tname = ");
        lines.extend(name);
        lines.extend(b"\n\temail = ");
        lines.extend(email);
        lines.extend(b"\n[gc]\n\tauto = 0\n");
        fs::write(&config, lines).map_err(failed)
    }
}
