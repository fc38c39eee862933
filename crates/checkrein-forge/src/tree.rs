//! What is in a commit: its files and their content.

use crate::error::ForgeError;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::Bare;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: TreePath,
    pub kind: EntryKind,
    pub oid: Oid,
    /// Unknown for another repository's commit.
    pub size_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Executable,
    Link,
    /// A commit of another repository.
    Submodule,
}

impl EntryKind {
    pub fn from_mode(mode: &str) -> Option<EntryKind> {
        match mode {
            "100755" => Some(EntryKind::Executable),
            "120000" => Some(EntryKind::Link),
            "160000" => Some(EntryKind::Submodule),
            "000000" | "040000" => None,
            _ => Some(EntryKind::File),
        }
    }

    /// As git writes it: `100755`.
    pub const fn mode(self) -> &'static str {
        match self {
            EntryKind::File => "100644",
            EntryKind::Executable => "100755",
            EntryKind::Link => "120000",
            EntryKind::Submodule => "160000",
        }
    }
}

/// The content of a file, as far as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub size_bytes: u64,
    /// Whether there is more than was asked for.
    pub cut: bool,
}

impl Bare {
    /// Every file of a commit, in the order of their paths.
    pub fn list_files(&self, commit: &Oid) -> Result<Vec<TreeEntry>, ForgeError> {
        let output = self.call(["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()]).run()?;
        let entries = output.split(|b| *b == 0).filter(|record| !record.is_empty());
        let unexpected = |record: &[u8]| ForgeError::Unexpected {
            command: "ls-tree".to_owned(),
            text: String::from_utf8_lossy(record).into_owned(),
        };
        entries.map(|record| entry(record)?.ok_or_else(|| unexpected(record))).collect()
    }

    /// The content of a file in a commit, at most the first `limit_bytes` of it.
    pub fn show_file(
        &self,
        commit: &Oid,
        path: &TreePath,
        limit_bytes: usize,
    ) -> Result<FileContent, ForgeError> {
        let none = || ForgeError::NoFile { path: path.clone(), commit: commit.clone() };
        if !path.is_plain() {
            return Err(none());
        }
        let mut name = format!("{commit}:").into_bytes();
        name.extend_from_slice(path.as_bytes());
        name.push(0);
        let call = self.call(["cat-file", "--batch", "-z"]).output_bytes(limit_bytes.saturating_add(128));
        let output = call.answer_to(name)?.output;
        let Some(end) = output.iter().position(|b| *b == b'\n') else { return Err(none()) };
        let (header, rest) = output.split_at(end);
        let header = String::from_utf8_lossy(header).into_owned();
        let mut words = header.split(' ').skip(1);
        let (Some("blob"), Some(size)) = (words.next(), words.next()) else { return Err(none()) };
        let size_bytes = size.parse::<u64>().map_err(|_| none())?;
        let wanted = usize::try_from(size_bytes).unwrap_or(usize::MAX).min(limit_bytes);
        let bytes: Vec<u8> = rest.iter().skip(1).take(wanted).copied().collect();
        Ok(FileContent {
            cut: u64::try_from(bytes.len()).unwrap_or(u64::MAX) < size_bytes,
            bytes,
            size_bytes,
        })
    }

    /// The contents of several files in a commit, none of those that are not there or larger.
    pub fn show_files(
        &self,
        commit: &Oid,
        paths: &[&str],
        limit_bytes: usize,
    ) -> Result<Vec<Option<Vec<u8>>>, ForgeError> {
        let mut names = Vec::new();
        for path in paths {
            names.extend(format!("{commit}:{path}").into_bytes());
            names.push(0);
        }
        let most = limit_bytes.saturating_add(128).saturating_mul(paths.len());
        let output = self.call(["cat-file", "--batch", "-z"]).output_bytes(most).answer_to(names)?.output;
        let mut rest = output.as_slice();
        let mut next = || {
            let end = rest.iter().position(|b| *b == b'\n')?;
            let (header, body) = rest.split_at(end);
            let header = String::from_utf8_lossy(header).into_owned();
            let mut words = header.rsplit(' ');
            let size = words.next().and_then(|size| size.parse::<usize>().ok());
            let Some(size) = size.filter(|_| words.next() == Some("blob")) else {
                // `… missing`, or something that is no file and has a body all the same.
                rest = body.get(size.map_or(1, |size| size.saturating_add(2))..).unwrap_or_default();
                return None;
            };
            let content = body.get(1..size.saturating_add(1)).map(<[u8]>::to_vec);
            rest = body.get(size.saturating_add(2)..).unwrap_or_default();
            content.filter(|content| content.len() <= limit_bytes)
        };
        Ok(paths.iter().map(|_| next()).collect())
    }

    /// The contents of objects that are there; nothing if they are larger together.
    pub(crate) fn contents(
        &self,
        blobs: &[Oid],
        limit_bytes: usize,
    ) -> Result<Option<Vec<Vec<u8>>>, ForgeError> {
        if blobs.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let names: String = blobs.iter().map(|oid| format!("{oid}\n")).collect();
        let call = self.call(["cat-file", "--batch=%(objectsize)"]).output_bytes(limit_bytes);
        let (command, directory) = call.place();
        let answer = call.answer_to(names.into_bytes())?;
        if answer.cut {
            return Ok(None);
        }
        // A git that was ended has not said how large they are.
        if answer.code != 0 {
            return Err(ForgeError::Git { command, directory, reason: answer.complaint });
        }
        let mut rest = answer.output.as_slice();
        let mut next = || {
            let (size, body) = rest.split_at(rest.iter().position(|b| *b == b'\n')?);
            let size = std::str::from_utf8(size).ok()?.parse::<usize>().ok()?;
            let content = body.get(1..size.saturating_add(1))?.to_vec();
            rest = body.get(size.saturating_add(2)..).unwrap_or_default();
            Some(content)
        };
        Ok(blobs.iter().map(|_| next()).collect())
    }

    /// The links of a commit, each with what it says.
    pub fn links(&self, commit: &Oid) -> Result<Vec<(TreePath, TreePath)>, ForgeError> {
        let mut entries = self.list_files(commit)?;
        // What is longer is none for any system.
        entries.retain(|entry| {
            entry.kind == EntryKind::Link && entry.size_bytes.is_some_and(|size| size <= LINK_BYTES)
        });
        let mut links = Vec::new();
        for some in entries.chunks(LINKS_AT_ONCE) {
            let oids: Vec<Oid> = some.iter().map(|entry| entry.oid.clone()).collect();
            let Some(targets) = self.contents(&oids, usize::MAX)? else { continue };
            links.extend(
                some.iter().map(|entry| entry.path.clone()).zip(targets.into_iter().map(TreePath::new)),
            );
        }
        Ok(links)
    }

    pub(crate) fn tree_of(&self, commit: &Oid) -> Result<Oid, ForgeError> {
        Oid::from_bytes(&self.call(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).run()?)
    }
}

const LINK_BYTES: u64 = 4096;
const LINKS_AT_ONCE: usize = 10_000;

/// `mode type oid size<tab>path`
fn entry(record: &[u8]) -> Result<Option<TreeEntry>, ForgeError> {
    let Some(tab) = record.iter().position(|b| *b == b'\t') else { return Ok(None) };
    let (head, path) = record.split_at(tab);
    let head = String::from_utf8_lossy(head).into_owned();
    let mut words = head.split_ascii_whitespace();
    let (Some(mode), Some(_), Some(oid), size) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Ok(None);
    };
    let path = TreePath::new(path.get(1..).unwrap_or_default());
    let size_bytes = size.and_then(|size| size.parse().ok());
    let oid = Oid::parse(oid)?;
    Ok(EntryKind::from_mode(mode).map(|kind| TreeEntry { path, kind, oid, size_bytes }))
}
