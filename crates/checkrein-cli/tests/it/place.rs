//! A directory of its own to run the binary in, with nothing of the outside in it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_checkrein");

pub struct Place {
    directory: TempDir,
    environment: Vec<(String, String)>,
    /// Who runs commands here, if it is not whoever runs the tests.
    user: Option<u32>,
}

const NOBODY: u32 = 65534;

pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Place {
    pub fn new() -> Place {
        Place { directory: TempDir::new().unwrap(), environment: Vec::new(), user: None }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn file(self, name: &str, text: &str) -> Place {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Place {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// From now on commands are run by an ordinary user, who owns all that is here: root may do what others may not.
    pub fn run_as_nobody(mut self) -> Place {
        // They need not be able to reach where the tests were built.
        fs::create_dir(self.path().join("bin")).unwrap();
        let copied = Command::new("cp").arg(BINARY).arg(self.path().join("bin")).status().unwrap();
        let given =
            Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(self.path()).status();
        assert!(copied.success() && given.unwrap().success());
        self.user = Some(NOBODY);
        self
    }

    pub fn binary(&self) -> PathBuf {
        match self.user {
            Some(_) => self.path().join("bin/checkrein"),
            None => BINARY.into(),
        }
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// Runs with `stdin` on standard input.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(self.binary());
        command.args(arguments);
        self.finish(command, stdin)
    }

    /// Runs with variables that are set for this once.
    pub fn run_env(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = self.command(self.binary());
        command.args(arguments).envs(environment.iter().copied());
        self.finish(command, "")
    }

    /// Runs with a token in the environment.
    pub fn run_as(&self, token: &str, arguments: &[&str]) -> Ran {
        self.run_env(&[("CHECKREIN_TOKEN", token)], arguments)
    }

    /// Makes a token; its secret.
    pub fn token(&self, role: &str, name: &str) -> String {
        let made = self.run(&["token", "create", "--role", role, "--name", name]);
        assert_eq!(made.code, 0, "{}", made.seen());
        made.stdout.trim().to_owned()
    }

    /// Runs a line as a shell would, with the binary on the path.
    pub fn shell(&self, line: &str) -> Ran {
        let mut command = self.command("sh");
        command.args(["-c", line]);
        self.finish(command, "")
    }

    /// A command in this directory, with the binary on the path.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let binaries: PathBuf = self.binary().parent().unwrap().to_owned();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binaries.display());
        command.env_clear().env("PATH", path).env("HOME", self.path().join("home"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.path());
        command
    }

    fn finish(&self, mut command: Command, stdin: &str) -> Ran {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads no input may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ran {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }
}

impl Ran {
    /// Everything a person sees, for a snapshot.
    pub fn seen(&self) -> String {
        let mut seen = String::new();
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                seen.push_str(&format!("-- {name}\n{text}"));
            }
        }
        seen.push_str(&format!("-- exit {}", self.code));
        seen
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.seen()))
    }
}
