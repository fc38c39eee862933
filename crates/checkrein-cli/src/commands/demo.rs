use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use checkrein_core::config::env;
use tempfile::TempDir;

use crate::error::{CliError, Exit};
use crate::output::{HEADING, Output, harmless, quoted};
use crate::session;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let a scripted reviewer answer, as happens without a terminal
    #[arg(long)]
    yes: bool,
}

const ID: &str = "release-notes";

/// The settings of the throw-away directory: its worker is watched at every step.
const SETTINGS: &str = "workers:\n  writer: { autonomy: manual }\n";

const DRAFT: &str = "# Release 2.0\n\n- Search is four times faster.\n- The old login is gone.\n";

/// Any program could be the worker; this one is a shell script.
const WORKER: &str = r#"echo "I have written the release notes and may not publish them alone."
checkrein checkpoint create --worker writer --phase publish --file notes.md --id release-notes --wait --timeout 10m
case $? in
  0) cp notes.md published.md && echo "Approved, so I published them." ;;
  5) echo "Not approved, so I published nothing." ;;
  *) echo "No answer, so I published nothing." ;;
esac
"#;

pub fn run(args: &Args) -> Result<Output, CliError> {
    session::outside_attempt("a verdict cannot be given")?;
    let reviewer = if args.yes || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        Reviewer::Scripted
    } else {
        Reviewer::Person
    };
    let stage = Stage::new(reviewer)?;
    tell(format_args!("{HEADING}An agent works, a person decides.{HEADING:#}\n\n"));
    tell("Everything happens in a throw-away directory, and nothing leaves this machine.\n");
    if reviewer == Reviewer::Scripted {
        tell("A scripted reviewer plays the person; in a terminal you are asked yourself.\n");
    }

    heading("1. A worker asks");
    tell("The worker is a shell script, a process of its own. Before it publishes, it runs\n\n");
    tell(format_args!("  {}\n\n", WORKER.lines().nth(1).unwrap_or_default()));
    let mut worker = Worker::start(&stage)?;
    let played = play(&stage, &mut worker, reviewer);
    if played.is_err() {
        worker.release(&stage);
    }
    played
}

/// From the question to the end.
fn play(stage: &Stage, worker: &mut Worker, reviewer: Reviewer) -> Result<Output, CliError> {
    worker.tell_until_held()?;

    heading("2. A person is asked");
    stage.show(&["inbox"])?;
    let verdict = match reviewer {
        Reviewer::Scripted => Answer::Approve,
        Reviewer::Person => ask(stage)?,
    };
    let arguments: &[&str] = match &verdict {
        Answer::Approve => &["approve", ID],
        Answer::Reject(why) => &["reject", ID, "-m", why],
        Answer::None => {
            worker.release(stage);
            tell("\n\nNo answer is never a yes: the question is withdrawn, and nothing was published.\n");
            return Ok(Output::text("").exit(Exit::Held));
        }
    };
    tell("\nThe demo passes the answer on with a reviewer's token, made for its own store:\n\n");
    stage.show(arguments)?;

    heading("3. The worker hears it");
    worker.tell_rest()?;
    let published = stage.path().join("published.md").exists();
    tell(if published { "\nThe notes are published.\n" } else { "\nNothing was published.\n" });

    heading("4. It is remembered");
    stage.show(&["checkpoint", "show", ID])?;
    tell("\nIn your own work: `checkrein checkpoint create --help`, `checkrein inbox`.\n");
    Ok(Output::text(""))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reviewer {
    Person,
    Scripted,
}

enum Answer {
    Approve,
    Reject(String),
    /// Whoever was asked has left.
    None,
}

fn ask(stage: &Stage) -> Result<Answer, CliError> {
    loop {
        tell("\n[a]pprove, [r]eject or [l]ook at it? ");
        let Some(line) = line()? else { return Ok(Answer::None) };
        match line.to_lowercase().as_str() {
            "a" | "approve" => return Ok(Answer::Approve),
            "r" | "reject" => {
                tell("Why? ");
                let Some(why) = self::line()? else { return Ok(Answer::None) };
                let why = if why.is_empty() { "no reason given".to_owned() } else { why };
                return Ok(Answer::Reject(why));
            }
            "l" | "look" => stage.show(&["checkpoint", "show", ID])?,
            _ => tell("Type a, r or l, and Enter.\n"),
        }
    }
}

/// What the person typed; none if they have left.
fn line() -> Result<Option<String>, CliError> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|error| CliError::failed(format!("the terminal cannot be read: {error}")))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// A directory with a store of its own, in which the real commands are run.
struct Stage {
    directory: TempDir,
    /// The demo has no way round the guard rail: like any program it needs a reviewer's token.
    token: String,
}

impl Stage {
    fn new(reviewer: Reviewer) -> Result<Stage, CliError> {
        let owner_only = fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix("checkrein-demo-").permissions(owner_only).tempdir();
        let directory = directory.map_err(no_stage)?;
        let path = directory.path();
        fs::write(path.join("checkrein.yaml"), SETTINGS).map_err(no_stage)?;
        fs::write(path.join("notes.md"), DRAFT).map_err(no_stage)?;
        fs::write(path.join("worker.sh"), WORKER).map_err(no_stage)?;
        fs::create_dir(path.join("bin")).map_err(no_stage)?;
        let this = std::env::current_exe().map_err(no_stage)?;
        std::os::unix::fs::symlink(this, path.join("bin/checkrein")).map_err(no_stage)?;
        let mut stage = Stage { directory, token: String::new() };
        let name = match reviewer {
            Reviewer::Person => session::local_name(),
            Reviewer::Scripted => "scripted-reviewer".to_owned(),
        };
        let token = stage.run(&["token", "create", "--role", "reviewer", "--name", &name])?;
        stage.token = token.trim().to_owned();
        Ok(stage)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A command in this directory that sees no settings but those of the demo.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::SETTINGS {
            command.env_remove(name);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = vec![self.path().join("bin")];
        paths.extend(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap_or(path));
        command.env("XDG_CONFIG_HOME", self.path()).env(env::STORE, self.path().join("store.db"));
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// Runs `checkrein` with the reviewer's token; what it printed.
    fn run(&self, arguments: &[&str]) -> Result<String, CliError> {
        let mut command = self.command(self.path().join("bin/checkrein"));
        command.args(arguments);
        if !self.token.is_empty() {
            command.env(env::TOKEN, &self.token);
        }
        let ran = command.output().map_err(no_stage)?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            return Err(CliError::failed(format!("`checkrein {}` failed: {said}", arguments.join(" "))));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }

    /// Runs it for everybody to see.
    fn show(&self, arguments: &[&str]) -> Result<(), CliError> {
        let typed = arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        tell(format_args!("  $ checkrein {}\n", harmless(&typed)));
        for line in self.run(arguments)?.lines() {
            tell(if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
        }
        Ok(())
    }
}

/// The scripted worker. It is given no token.
struct Worker {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Worker {
    fn start(stage: &Stage) -> Result<Worker, CliError> {
        let mut command = stage.command("sh");
        command.args(["-c", "exec 2>&1; . ./worker.sh"]).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(no_stage)?;
        let Some(says) = child.stdout.take() else { return Err(CliError::failed("the worker says nothing")) };
        Ok(Worker { child, says: BufReader::new(says) })
    }

    /// Passes on what it says until it waits.
    fn tell_until_held(&mut self) -> Result<(), CliError> {
        while let Some(line) = self.line()? {
            tell(indented(&line));
            if line.starts_with("note:") {
                return Ok(());
            }
        }
        let _ = self.child.wait();
        Err(CliError::failed("the worker ended without asking"))
    }

    fn tell_rest(&mut self) -> Result<(), CliError> {
        while let Some(line) = self.line()? {
            tell(indented(&line));
        }
        let _ = self.child.wait();
        Ok(())
    }

    /// Lets it end by withdrawing its question, so that it does not wait for ever.
    fn release(&mut self, stage: &Stage) {
        if stage.run(&["checkpoint", "withdraw", ID]).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }

    fn line(&mut self) -> Result<Option<String>, CliError> {
        let mut line = String::new();
        let read = self.says.read_line(&mut line).map_err(no_stage)?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }
}

fn no_stage(error: std::io::Error) -> CliError {
    CliError::failed(format!("the demo cannot run: {error}"))
        .hint("it needs `sh` and a temporary directory it may write to")
}

fn heading(text: &str) {
    tell(format_args!("\n{HEADING}{text}{HEADING:#}\n\n"));
}

fn indented(line: &str) -> String {
    format!("  worker: {}\n", harmless(line))
}

/// A story is told as it happens; a reader who has left misses nothing.
fn tell(text: impl Display) {
    let mut stdout = anstream::stdout().lock();
    let _ = write!(stdout, "{text}").and_then(|()| stdout.flush());
}
