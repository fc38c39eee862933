//! The files of a clone whose work was taken, kept for the next one.
//!
//! The next clone then writes only what is different, and what git ignores is still there: an agent finds
//! what it built and fetched in the phase before. Nothing of its repository is kept, and git is not run among
//! the files: they are known to be those of the commit they rest under, and what changed since is written here.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::beneath::Root;
use super::collect::Collected;
use super::remove;
use crate::error::ForgeError;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::Bare;
use crate::tree::EntryKind;

/// The rest of the name is the commit whose files they are, so that both appear in one step.
const PREFIX: &str = "rested-";
/// With more to write, a new clone is as quick.
const CHANGED_BYTES_MAX: usize = 64 << 20;

impl Bare {
    /// Puts the files of a clone aside for the next one there; one that holds more than was taken is removed.
    pub fn rest_clone(&self, path: &Path, collected: &Collected) -> Result<(), ForgeError> {
        self.discard_rested(path)?;
        if !collected.whole {
            return self.discard_clone(path);
        }
        let place = beside(path).join(format!("{PREFIX}{}", collected.work));
        match fs::rename(path, &place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // An agent that took permissions away gets a new one.
            Err(_) => self.discard_clone(path),
            Ok(()) => Ok(()),
        }
    }

    /// Removes what was put aside for the next clone.
    pub fn discard_rested(&self, path: &Path) -> Result<(), ForgeError> {
        rested(path).into_iter().try_for_each(|(_, place)| self.discard_clone(&place))
    }

    /// What was put aside, with the files of a commit; nothing if a new start is simpler.
    pub(super) fn revive(&self, path: &Path, head: &Oid) -> Option<TempDir> {
        let (commit, place) = rested(path).into_iter().next()?;
        let revived = self.bring_up(&place, &commit, head);
        if revived.is_none() {
            // It is not asked again, whatever was wrong with it.
            let _ = self.discard_clone(&place);
        }
        revived
    }

    fn bring_up(&self, place: &Path, commit: &Oid, head: &Oid) -> Option<TempDir> {
        let changes = self.changes(commit, head).ok()??;
        // Half of it is never found: it is moved away first, and moved on when it is whole.
        let building = super::building(place).ok()?;
        fs::rename(place, building.path()).ok()?;
        let filled = fs::set_permissions(building.path(), Permissions::from_mode(0o700))
            .and_then(|()| remove::remove_all(&building.path().join(".git")))
            .and_then(|()| write(building.path(), &changes));
        if filled.is_err() {
            let _ = remove::remove_all(building.path());
            return None;
        }
        Some(building)
    }

    /// What has to be written; nothing if that is too much, or changes what is ignored: then files would
    /// turn up that nobody made in this phase.
    fn changes(&self, old: &Oid, new: &Oid) -> Result<Option<Vec<Changed>>, ForgeError> {
        if old == new {
            return Ok(Some(Vec::new()));
        }
        let call = self.call(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"]);
        let output = call.args([old.as_str(), new.as_str(), "--"]).run()?;
        let mut fields = output.split(|b| *b == 0);
        let (mut changes, mut wanted) = (Vec::new(), Vec::new());
        // `:mode mode oid oid status`, then the path.
        while let (Some(said), Some(path)) = (fields.next().filter(|said| !said.is_empty()), fields.next()) {
            let said = String::from_utf8_lossy(said).into_owned();
            let mut words = said.trim_start_matches(':').split(' ');
            let kinds = [words.next(), words.next()].map(|mode| mode.and_then(EntryKind::from_mode));
            let path = TreePath::new(path);
            let ignores = path.as_bytes().ends_with(b".gitignore");
            if ignores || !path.is_plain() || kinds.contains(&Some(EntryKind::Submodule)) {
                return Ok(None);
            }
            let [_, kind] = kinds;
            if kind.is_some() {
                wanted.push(Oid::parse(words.nth(1).unwrap_or_default())?);
            }
            changes.push((path, kind));
        }
        // Files that cannot be read are not used again.
        let Ok(Some(contents)) = self.contents(&wanted, CHANGED_BYTES_MAX) else { return Ok(None) };
        let mut contents = contents.into_iter();
        let with_content = |(path, kind): (TreePath, Option<EntryKind>)| match kind {
            None => Some(Changed::Gone(path)),
            Some(kind) => contents.next().map(|bytes| Changed::File { path, kind, bytes }),
        };
        Ok(changes.into_iter().map(with_content).collect())
    }
}

enum Changed {
    Gone(TreePath),
    File { path: TreePath, kind: EntryKind, bytes: Vec<u8> },
}

/// What goes is gone before anything takes its place.
fn write(directory: &Path, changes: &[Changed]) -> io::Result<()> {
    let root = Root::open(directory)?;
    for change in changes {
        if let Changed::Gone(path) = change {
            root.remove(path)?;
        }
    }
    for change in changes {
        if let Changed::File { path, kind, bytes } = change {
            match kind {
                EntryKind::Link => root.make_link(path, bytes)?,
                kind => root.write(path, bytes, *kind == EntryKind::Executable)?,
            }
        }
    }
    Ok(())
}

fn beside(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn rested(path: &Path) -> Vec<(Oid, PathBuf)> {
    let entries = fs::read_dir(beside(path)).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let commit = Oid::parse(entry.file_name().to_str()?.strip_prefix(PREFIX)?).ok()?;
        Some((commit, entry.path()))
    });
    named.collect()
}
