//! Commands in a sandbox, through the binary as an engine starts it, as whoever runs the tests and, if that
//! is root, as an ordinary user too.

mod calls;
mod escapes;
mod files;
mod inside;
mod limits;
mod processes;
pub mod refused;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use checkrein_engine::process::{Landlock, Sandbox, sandbox_available};
use tempfile::TempDir;

use crate::place::BINARY;

/// Who starts the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Own,
    /// Without any privilege.
    Nobody,
}

const NOBODY: u32 = 65534;

fn users() -> &'static [User] {
    if rustix::process::geteuid().is_root() { &[User::Own, User::Nobody] } else { &[User::Own] }
}

/// What the kernel of this machine has to offer, as the sandbox says itself; the tests hold it to that.
fn landlock() -> Landlock {
    sandbox_available(Path::new(BINARY)).unwrap().landlock
}

/// What must never be seen inside.
const SECRET: &str = "the-secret-of-the-store";

/// The directories of a person and of Checkrein, with a clone for an agent in the midst of them.
struct Room {
    user: User,
    directory: TempDir,
    /// Of all processes started here and of nobody else.
    mark: String,
}

/// How a command ended and what it said.
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Room {
    fn new(user: User) -> Room {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let directory = TempDir::with_prefix("room").unwrap();
        let mark = format!("room-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let room = Room { user, directory, mark };
        for (name, text) in [
            ("repo/.git/hooks/pre-commit.sample", ""),
            ("repo/.git/config", "[user]\n"),
            ("repo/checkrein.yaml", "autonomy: { job: guided }\n"),
            ("home/.bashrc", "# mine\n"),
            ("home/.gitconfig", "[user]\n"),
            ("home/.ssh/id", SECRET),
            ("home/.netrc", SECRET),
            ("home/.config/checkrein/checkrein.yaml", "autonomy: { job: full }\n"),
            ("home/.config/other", "other\n"),
            ("store/store.db", SECRET),
            ("store/runs/1/stdout", SECRET),
            ("store/jobs/1/clone/file", "of the agent\n"),
        ] {
            let path = room.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        // Nobody need not be able to reach where the tests were built.
        fs::create_dir(room.path("bin")).unwrap();
        let binary = room.path("bin/checkrein");
        if fs::hard_link(BINARY, &binary).is_err() {
            // By another process: what this one has open for writing, a fork of another test would keep open.
            assert!(Command::new("cp").arg(BINARY).arg(&binary).status().unwrap().success());
        }
        fs::set_permissions(room.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["home", "repo", "store"] {
            give(user, &room.path(name));
        }
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = self.directory.path().canonicalize().unwrap();
        if name.is_empty() { root } else { root.join(name) }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A file of whoever starts the sandbox.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        give(self.user, path.parent().unwrap());
    }

    /// All of the room can be read but for what a person would hide; the clone can be written.
    fn sandbox(&self) -> Sandbox {
        Sandbox {
            writable: vec![self.path("store/jobs/1/clone")],
            readable: vec![self.path("")],
            masked: ["store", "home/.ssh", "home/.netrc", "home/.config/checkrein"]
                .iter()
                .map(|name| self.path(name))
                .collect(),
            ..Sandbox::default()
        }
    }

    /// A command of this user, with the binary on its path.
    fn command(&self, argv: &[OsString]) -> Command {
        let (program, arguments) = argv.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("ROOM_MARK", &self.mark).env("HOME", self.path("home"));
        command.env(
            "PATH",
            format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.path("bin").display()),
        );
        for (name, path) in [("STORE", "store"), ("REPO", "repo"), ("ROOM", "")] {
            command.env(name, self.path(path));
        }
        command.current_dir(self.path("store/jobs/1/clone"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// What these scripts do must not happen to the machine, not even if the sandbox is broken.
    fn in_sandbox(&self, sandbox: &Sandbox, script: &str) -> Command {
        let script = format!("grep -q __sandboxed /proc/1/cmdline || exit 99; {script}");
        self.command(&sandbox.wrap(&self.path("bin/checkrein"), &["sh".into(), "-c".into(), script.into()]))
    }

    /// Runs a script in the sandbox of this room.
    fn run(&self, script: &str) -> Ended {
        finish(self.in_sandbox(&self.sandbox(), script).spawn().unwrap())
    }

    /// Processes that were started here, by what they carry in their environment.
    fn alive(&self) -> Vec<i32> {
        let mark = format!("ROOM_MARK={}", self.mark);
        let pids =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
    }
}

fn give(user: User, path: &Path) {
    if user == User::Own {
        return;
    }
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(user, &entry.unwrap().path()));
    }
}

fn finish(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    fn seen(&self) -> String {
        format!("{:?} {:?}\n-- stdout\n{}-- stderr\n{}", self.code, self.signal, self.stdout, self.stderr)
    }

    /// That it did what it should, and what it said.
    fn good(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.seen());
        &self.stdout
    }
}

fn until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}
