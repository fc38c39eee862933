//! An agent's command where it can do its work and nothing else: it sees the machine read-only, without the
//! store, without settings and credentials, and without any process but its own.
//!
//! The program starts itself twice for this. `outer` makes namespaces of its own and stays outside as the
//! process a supervisor knows. `inner` is the first process within: it arranges the mounts, gives up all
//! privileges for good, refuses the kernel's calls nobody needs and then starts the command. If any of this fails the
//! command is not run.

mod masks;

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod landlocked;
mod limits;
#[cfg(target_os = "linux")]
mod listed;
#[cfg(target_os = "linux")]
mod mountinfo;
#[cfg(target_os = "linux")]
mod mounting;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod tend;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::ProcessError;
use super::protocol::Text;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{sandbox, sandboxed};
#[cfg(target_os = "linux")]
pub use inner::sandboxed;
pub use limits::{Limiting, Limits, MemoryLimit, ProcessLimit};
pub use masks::{default_masks, default_readable};
#[cfg(target_os = "linux")]
pub use outer::sandbox;

/// The first argument that makes the program run a command in a sandbox: the sandbox as JSON follows, then
/// `--` and the command. Without a command it says how well it would be protected.
pub const SANDBOX: &str = "__sandbox";

/// The first argument of the first process inside.
pub const SANDBOXED: &str = "__sandboxed";

/// The exit code if the command was not run because it could not be protected, found or started.
pub const NOT_PROTECTED: u8 = 125;
pub const NOT_STARTED: u8 = 126;
pub const NOT_FOUND: u8 = 127;

/// What a command gets to see. All else of the file system is there read-only, but `/tmp` and `/var/tmp` are
/// its own and empty, and `/dev` and `/proc` have no more than it needs. The deepest path that contains a
/// file decides about it, so a writable directory may lie below a masked one and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Spec", into = "Spec")]
pub struct Sandbox {
    /// Stay as writable as they are. These and the readable ones are named without symbolic links: what an
    /// agent could have put there must not lead elsewhere.
    pub writable: Vec<PathBuf>,
    /// Are there read-only although something above them is masked. What is missing is left out.
    pub readable: Vec<PathBuf>,
    /// Are not there: directories are empty, files are missing or empty. Symbolic links are followed, what
    /// is missing is left out.
    pub masked: Vec<PathBuf>,
    /// Have no sockets below them but for those in a writable directory.
    pub socketless: Vec<PathBuf>,
    pub limits: Limits,
}

impl Sandbox {
    /// The command that runs `argv` in this sandbox, where `program` is this one.
    pub fn wrap(&self, program: &Path, argv: &[OsString]) -> Vec<OsString> {
        let own = [program.into(), SANDBOX.into(), self.to_json().into(), "--".into()];
        own.into_iter().chain(argv.iter().cloned()).collect()
    }

    fn to_json(&self) -> String {
        // INVARIANT: these shapes have no map keys that are not text, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// How well a command in a sandbox is protected here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    pub namespaces: Namespaces,
    pub landlock: Landlock,
    pub limits: Limiting,
}

/// By whose right mounts and processes are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespaces {
    /// An administrator's.
    Privileged,
    /// Anybody's, in a user namespace.
    User,
}

/// What the kernel's Landlock adds to the mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landlock {
    /// The kernel has none, or it was not switched on.
    Absent,
    /// Its first version forbids to move files between directories, so it is not used.
    TooOld,
    /// Files can be written where they may be, and mounts cannot be changed.
    Files { abi: u32 },
    /// The same, and processes outside cannot be reached by signals or abstract sockets.
    Scoped { abi: u32 },
}

/// Whether commands can be run in a sandbox here and how well they are protected, found out by making one.
/// `program` is this one.
pub fn sandbox_available(program: &Path) -> Result<Protection, ProcessError> {
    let refused = |reason: String| ProcessError::NoSandbox { reason };
    let output = Command::new(program)
        .arg(SANDBOX)
        .arg(Sandbox::default().to_json())
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| refused(format!("`{}` cannot be started: {error}", program.display())))?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout)
            .map_err(|_| refused(format!("`{}` is not Checkrein", program.display())));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.is_empty()).unwrap_or("it ended without a word");
    Err(refused(last.strip_prefix(REFUSED).unwrap_or(last).to_owned()))
}

/// What precedes the reason why a command was not run.
const REFUSED: &str = "error: not run: ";

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.namespaces {
            Namespaces::Privileged => "mount and process namespaces",
            Namespaces::User => "mount and process namespaces in a user namespace",
        })?;
        match self.landlock {
            Landlock::Absent => f.write_str(", no Landlock"),
            Landlock::TooOld => f.write_str(", Landlock too old to be used"),
            Landlock::Files { abi } | Landlock::Scoped { abi } => write!(f, ", Landlock ABI {abi}"),
        }?;
        write!(f, ", system calls filtered, {}", self.limits)
    }
}

/// A sandbox as it is handed over: paths may be any bytes.
#[derive(Serialize, Deserialize)]
struct Spec {
    #[serde(default)]
    writable: Vec<Text>,
    #[serde(default)]
    readable: Vec<Text>,
    #[serde(default)]
    masked: Vec<Text>,
    #[serde(default)]
    socketless: Vec<Text>,
    #[serde(default)]
    limits: Limits,
}

impl From<Sandbox> for Spec {
    fn from(sandbox: Sandbox) -> Spec {
        let texts =
            |paths: Vec<PathBuf>| paths.into_iter().map(|path| path.into_os_string().into()).collect();
        Spec {
            writable: texts(sandbox.writable),
            readable: texts(sandbox.readable),
            masked: texts(sandbox.masked),
            socketless: texts(sandbox.socketless),
            limits: sandbox.limits,
        }
    }
}

impl From<Spec> for Sandbox {
    fn from(spec: Spec) -> Sandbox {
        let paths = |texts: Vec<Text>| texts.into_iter().map(|text| OsString::from(text).into()).collect();
        Sandbox {
            writable: paths(spec.writable),
            readable: paths(spec.readable),
            masked: paths(spec.masked),
            socketless: paths(spec.socketless),
            limits: spec.limits,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_wrapped_command_says_all_of_its_sandbox() {
        let odd: PathBuf = OsString::from_vec(b"/a\xffb".to_vec()).into();
        let sandbox = Sandbox {
            writable: vec![odd.clone()],
            readable: vec!["/r".into()],
            masked: vec!["/with \"quotes\"\n".into(), odd],
            socketless: vec!["/home".into()],
            limits: Limits { memory_bytes: u64::MAX, processes: 1 },
        };
        let argv = sandbox.wrap(Path::new("/proc/self/exe"), &["sh".into(), "-c".into(), "--".into()]);
        assert_eq!((argv[0].as_os_str(), argv[1].as_os_str()), ("/proc/self/exe".as_ref(), SANDBOX.as_ref()));
        assert_eq!(argv[3..], ["--", "sh", "-c", "--"]);
        let json = argv[2].to_str().unwrap();
        assert_eq!(serde_json::from_str::<Sandbox>(json).unwrap(), sandbox);
    }

    #[test]
    fn a_program_that_is_another_one_gives_no_sandbox() {
        for (program, expected) in [
            (
                "/no/such/program",
                "there is no sandbox here: `/no/such/program` cannot be started: No such file",
            ),
            ("/bin/true", "there is no sandbox here: `/bin/true` is not Checkrein"),
            ("/bin/false", "there is no sandbox here: it ended without a word"),
        ] {
            let error = sandbox_available(Path::new(program)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
