//! An agent's own commits, brought over as objects.
//!
//! Its repository is read without its configuration: we look up the head ourselves, and git sees its objects
//! only as a further place to look, through a directory of ours that holds nothing else. What is brought over
//! is checked as if it came from a stranger.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::FileType;

use super::beneath::Root;
use super::extent::Extent;
use super::finding::Finding;
use crate::branch::Branch;
use crate::call::Call;
use crate::error::ForgeError;
use crate::log::{Commit, FORMAT, commits, is_ancestor, range};
use crate::oid::Oid;
use crate::path::{TreePath, quoted};
use crate::push::Remembered;
use crate::repository::Bare;

/// What an agent committed since it was looked at last, oldest first.
pub(super) struct History {
    pub head: Oid,
    pub commits: Vec<Commit>,
}

pub(super) struct Wanted<'a> {
    pub clone: &'a Path,
    pub root: &'a Root,
    pub branch: &'a Branch,
    pub before: &'a Remembered,
    pub objects: Objects,
    pub most: usize,
    pub most_bytes: u64,
    /// How many files a commit may have beyond those the branch had.
    pub most_files: usize,
    /// How large a file of a commit may be.
    pub most_file_bytes: u64,
}

/// How git gets to see the objects of a clone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Where they are: nobody changes them any more.
    Shown,
    /// As copies of those that are not packed, which is how an agent's commits begin: it may still be at work, and could
    /// put anything in their place.
    Copied,
}

impl Bare {
    /// The agent's commits, or a finding that says why there are none to be had.
    pub(super) fn history(&self, wanted: &Wanted<'_>) -> Result<(Option<History>, Vec<Finding>), ForgeError> {
        let lost = |reason: String| Ok((None, vec![Finding::HistoryLost { reason }]));
        let head = match read_head(wanted.root) {
            Ok(head) => head,
            Err(reason) => return lost(reason),
        };
        if head.oid == wanted.before.seen {
            return Ok((None, Vec::new()));
        }
        let view = self.scratch()?;
        let objects = match wanted.objects {
            Objects::Shown => show_objects(wanted, view.path()),
            Objects::Copied => copy_objects(wanted, view.path()),
        };
        if let Err(reason) = objects {
            return lost(reason);
        }
        match self.bring(wanted, &head.oid, view.path()) {
            Ok(commits) => {
                let other = head.branch.filter(|name| name != wanted.branch.as_str());
                let findings = other.map(|name| Finding::OtherBranch { name }).into_iter().collect();
                Ok((Some(History { head: head.oid, commits }), findings))
            }
            Err(Unsound::Reason(reason)) => lost(reason),
            Err(Unsound::TooLarge(reason)) => Ok((None, vec![Finding::HistoryTooLarge { reason }])),
            Err(Unsound::Git(error)) if is_too_much(&error) => {
                Ok((None, vec![Finding::HistoryTooLarge { reason: error.to_string() }]))
            }
            Err(Unsound::Git(error @ ForgeError::Stopped { .. })) => Err(error),
            // Whatever git says about an agent's objects is the agent's doing, and its files are still there.
            Err(Unsound::Git(error)) => lost(error.to_string()),
        }
    }

    fn bring(&self, wanted: &Wanted<'_>, head: &Oid, view: &Path) -> Result<Vec<Commit>, Unsound> {
        let with_view = |call: Call| {
            let place = quoted(view.as_os_str().as_encoded_bytes());
            let call =
                call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", String::from_utf8_lossy(&place).into_owned());
            // Commits and trees are read into memory whole, and a few bytes can become any number of them.
            call.env("GIT_ALLOC_LIMIT", ALLOCATED_MAX)
        };
        let (begun, seen) = (wanted.before.begun.as_str(), wanted.before.seen.as_str());
        let call = self.call(["merge-base", "--is-ancestor", begun, head.as_str()]);
        if !is_ancestor(with_view(call))? {
            return Err(Unsound::Reason(format!("{head} does not follow from {begun}")));
        }
        // What was taken while the agent worked it may have made anew since: that comes after it.
        let call = self.call(["merge-base", seen, head.as_str()]);
        let since = Oid::from_bytes(&with_view(call).run()?)?;
        let call = self.call(["log", "-z", FORMAT, "--first-parent", "--reverse", "--no-show-signature"]);
        let call = call.arg(format!("--max-count={}", wanted.most.saturating_add(1)));
        let commits = commits(with_view(call.args(range(Some(&since), head))))?;
        if commits.len() > wanted.most {
            return Err(Unsound::Reason(format!("there are more than {} of them", wanted.most)));
        }
        self.check_sizes(wanted, head, &with_view)?;
        let call = self.call(["pack-objects", "--revs", "--quiet", "--delta-base-offset", "--threads=1"]);
        let pack = view.join("new");
        let name = with_view(call.arg(&pack)).run_with(format!("{head}\n^{seen}\n").into_bytes())?;
        let name = Oid::from_bytes(&name)?;
        let pack = view.join(format!("new-{name}.pack"));
        // Here the view is not there any more: all that the commits need has to have come.
        let call = self.call(["index-pack", "--stdin", "--strict"]);
        let call = call.arg(format!("--max-input-size={}", wanted.most_bytes));
        call.feed(|sink| {
            let mut file = File::open(&pack).map_err(|error| ForgeError::file(&pack, error))?;
            Ok(io::copy(&mut file, sink)?)
        })?;
        self.check_extent(wanted, &commits)?;
        Ok(commits)
    }

    /// Whether what the commits bring is as large as it may be, before any of it is unpacked: git says how large an object
    /// is by the first bytes of it.
    fn check_sizes(
        &self,
        wanted: &Wanted<'_>,
        head: &Oid,
        with_view: &dyn Fn(Call) -> Call,
    ) -> Result<(), Unsound> {
        let call = self.call(["rev-list", "--objects", "--no-object-names", head.as_str(), "--not"]);
        let new = with_view(call.args([wanted.before.seen.as_str(), "--all"])).run()?;
        if new.is_empty() {
            return Ok(());
        }
        let call = self.call(["cat-file", "--buffer", "--batch-check=%(objectsize) %(objectname)"]);
        let said = with_view(call).run_with(new)?;
        let (mut total_bytes, most_bytes) = (0_u64, wanted.most_bytes);
        for line in String::from_utf8_lossy(&said).lines() {
            let (size, object) = line.split_once(' ').unwrap_or_default();
            let Ok(size) = size.parse::<u64>() else {
                return Err(Unsound::Reason(format!("an object is missing: {line}")));
            };
            if size > wanted.most_file_bytes {
                let most = wanted.most_file_bytes;
                let reason = format!("{object} in them is {size} bytes, at most {most} are taken");
                return Err(Unsound::TooLarge(reason));
            }
            total_bytes = total_bytes.saturating_add(size);
        }
        if total_bytes > most_bytes {
            let reason = format!("they bring {total_bytes} bytes, at most {most_bytes} are taken");
            return Err(Unsound::TooLarge(reason));
        }
        Ok(())
    }

    /// Whether every commit can be written out: everything that is done with one takes as long as it has files.
    fn check_extent(&self, wanted: &Wanted<'_>, commits: &[Commit]) -> Result<(), Unsound> {
        let had = self.tree_of(&wanted.before.taken)?;
        let trees: Vec<Oid> = commits.iter().map(|commit| commit.tree.clone()).chain([had.clone()]).collect();
        let extents = self.extents(&trees)?;
        let extents = extents.ok_or_else(|| Unsound::TooLarge("their trees are too large".to_owned()))?;
        let of = |tree: &Oid| extents.get(tree).copied().unwrap_or_default();
        let files_max = of(&had).files.saturating_add(u64::try_from(wanted.most_files).unwrap_or(u64::MAX));
        let bytes_max = of(&had).bytes.saturating_add(wanted.most_bytes);
        for commit in commits {
            let Extent { files, path_bytes, depth, bytes } = of(&commit.tree);
            let commit = &commit.oid;
            let reason = if files > files_max {
                format!("{commit} has {files} files, at most {files_max} are taken")
            } else if path_bytes > PATHS_BYTES_MAX {
                format!("the paths of {commit} are {path_bytes} bytes, at most {PATHS_BYTES_MAX} are taken")
            } else if bytes > bytes_max {
                format!("the files of {commit} are {bytes} bytes, at most {bytes_max} are taken")
            } else if depth > DEPTH_MAX {
                format!("{commit} has directories {depth} deep, at most {DEPTH_MAX} are taken")
            } else {
                continue;
            };
            return Err(Unsound::TooLarge(reason));
        }
        Ok(())
    }
}

enum Unsound {
    Reason(String),
    TooLarge(String),
    Git(ForgeError),
}

impl From<ForgeError> for Unsound {
    fn from(error: ForgeError) -> Unsound {
        Unsound::Git(error)
    }
}

/// Whether git would have needed more than it gets.
fn is_too_much(error: &ForgeError) -> bool {
    match error {
        ForgeError::TimedOut { .. } | ForgeError::TooMuchOutput { .. } => true,
        ForgeError::Git { reason, .. } => reason.contains("attempting to allocate"),
        _ => false,
    }
}

struct Head {
    oid: Oid,
    branch: Option<String>,
}

/// All paths of a commit together, and how deep one may lie: more is not listed, and not written out everywhere.
const PATHS_BYTES_MAX: u64 = 128 << 20;
const DEPTH_MAX: u64 = 128;
/// No commit and no tree is larger, and no list of objects.
const ALLOCATED_MAX: &str = "256m";
const REFERENCE_BYTES: u64 = 4 << 10;
const PACKED_BYTES: u64 = 4 << 20;

fn read_head(root: &Root) -> Result<Head, String> {
    let read = |path: &str, limit| match root.read(&TreePath::from(path), limit) {
        Ok(Some(content)) => Ok(String::from_utf8_lossy(&content).into_owned()),
        Ok(None) => Err(format!("`{path}` is too long")),
        Err(error) => Err(format!("`{path}` cannot be read: {error}")),
    };
    let head = read(".git/HEAD", REFERENCE_BYTES)?;
    let head = head.trim();
    let Some(reference) = head.strip_prefix("ref:").map(str::trim) else {
        let oid = Oid::parse(head).map_err(|error| error.to_string())?;
        return Ok(Head { oid, branch: None });
    };
    if !TreePath::from(reference).is_plain() || !reference.starts_with("refs/") {
        return Err("its head is no branch".to_owned());
    }
    let oid = match read(&format!(".git/{reference}"), REFERENCE_BYTES) {
        Ok(text) => Oid::parse(text.trim()).map_err(|error| error.to_string())?,
        Err(reason) => match packed(&read(".git/packed-refs", PACKED_BYTES).unwrap_or_default(), reference) {
            Some(oid) => oid,
            None => return Err(reason),
        },
    };
    let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
    Ok(Head { oid, branch: branch.or(Some(reference.to_owned())) })
}

fn packed(text: &str, reference: &str) -> Option<Oid> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, name)| *name == reference).and_then(|(oid, _)| Oid::parse(oid).ok())
}

/// Copies the loose objects of a clone. What else git would look for there is not needed, or not to be had now.
fn copy_objects(wanted: &Wanted<'_>, view: &Path) -> Result<(), String> {
    let objects = TreePath::from(".git/objects");
    let said = |error: io::Error| format!("`{objects}` cannot be read: {error}");
    let all = wanted.root.directory(&objects).and_then(|opened| opened.entries());
    let mut left = wanted.most_bytes;
    for entry in all.map_err(|error| said(error.into()))? {
        let name = String::from_utf8_lossy(&entry.name).into_owned();
        let fan_out = name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit());
        if entry.kind != FileType::Directory || !fan_out {
            continue;
        }
        let inside = objects.join(&entry.name);
        let files = wanted.root.directory(&inside).and_then(|opened| opened.entries());
        fs::create_dir(view.join(&name)).map_err(said)?;
        for file in files.map_err(|error| said(error.into()))? {
            // One that is being written has another name.
            let plain = file.name.len() >= 38 && file.name.iter().all(u8::is_ascii_hexdigit);
            if file.kind != FileType::RegularFile || !plain {
                continue;
            }
            let bytes = wanted.root.read(&inside.join(&file.name), left).map_err(said)?;
            let bytes = bytes.ok_or_else(|| "there is too much of it".to_owned())?;
            left = left.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            let copy = view.join(&name).join(String::from_utf8_lossy(&file.name).as_ref());
            fs::write(copy, bytes).map_err(said)?;
        }
    }
    Ok(())
}

/// Makes a directory of objects that leads to the clone's objects and to nothing else: not to the places its
/// `info` may name, and to no pipe.
fn show_objects(wanted: &Wanted<'_>, view: &Path) -> Result<(), String> {
    let objects = TreePath::from(".git/objects");
    let said = |error: io::Error| format!("`{objects}` cannot be read: {error}");
    let clone = wanted.clone.canonicalize().map_err(said)?.join(".git/objects");
    let all = wanted.root.directory(&objects).and_then(|opened| opened.entries());
    for entry in all.map_err(|error| said(error.into()))? {
        let name = String::from_utf8_lossy(&entry.name).into_owned();
        let fan_out = name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit());
        if entry.kind != FileType::Directory || !(fan_out || name == "pack") {
            continue;
        }
        let inside = wanted.root.directory(&objects.join(&entry.name)).and_then(|opened| opened.entries());
        let inside = inside.map_err(|error| said(error.into()))?;
        if let Some(odd) = inside.iter().find(|found| found.kind != FileType::RegularFile) {
            let odd = String::from_utf8_lossy(&odd.name).into_owned();
            return Err(format!("`{objects}/{name}/{odd}` is not a file"));
        }
        if fan_out {
            symlink(clone.join(&name), view.join(&name)).map_err(said)?;
            continue;
        }
        fs::create_dir(view.join("pack")).map_err(said)?;
        for found in inside {
            let file = String::from_utf8_lossy(&found.name).into_owned();
            if file.starts_with("pack-") && (file.ends_with(".pack") || file.ends_with(".idx")) {
                symlink(clone.join("pack").join(&file), view.join("pack").join(&file)).map_err(said)?;
            }
        }
    }
    Ok(())
}
