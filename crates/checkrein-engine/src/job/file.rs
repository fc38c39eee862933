//! The files on the branch of a review: what there is, and what is in it.

use checkrein_core::principal::Principal;
use checkrein_forge::{EntryKind, FileContent, ForgeError, Oid, TreeEntry, TreePath};
use serde_json::Value;

use super::place::JobPlace;
use super::repository::JobRepository;
use super::review::Reviewed;
use super::work::blocking;
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// Which state of the files is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// As they were before.
    Base,
    /// As they are on the branch.
    #[default]
    Head,
}

/// The files of a commit.
#[derive(Clone, Debug)]
pub struct BranchFiles {
    pub commit: Oid,
    /// In the order of their paths.
    pub files: Vec<TreeEntry>,
}

/// One file of a commit.
#[derive(Clone, Debug)]
pub struct BranchFile {
    pub commit: Oid,
    pub path: String,
    pub kind: EntryKind,
    pub content: FileContent,
}

impl BranchFile {
    /// Its text; none if it is not one, or is longer than what was read.
    pub fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.content.bytes).ok()?;
        (!self.content.cut && !text.contains('\0')).then_some(text)
    }
}

/// Of a larger file only the beginning is read.
pub const FILE_BYTES_MAX: usize = 2 << 20;

impl Engine {
    /// Every file on the branch of a review, or of what it was cut from.
    pub async fn review_files(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
        side: Side,
    ) -> Result<BranchFiles, EngineError> {
        require(by, Act::FetchBranches)?;
        let (run, commit) = (reviewed.view.run.clone(), side.commit(reviewed)?);
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            Ok(BranchFiles { files: repository.bare.list_files(&commit)?, commit })
        })
        .await
    }

    /// One of them.
    pub async fn review_file(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
        path: &str,
        side: Side,
    ) -> Result<BranchFile, EngineError> {
        require(by, Act::FetchBranches)?;
        let (run, commit) = (reviewed.view.run.clone(), side.commit(reviewed)?);
        let (place, path) = (JobPlace::of(&self.store, &run.id), path.to_owned());
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let wanted = TreePath::from(path.as_str());
            let none = || EngineError::NoFile { path: path.clone(), commit: commit.to_string() };
            let entries = repository.bare.list_files(&commit)?;
            let kind = entries.iter().find(|entry| entry.path == wanted).map(|entry| entry.kind);
            let kind = kind.ok_or_else(none)?;
            let content = match repository.bare.show_file(&commit, &wanted, FILE_BYTES_MAX) {
                // The commit of another repository has no content here.
                Err(ForgeError::NoFile { .. }) if kind == EntryKind::Submodule => {
                    FileContent { bytes: Vec::new(), size_bytes: 0, cut: false }
                }
                Err(ForgeError::NoFile { .. }) => return Err(none()),
                read => read?,
            };
            Ok(BranchFile { commit, path, kind, content })
        })
        .await
    }

    /// Several texts of a commit of the job, read at once; none of those that are no text, too long, or not
    /// there.
    pub async fn review_texts(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
        commit: &str,
        paths: Vec<String>,
    ) -> Result<Vec<Option<String>>, EngineError> {
        require(by, Act::FetchBranches)?;
        let (run, commit) = (reviewed.view.run.clone(), Oid::parse(commit)?);
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            if paths.is_empty() {
                return Ok(Vec::new());
            }
            let plain = |path: &String| TreePath::from(path.as_str()).is_plain();
            // One that cannot be a file would not be found either.
            let asked: Vec<&str> =
                paths.iter().map(|path| if plain(path) { path.as_str() } else { "" }).collect();
            let found = repository.bare.show_files(&commit, &asked, TEXT_BYTES_MAX)?;
            Ok(found.into_iter().map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok())).collect())
        })
        .await
    }
}

/// Longer texts are not shown as what they say.
const TEXT_BYTES_MAX: usize = 512 << 10;

impl Side {
    fn commit(self, reviewed: &Reviewed) -> Result<Oid, EngineError> {
        let name = match self {
            Side::Base => "base",
            Side::Head => "head",
        };
        let asked = reviewed.asked();
        Ok(Oid::parse(asked.get(name).and_then(Value::as_str).unwrap_or_default())?)
    }
}
