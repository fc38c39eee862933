//! A directory of its own to run the binary in, with nothing of the outside in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_checkrein");

pub struct Place {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Place {
    pub fn new() -> Place {
        Place { directory: TempDir::new().unwrap(), environment: Vec::new() }
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

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// Runs with `stdin` on standard input.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(BINARY);
        command.args(arguments);
        self.finish(command, stdin)
    }

    /// Runs with variables that are set for this once.
    pub fn run_env(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = self.command(BINARY);
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
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let binaries: PathBuf = Path::new(BINARY).parent().unwrap().to_owned();
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
