//! What can go wrong with git, in words a person can act on.

use std::io;
use std::path::{Path, PathBuf};

use crate::oid::Oid;
use crate::path::TreePath;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    #[error("no `git` was found in `{path}`; install git {needed} or newer", needed = crate::git::NEEDED)]
    NoGit { path: String },
    #[error("`{}` says `{found}`; install git {needed} or newer", program.display(), needed = crate::git::NEEDED)]
    OldGit { program: PathBuf, found: String },
    #[error("`git {command}` failed in `{}`: {reason}", directory.display())]
    Git { command: String, directory: PathBuf, reason: String },
    #[error("`git {command}` took more than {seconds} s in `{}` and was ended; nothing was changed", directory.display())]
    TimedOut { command: String, directory: PathBuf, seconds: u64 },
    #[error("`git {command}` was stopped in `{}`", directory.display())]
    Stopped { command: String, directory: PathBuf },
    #[error("`git {command}` printed more than {limit} bytes in `{}` and was ended; nothing was changed", directory.display())]
    TooMuchOutput { command: String, directory: PathBuf, limit: usize },
    #[error("`git {command}` printed what was not expected: `{text}`")]
    Unexpected { command: String, text: String },

    #[error("branch `{branch}` is at {}, not at {}; nothing was changed, look at it again", said(found.as_ref()), said(expected.as_ref()))]
    Moved { branch: String, expected: Option<Oid>, found: Option<Oid> },
    #[error("branch `{branch}` of the forge was taken over by another worker; nothing was changed")]
    TakenOver { branch: String },
    #[error("there is no branch `{branch}` in `{}`", repository.display())]
    NoBranch { branch: String, repository: PathBuf },
    #[error("`{revision}` is no commit of `{}`; name a branch, a tag or a commit that is there", repository.display())]
    NoCommit { revision: String, repository: PathBuf },
    #[error("there is no file `{path}` in {commit}")]
    NoFile { path: TreePath, commit: Oid },
    #[error("`{}` is no git repository; run `git init` there or name another directory", path.display())]
    NotARepository { path: PathBuf },
    #[error("`{}` is already there; nothing was overwritten, remove it or choose another place", path.display())]
    Exists { path: PathBuf },
    #[error("no clone of `{branch}` was made here; make one before collecting")]
    NoClone { branch: String },

    #[error("`{path}` cannot be the name of a file in a repository; choose another one")]
    BadPath { path: TreePath },
    #[error("`{text}` cannot be part of a branch name; use letters, digits, `-` and `_`")]
    BadName { text: String },
    #[error(
        "`{text}` cannot sign commits; a name and an address without `<`, `>` and line breaks are needed"
    )]
    BadIdentity { text: String },
    #[error("`{text}` is not the full name of an object")]
    NotAnOid { text: String },
    #[error("`{}`: {reason}", path.display())]
    File { path: PathBuf, reason: String },
}

impl ForgeError {
    pub(crate) fn file(path: &Path, error: io::Error) -> ForgeError {
        ForgeError::File { path: path.to_owned(), reason: error.to_string() }
    }
}

fn said(oid: Option<&Oid>) -> &str {
    oid.map_or("nothing", Oid::as_str)
}
