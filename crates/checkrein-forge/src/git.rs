//! The git program and the only environment it is ever run in.
//!
//! Nothing of the caller's environment reaches git: no `GIT_*`, no home, no system or user configuration.
//! What a repository's own configuration could start is overridden from the outside, where it cannot be
//! overridden again.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::call::{Call, Stop};
use crate::error::ForgeError;

/// The first version with `merge-tree --write-tree` and `cat-file -z`.
pub(crate) const NEEDED: &str = "2.38";

/// A git program that was found and is new enough.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    path: OsString,
    timeout: Duration,
    stop: Stop,
}

impl Git {
    /// Looks for git in the directories of a `PATH`. Relative ones are left out: what they mean depends on
    /// the directory one is in, and an agent may have written there.
    pub fn find_in(path: &OsStr) -> Result<Git, ForgeError> {
        let directories: Vec<PathBuf> = std::env::split_paths(path).filter(|d| d.is_absolute()).collect();
        let program = directories.iter().map(|d| d.join("git")).find(|program| is_program(program));
        let path = std::env::join_paths(&directories).unwrap_or_default();
        let Some(program) = program else {
            return Err(ForgeError::NoGit { path: path.to_string_lossy().into_owned() });
        };
        let git = Git { program, path, timeout: Duration::from_secs(120), stop: Stop::default() };
        let said = git.call(Path::new("/"), ["version"]).run()?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        if is_new_enough(&said) {
            Ok(git)
        } else {
            Err(ForgeError::OldGit { program: git.program, found: said })
        }
    }

    /// How long one call of git may take; two minutes unless told.
    pub fn with_timeout(mut self, timeout: Duration) -> Git {
        self.timeout = timeout;
        self
    }

    /// Calls that somebody else can stop.
    pub fn with_stop(mut self, stop: Stop) -> Git {
        self.stop = stop;
        self
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A call in a directory, where git looks for the repository it belongs to.
    pub(crate) fn call<I, S>(&self, directory: &Path, arguments: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.configured(directory, &[]).args(arguments)
    }

    fn configured(&self, directory: &Path, more: &[(String, String)]) -> Call {
        let mut call = Call::new(&self.program, directory, self.timeout, self.stop.clone());
        for (name, value) in ENVIRONMENT {
            call = call.env(name, value);
        }
        let own = OVERRIDES.iter().map(|(key, value)| (*key, *value));
        let more = more.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut count = 0_usize;
        for (key, value) in own.chain(more) {
            call = call.env(format!("GIT_CONFIG_KEY_{count}"), key);
            call = call.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        call.env("GIT_CONFIG_COUNT", count.to_string()).env("PATH", &self.path)
    }

    /// A call on a repository with further settings, which may be secret: they are in its environment alone.
    pub(crate) fn call_with(&self, repository: &Path, arguments: &[&str], more: &[(String, String)]) -> Call {
        self.configured(repository, more).env("GIT_DIR", repository).args(arguments)
    }

    /// A call on a repository whose directory is known, so that nothing is looked for.
    pub(crate) fn call_on<I, S>(&self, repository: &Path, arguments: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.call(repository, arguments).env("GIT_DIR", repository)
    }
}

/// What serves a fetch is a process of its own that git starts without our overrides, so they are said again.
/// A hook for packing is obeyed only where it stands outside the repository, and there nothing stands.
pub(crate) const UPLOAD_PACK: &str = "--upload-pack=git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false \
     -c core.alternateRefsCommand='exit 0' upload-pack";

/// Attributes that beat those of any tree: bytes in a file are the bytes in the repository, and nothing
/// between them runs.
pub(crate) const ATTRIBUTES: &str = "* -text !eol -ident -filter !working-tree-encoding !merge !diff\n";

// `/dev/null` as a home cannot hold a file that somebody planted.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("HOME", "/dev/null"),
    ("XDG_CONFIG_HOME", "/dev/null"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "/bin/false"),
    ("GIT_EDITOR", "/bin/false"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ADVICE", "0"),
    // We read references ourselves, see `refs`.
    ("GIT_DEFAULT_REF_FORMAT", "files"),
    // Unlike the configuration of protocols, this also holds for what git starts.
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

const OVERRIDES: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.alternateRefsCommand", "exit 0"),
    ("core.sshCommand", "/bin/false"),
    ("core.gitProxy", ""),
    ("core.askPass", "/bin/false"),
    ("core.pager", "cat"),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    ("core.precomposeUnicode", "false"),
    // Above this a file is streamed and counts as binary, so that no file fills the memory.
    ("core.bigFileThreshold", "16m"),
    // What was acknowledged is on disk, loose objects and references too.
    ("core.fsync", "all"),
    // Whoever holds a lock is done with it soon: a person who pushes, a call of an engine that died.
    ("core.filesRefLockTimeout", "5000"),
    ("core.packedRefsTimeout", "5000"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("gpg.program", "/bin/false"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.renameLimit", "1000"),
    ("merge.conflictStyle", "merge"),
    ("merge.renormalize", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.fsckObjects", "false"),
    ("fetch.unpackLimit", "1"),
    ("fastimport.unpackLimit", "1"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    ("protocol.allow", "never"),
    ("protocol.file.allow", "always"),
    ("safe.directory", "*"),
    ("advice.detachedHead", "false"),
];

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn is_new_enough(said: &str) -> bool {
    let numbers = |text: &str| {
        let mut parts = text.split('.').map_while(|part| part.parse::<u32>().ok());
        parts.next().zip(parts.next())
    };
    let version = said.strip_prefix("git version ").and_then(|rest| rest.split(' ').next());
    version.and_then(numbers) >= numbers(NEEDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_can_do_what_is_needed() {
        let rows = [
            ("git version 2.38.0", true),
            ("git version 2.39.5 (Apple Git-154)", true),
            ("git version 3.0", true),
            ("git version 2.37.9", false),
            ("git version 1.99.1", false),
            ("hello", false),
        ];
        for (said, enough) in rows {
            assert_eq!(is_new_enough(said), enough, "{said}");
        }
    }

    #[test]
    fn a_relative_directory_is_not_searched() {
        assert!(matches!(Git::find_in(OsStr::new("bin:.")), Err(ForgeError::NoGit { .. })));
    }
}
