//! Why a command was not run.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::io::Errno;

use super::{NOT_FOUND, NOT_PROTECTED, NOT_STARTED, REFUSED};

#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxError {
    #[error("this is no call of a sandbox")]
    NoCall,
    #[error("the system allows no namespaces: {source}; {}", remedy(source))]
    NoNamespaces { source: io::Error },
    #[error("{what}: {source}")]
    Failed { what: &'static str, source: io::Error },
    #[error("`{}` {what}: {source}", path.display())]
    At { path: PathBuf, what: &'static str, source: io::Error },
    #[error("`{}` {why}", path.display())]
    Refused { path: PathBuf, why: &'static str },
    #[error("Landlock: {0}")]
    Landlock(String),
    #[error("system calls cannot be filtered: {0}")]
    Filter(String),
    #[error("`{program}` cannot be run: {source}")]
    NotStarted { program: String, source: io::Error },
}

impl SandboxError {
    /// For `map_err` on something that has no path.
    pub fn failed<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> SandboxError {
        move |error| SandboxError::Failed { what, source: error.into() }
    }

    /// For `map_err` on something that has one: `what` is a verb with all that follows.
    pub fn at<E: Into<io::Error>>(path: &Path, what: &'static str) -> impl Fn(E) -> SandboxError {
        move |error| SandboxError::At { path: path.to_owned(), what, source: error.into() }
    }

    /// Says it in one line, since the last line of an attempt is taken for its error.
    pub fn report(&self) -> ExitCode {
        eprintln!("{REFUSED}{self}");
        ExitCode::from(match self {
            SandboxError::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            SandboxError::NotStarted { .. } => NOT_STARTED,
            _ => NOT_PROTECTED,
        })
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC) => "raise the limits in `/proc/sys/user`",
        Some(Errno::NOSYS | Errno::INVAL) => "the kernel was built without them",
        _ => {
            "allow user namespaces (`kernel.unprivileged_userns_clone`, \
             `kernel.apparmor_restrict_unprivileged_userns`, or the settings of the container)"
        }
    }
}
