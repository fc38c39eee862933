//! A throw-away directory with a repository and a store of its own, in which the real commands are run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::config::env;
use serde_json::Value;
use tempfile::TempDir;

use super::{Waiting, tell};
use crate::driving::interrupts;
use crate::error::CliError;
use crate::output::{harmless, quoted};

const AGENT: &str = include_str!("agent.sh");
const GREETER: &str = "#!/bin/sh\necho \"Hello, world!\"\n";
/// Its own, so that nothing above it has a say.
const SETTINGS: &str = "autonomy: { job: partial }\n";
const README: &str = "# Greeter\n\n`greet.sh` says hello.\n";

pub struct Stage {
    directory: TempDir,
    /// The demo has no way round the guard rail: like any program it needs a reviewer's token.
    token: String,
    /// Held while a command runs: an interrupt takes the directory away when nobody uses it.
    busy: Arc<Mutex<()>>,
}

impl Stage {
    pub fn new(reviewer: String) -> Result<Stage, CliError> {
        let owner_only = fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix("checkrein-demo-").permissions(owner_only).tempdir();
        let directory = directory.map_err(no_stage)?;
        let mut stage = Stage { directory, token: String::new(), busy: Arc::default() };
        stage.clear_up_when_interrupted()?;
        stage.write("agent.sh", AGENT)?;
        stage.write("greeter/greet.sh", GREETER)?;
        stage.write("greeter/README.md", README)?;
        stage.write("greeter/checkrein.yaml", SETTINGS)?;
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "."],
            &["commit", "--quiet", "--message", "A greeter"],
        ] {
            stage.run_git(arguments)?;
        }
        let token = stage.run(&["token", "create", "--role", "reviewer", "--name", &reviewer])?;
        stage.token = token.trim().to_owned();
        Ok(stage)
    }

    /// Whoever ends the demo early leaves nothing behind. No command begins after that.
    fn clear_up_when_interrupted(&self) -> Result<(), CliError> {
        let (directory, busy) = (self.directory.path().to_owned(), Arc::clone(&self.busy));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_stage)?;
        let mut stop = runtime.block_on(async { interrupts() })?;
        std::thread::spawn(move || {
            if runtime.block_on(stop.wait_for(|wanted| *wanted)).is_ok() {
                let _alone = busy.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = checkrein_forge::remove_all(&directory);
                std::process::exit(130);
            }
        });
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(no_stage)?;
        fs::write(&path, text).map_err(no_stage)?;
        let runs = if name.ends_with(".sh") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(runs)).map_err(no_stage)
    }

    fn repository(&self) -> PathBuf {
        self.directory.path().join("greeter")
    }

    /// A command in the repository that sees no settings but those of the demo.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::SETTINGS {
            command.env_remove(name);
        }
        let place = self.directory.path();
        command.env("XDG_CONFIG_HOME", place).env(env::STORE, place.join("store.db"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.current_dir(self.repository()).stdin(Stdio::null());
        command
    }

    /// Runs `checkrein` with the reviewer's token; what it printed.
    fn run(&self, arguments: &[&str]) -> Result<String, CliError> {
        self.output(arguments).map(|(printed, _)| printed)
    }

    /// The same with what it said on the side. To hold is no failure.
    fn output(&self, arguments: &[&str]) -> Result<(String, String), CliError> {
        let this = std::env::current_exe().map_err(no_stage)?;
        let mut command = self.command(this);
        command.args(arguments);
        if !self.token.is_empty() {
            command.env(env::TOKEN, &self.token);
        }
        let ran = self.finished(&mut command)?;
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        match ran.status.code() {
            Some(0 | 3) => Ok((String::from_utf8_lossy(&ran.stdout).into_owned(), said)),
            _ => Err(CliError::failed(format!("`checkrein {}` failed: {said}", arguments.join(" ")))),
        }
    }

    fn finished(&self, command: &mut Command) -> Result<std::process::Output, CliError> {
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        command.output().map_err(no_stage)
    }

    /// Runs it for everybody to see.
    pub fn show(&self, arguments: &[&str]) -> Result<(), CliError> {
        typed(arguments);
        indent(&self.run(arguments)?);
        Ok(())
    }

    /// Hands the terminal to a command until it ends.
    pub fn open(&self, arguments: &[&str]) -> Result<(), CliError> {
        typed(arguments);
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let mut command = self.command(std::env::current_exe().map_err(no_stage)?);
        command.args(arguments).env(env::TOKEN, &self.token).stdin(Stdio::inherit());
        command.status().map(drop).map_err(no_stage)
    }

    /// What became of a checkpoint.
    pub fn status(&self, id: &str) -> Result<CheckpointStatus, CliError> {
        let shown: Value = serde_json::from_str(&self.run(&["checkpoint", "show", id, "--json"])?)
            .map_err(|error| CliError::failed(format!("checkpoint `{id}` cannot be read: {error}")))?;
        let status = shown.get("status").cloned().unwrap_or_default();
        Ok(serde_json::from_value(status).unwrap_or(CheckpointStatus::Pending))
    }

    /// Lets a job go on for everybody to see; its report comes at the end.
    pub fn drive(&self, arguments: &[&str]) -> Result<(), CliError> {
        typed(arguments);
        indent(&progress(&self.output(arguments)?.1));
        Ok(())
    }

    /// Runs git in the repository for everybody to see.
    pub fn git(&self, arguments: &[&str]) -> Result<(), CliError> {
        tell(format_args!("  $ git {}\n", arguments.join(" ")));
        indent(&self.run_git(arguments)?);
        Ok(())
    }

    fn run_git(&self, arguments: &[&str]) -> Result<String, CliError> {
        let mut command = self.command("git");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "demo")
                .env(format!("GIT_{role}_EMAIL"), "demo@localhost");
        }
        let ran = self.finished(command.args(arguments))?;
        if ran.status.success() {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        Err(CliError::failed(format!("`git {}` failed: {said}", arguments.join(" "))))
    }

    /// What waits for the person now.
    pub fn review(&self) -> Result<Option<Waiting>, CliError> {
        let inbox = self.run(&["inbox", "--json"])?;
        Ok(Waiting::of(&serde_json::from_str(&inbox).unwrap_or_default()))
    }

    pub fn lost(&self) -> CliError {
        CliError::failed("the demo's job does not wait where it should")
    }
}

fn typed(arguments: &[&str]) {
    let words: Vec<String> =
        arguments.iter().filter(|word| **word != "--plain").map(|word| quoted(word)).collect();
    tell(format_args!("  $ checkrein {}\n", harmless(&words.join(" "))));
}

/// Of what a command says on the side, what is worth hearing: what was done.
fn progress(said: &str) -> String {
    let worth = |line: &&str| {
        line.starts_with("phase ") || line.starts_with("  ok") || line.starts_with("note: the result")
    };
    said.lines().filter(worth).flat_map(|line| [line, "\n"]).collect()
}

fn indent(text: &str) {
    for line in text.lines() {
        tell(if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    }
}

pub fn no_stage(error: std::io::Error) -> CliError {
    CliError::failed(format!("the demo cannot run: {error}"))
        .hint("it needs `sh`, `git` and a temporary directory it may write to")
}
