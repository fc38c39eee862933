//! What an agent left, looked at level by level.

use std::collections::{BTreeMap, HashSet};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::Limits;
use super::beneath::{Found, Root};
use super::finding::Finding;
use super::ignored::Ignored;
use crate::error::ForgeError;
use crate::oid::Oid;
use crate::path::{TreePath, is_modules_name, is_repository_name};
use crate::tree::{EntryKind, TreeEntry};

/// One thing of the new tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub path: TreePath,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    File {
        executable: bool,
        size_bytes: u64,
    },
    Link {
        target: Vec<u8>,
    },
    /// As the branch had it.
    Kept {
        kind: EntryKind,
        oid: Oid,
    },
}

/// What the branch had.
pub(super) struct Before {
    entries: BTreeMap<TreePath, TreeEntry>,
    /// What an agent committed itself is not ignored either.
    tracked: HashSet<TreePath>,
    directories: HashSet<Vec<u8>>,
}

impl Before {
    pub fn new(entries: Vec<TreeEntry>) -> Before {
        let directories = entries.iter().flat_map(|e| e.path.parents().map(<[u8]>::to_vec)).collect();
        let entries = entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect();
        Before { entries, tracked: HashSet::new(), directories }
    }

    pub fn and_tracked(mut self, entries: Vec<TreeEntry>) -> Before {
        // A repository inside the clone may have been committed as one; its files are new here.
        for entry in entries.into_iter().filter(|entry| entry.kind != EntryKind::Submodule) {
            self.directories.extend(entry.path.parents().map(<[u8]>::to_vec));
            self.tracked.insert(entry.path);
        }
        self
    }

    fn is_tracked(&self, path: &TreePath) -> bool {
        self.entries.contains_key(path) || self.tracked.contains(path)
    }

    pub fn get(&self, path: &TreePath) -> Option<&TreeEntry> {
        self.entries.get(path)
    }

    pub fn kept(&self, path: &TreePath) -> Option<Taken> {
        self.get(path).map(keep)
    }

    fn has_below(&self, path: &TreePath) -> bool {
        self.directories.contains(path.as_bytes())
    }

    fn below<'a>(&'a self, path: &TreePath) -> impl Iterator<Item = &'a TreeEntry> {
        let mut start = path.as_bytes().to_vec();
        if !start.is_empty() {
            start.push(b'/');
        }
        let range = self.entries.range(TreePath::new(start.clone())..);
        range.map(|(_, entry)| entry).take_while(move |entry| entry.path.as_bytes().starts_with(&start))
    }
}

fn keep(entry: &TreeEntry) -> Taken {
    Taken { path: entry.path.clone(), content: Content::Kept { kind: entry.kind, oid: entry.oid.clone() } }
}

/// Deeper or longer than this, a path cannot be checked out everywhere.
const DEPTH: usize = 128;
const PATH_BYTES: usize = 2048;
/// An ignore file longer than this is not one.
const IGNORE_BYTES: u64 = 1 << 20;

pub(super) struct Walk<'a> {
    root: &'a Root,
    before: &'a Before,
    limits: Limits,
    ignored: Ignored<'a>,
    taken: Vec<Taken>,
    findings: Vec<Finding>,
    left_out: usize,
    directories: usize,
}

/// What one level of directories has to offer, before it is known what is ignored.
#[derive(Default)]
struct Level {
    directories: Vec<TreePath>,
    new_directories: Vec<TreePath>,
    new_files: Vec<(TreePath, Found)>,
}

impl<'a> Walk<'a> {
    pub fn new(root: &'a Root, before: &'a Before, limits: Limits, ignored: Ignored<'a>) -> Walk<'a> {
        Walk {
            root,
            before,
            limits,
            ignored,
            taken: Vec::new(),
            findings: Vec::new(),
            left_out: 0,
            directories: 0,
        }
    }

    pub fn run(mut self) -> Result<(Vec<Taken>, Vec<Finding>), ForgeError> {
        let mut directories = vec![TreePath::new(Vec::new())];
        while !directories.is_empty() {
            let mut level = Level::default();
            for directory in &directories {
                self.look_at(directory, &mut level)?;
            }
            directories = self.without_ignored(level)?;
        }
        if self.left_out > 0 {
            let finding = Finding::TooManyFiles { left_out: self.left_out, limit: self.limits.files };
            self.findings.push(finding);
        }
        self.taken.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((self.taken, self.findings))
    }

    fn look_at(&mut self, directory: &TreePath, level: &mut Level) -> Result<(), ForgeError> {
        self.directories += 1;
        if self.directories > self.limits.files {
            self.left_out += 1;
            self.taken.extend(self.before.below(directory).map(keep));
            return Ok(());
        }
        let entries = match self.root.directory(directory).and_then(|opened| opened.entries()) {
            Ok(entries) => entries,
            Err(Errno::OVERFLOW) => {
                self.left_out += 1;
                self.taken.extend(self.before.below(directory).map(keep));
                return Ok(());
            }
            Err(error) => {
                // What cannot be seen was not deleted.
                self.taken.extend(self.before.below(directory).map(keep));
                self.findings
                    .push(Finding::Unreadable { path: directory.clone(), reason: error.to_string() });
                return Ok(());
            }
        };
        for entry in entries {
            if entry.name == b".gitignore" && entry.kind == FileType::RegularFile {
                let path = directory.join(&entry.name);
                if let Ok(Some(content)) = self.root.read(&path, IGNORE_BYTES) {
                    self.ignored.add(directory, &content)?;
                }
            }
            self.sort_out(directory, entry, level);
        }
        Ok(())
    }

    fn sort_out(&mut self, directory: &TreePath, entry: Found, level: &mut Level) {
        let path = directory.join(&entry.name);
        let at_root = directory.as_bytes().is_empty();
        if entry.name == b".git" {
            if !at_root {
                self.findings.push(Finding::NestedRepository { path: directory.clone() });
            }
            return;
        }
        let link = entry.kind == FileType::Symlink;
        if is_repository_name(&entry.name) || (link && is_modules_name(&entry.name)) {
            self.findings.push(Finding::ForbiddenName { path });
            return;
        }
        let depth = path.as_bytes().iter().filter(|b| **b == b'/').count();
        if depth >= DEPTH || path.as_bytes().len() > PATH_BYTES {
            self.findings.push(Finding::TooDeep { path });
            return;
        }
        let known = self.before.get(&path).map(|entry| entry.kind);
        match entry.kind {
            FileType::Directory if known == Some(EntryKind::Submodule) => self.keep_submodule(path),
            FileType::Directory if self.before.has_below(&path) => level.directories.push(path),
            FileType::Directory => level.new_directories.push(path),
            FileType::RegularFile | FileType::Symlink if self.before.is_tracked(&path) => {
                self.take(path, &entry)
            }
            // No more is looked at than could be taken, with some that are ignored.
            FileType::RegularFile | FileType::Symlink if level.new_files.len() > self.limits.files * 4 => {
                self.left_out += 1;
            }
            FileType::RegularFile | FileType::Symlink => level.new_files.push((path, entry)),
            _ => self.findings.push(Finding::NotAFile { path }),
        }
    }

    fn keep_submodule(&mut self, path: TreePath) {
        let empty =
            self.root.directory(&path).and_then(|opened| opened.entries()).is_ok_and(|e| e.is_empty());
        if !empty {
            self.findings.push(Finding::SubmoduleChanged { path: path.clone() });
        }
        self.taken.extend(self.before.kept(&path));
    }

    fn without_ignored(&mut self, level: Level) -> Result<Vec<TreePath>, ForgeError> {
        let files: Vec<TreePath> = level.new_files.iter().map(|(path, _)| path.clone()).collect();
        let ignored = self.ignored.among(&files, &level.new_directories)?;
        for (path, entry) in level.new_files {
            if !ignored.contains(&path) {
                self.take(path, &entry);
            }
        }
        let mut directories = level.directories;
        directories.extend(level.new_directories.into_iter().filter(|path| !ignored.contains(path)));
        Ok(directories)
    }

    fn take(&mut self, path: TreePath, entry: &Found) {
        if self.taken.len() >= self.limits.files {
            self.left_out += 1;
            self.taken.extend(self.before.kept(&path));
            return;
        }
        if entry.kind != FileType::Symlink {
            let content =
                Content::File { executable: executable(&entry.stat), size_bytes: size(&entry.stat) };
            self.taken.push(Taken { path, content });
            return;
        }
        match self.root.link(&path) {
            Ok(target) => {
                if leaves(&path, &target) {
                    let target = TreePath::new(target.clone());
                    self.findings.push(Finding::LinkLeavesTree { path: path.clone(), target });
                }
                self.taken.push(Taken { path, content: Content::Link { target } });
            }
            Err(error) => {
                self.taken.extend(self.before.kept(&path));
                self.findings.push(Finding::Unreadable { path, reason: error.to_string() });
            }
        }
    }
}

fn executable(stat: &Stat) -> bool {
    stat.st_mode & 0o100 != 0
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// Whether a link, by its words alone, points out of the tree it is in.
fn leaves(path: &TreePath, target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = path.as_bytes().iter().filter(|b| **b == b'/').count();
    for name in target.split(|b| *b == b'/') {
        match name {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave() {
        let rows = [
            ("a", "/etc/passwd", true),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("d/a", "x/../../../b", true),
            ("a", "b/../c", false),
        ];
        for (path, target, expected) in rows {
            assert_eq!(leaves(&TreePath::from(path), target.as_bytes()), expected, "{path} -> {target}");
        }
    }
}
