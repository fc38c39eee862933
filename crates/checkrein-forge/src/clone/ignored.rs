//! Which new files the repository's `.gitignore` files leave out.
//!
//! Git answers that, but not in the clone: it gets copies of the ignore files in a directory of ours.

use std::collections::HashSet;
use std::fs;

use tempfile::TempDir;

use crate::error::ForgeError;
use crate::path::TreePath;
use crate::repository::Bare;

pub(super) struct Ignored<'a> {
    bare: &'a Bare,
    /// Made when the first ignore file is met; without one, nothing is ignored.
    copies: Option<TempDir>,
}

impl<'a> Ignored<'a> {
    pub fn new(bare: &'a Bare) -> Ignored<'a> {
        Ignored { bare, copies: None }
    }

    /// Takes the ignore file of a directory into account.
    pub fn add(&mut self, directory: &TreePath, content: &[u8]) -> Result<(), ForgeError> {
        if self.copies.is_none() {
            self.copies = Some(self.bare.scratch()?);
        }
        let Some(copies) = &self.copies else { return Ok(()) };
        let place = copies.path().join(directory.as_os_str());
        let written = fs::create_dir_all(&place).and_then(|()| fs::write(place.join(".gitignore"), content));
        written.map_err(|error| ForgeError::file(&place, error))
    }

    /// Those of the paths that are ignored.
    pub fn among(
        &self,
        files: &[TreePath],
        directories: &[TreePath],
    ) -> Result<HashSet<TreePath>, ForgeError> {
        let Some(copies) = &self.copies else { return Ok(HashSet::new()) };
        if files.is_empty() && directories.is_empty() {
            return Ok(HashSet::new());
        }
        for directory in directories {
            // Whether a rule for directories is meant, git sees for itself.
            let place = copies.path().join(directory.as_os_str());
            fs::create_dir_all(&place).map_err(|error| ForgeError::file(&place, error))?;
        }
        let mut input = Vec::new();
        for path in files.iter().chain(directories) {
            // A name may begin with what git reads as an instruction; after `./` it does not.
            input.extend_from_slice(b"./");
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let work_tree =
            copies.path().canonicalize().map_err(|error| ForgeError::file(copies.path(), error))?;
        let git = self.bare.git();
        let call = git.call(&work_tree, ["check-ignore", "-z", "--stdin", "--no-index"]);
        let call = call.env("GIT_DIR", self.bare.path()).env("GIT_WORK_TREE", &work_tree);
        let place = call.place();
        let answer = call.answer_to(input)?;
        if !matches!(answer.code, 0 | 1) {
            return Err(answer.failure(place));
        }
        let paths = answer.output.split(|b| *b == 0).filter_map(|path| path.strip_prefix(b"./"));
        Ok(paths.map(TreePath::new).collect())
    }
}
