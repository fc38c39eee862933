//! The clone an agent works in.
//!
//! It has its own copy of everything, so whatever an agent does to it, the job's repository stays whole.
//! After an agent has been in it, git is never run on its repository or among its files again: `collect` reads
//! them itself, and what of them is used again is brought up to date by `rested`.

mod beneath;
mod collect;
mod commits;
mod extent;
mod finding;
mod history;
mod ignored;
mod remove;
mod rested;
mod walk;

pub use collect::{Collect, Collected};
pub use finding::Finding;
pub use remove::{remove_all, remove_at};

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::git::ATTRIBUTES;
use crate::identity::Identity;
use crate::oid::Oid;
use crate::path::quoted;
use crate::push::Remembered;
use crate::refs::Transaction;
use crate::repository::{Bare, Format};

/// How much of what an agent left is taken. What is beyond is a finding, and the branch keeps what it had.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub file_bytes: u64,
    /// For all files together, beyond what the branch had.
    pub total_bytes: u64,
    pub files: usize,
    /// How many of an agent's own commits are kept one by one.
    pub commits: usize,
    /// For what they bring, and for the files of each beyond what the branch had.
    pub commits_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            file_bytes: 64 << 20,
            total_bytes: 1 << 30,
            files: 200_000,
            commits: 500,
            commits_bytes: 1 << 30,
        }
    }
}

impl Bare {
    /// Makes the clone of a branch in a directory that is not there yet, and returns the commit it is at.
    pub fn create_clone(&self, path: &Path, branch: &Branch, agent: &Identity) -> Result<Oid, ForgeError> {
        if path.symlink_metadata().is_ok() {
            return Err(ForgeError::Exists { path: path.to_owned() });
        }
        let head = self.existing_head(branch)?;
        // Before the files, which whoever waits for the disk would have to wait for too.
        self.change(Remembered::at(&head).write(branch, Transaction::default(), None))?;
        let failed = |error| ForgeError::file(path, error);
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(failed)?;
        // Built beside its place and moved there, so that half of one is never worked in.
        let (building, files) = match self.revive(path, &head) {
            Some(revived) => (revived, Files::There),
            None => (building(path).map_err(failed)?, Files::Missing),
        };
        let place = building.path().canonicalize().map_err(failed)?;
        self.fill_clone(&place, branch, &head, agent, files)?;
        fs::rename(&place, path).map_err(failed)?;
        Ok(head)
    }

    /// Removes a clone and everything in it, also what an agent made hard to remove.
    pub fn discard_clone(&self, path: &Path) -> Result<(), ForgeError> {
        remove::remove(path).map_err(|error| ForgeError::file(path, error))
    }

    /// The clone's own repository, made of bytes we know: no template, no remote that a push could find.
    fn fill_clone(
        &self,
        place: &Path,
        branch: &Branch,
        head: &Oid,
        agent: &Identity,
        files: Files,
    ) -> Result<(), ForgeError> {
        let inside = place.join(".git");
        let failed = |error| ForgeError::file(&inside, error);
        // What the branch may have to be merged with comes along.
        let ours = self.mergeable(branch);
        let mut references = self.references(&ours)?;
        references.retain(|name, _| ours.contains(name));
        references.insert(branch.reference(), head.clone());
        self.write_repository(&inside, branch, &references, agent).map_err(failed)?;

        let wanted: String = references.values().map(|oid| format!("{oid}\n")).collect();
        let pack = ["pack-objects", "--revs", "--quiet", "--delta-base-offset"];
        let call = self.call(pack).arg(inside.join("objects/pack/pack"));
        call.unsynced().run_with(wanted.into_bytes())?;
        let read: &[&str] = match files {
            Files::Missing => &["read-tree", "-m", "-u", "HEAD"],
            Files::There => &["read-tree", "HEAD"],
        };
        self.git().call_on(&inside, read).env("GIT_WORK_TREE", place).unsynced().run().map(drop)
    }

    /// The references a branch may have to be merged with: the job's main branch, work that waits beside the branch, and
    /// the branch the job started from.
    fn mergeable(&self, branch: &Branch) -> [String; 3] {
        let names = self.names();
        [names.main(), branch.unmerged(), names.base()].map(|ours| ours.reference())
    }

    fn write_repository(
        &self,
        inside: &Path,
        branch: &Branch,
        references: &BTreeMap<String, Oid>,
        agent: &Identity,
    ) -> io::Result<()> {
        for directory in ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info"] {
            fs::create_dir_all(inside.join(directory))?;
        }
        let (version, extensions) = match self.format() {
            Format::Sha1 => (0, ""),
            Format::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
        };
        let mut config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\
             \tlogallrefupdates = true\n{extensions}[gc]\n\tauto = 0\n[user]\n\tname = "
        )
        .into_bytes();
        config.extend(quoted(agent.name().as_bytes()));
        config.extend(b"\n\temail = ");
        config.extend(quoted(agent.email().as_bytes()));
        config.push(b'\n');
        fs::write(inside.join("config"), config)?;
        fs::write(inside.join("HEAD"), format!("ref: {}\n", branch.reference()))?;
        fs::write(inside.join("info/attributes"), ATTRIBUTES)?;
        let packed: String = references.iter().map(|(name, oid)| format!("{oid} {name}\n")).collect();
        // They are branches, so nothing has to be peeled; GitPython, and with it aider, reads no file that does not say so.
        fs::write(inside.join("packed-refs"), format!("# pack-refs with: peeled sorted \n{packed}"))?;
        match fs::copy(self.path().join("shallow"), inside.join("shallow")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether the files of a clone have to be written.
#[derive(Clone, Copy)]
enum Files {
    Missing,
    There,
}

/// A directory beside a clone, for what becomes one.
fn building(path: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(".cloning-").tempdir_in(path.parent().unwrap_or(Path::new("/")))
}
