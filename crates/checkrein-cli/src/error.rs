//! What a failure looks like to a person and to a script: words, a hint, an exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use checkrein_core::checkpoint::Refusal;
use checkrein_core::document::{Gravity, Problem, Problems};
use checkrein_core::frame::{ContextError, FrameError, TreeError};
use checkrein_core::run::{CommandKind, Refusal as RunRefusal};
use checkrein_engine::{DefinitionError, EngineError};
use checkrein_forge::ForgeError;
use checkrein_server::error::{Kind, cancel_hint};
use checkrein_store::{StoreError, TransferError};

use crate::output::harmless;

/// Nobody mends more at once.
const PROBLEMS_SHOWN_MAX: usize = 20;

/// The exit codes people script against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// Waits for a person.
    Held = 3,
    /// By the policy or a limit.
    Stopped = 4,
    Rejected = 5,
    /// Not found, or in conflict with what is there.
    Conflict = 6,
    /// Set aside; it can be resumed.
    Paused = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub struct CliError {
    exit: Exit,
    body: Body,
    /// It may be otherwise in a moment.
    unreachable: bool,
    /// What an engine or a server refused is the same kind of refusal.
    kind: Option<Kind>,
}

#[derive(Debug)]
enum Body {
    Message { message: String, hint: Option<String> },
    Problems(Problems),
}

impl CliError {
    /// Wrong arguments or a wrong file.
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::with(Exit::Usage, message)
    }

    pub fn with(exit: Exit, message: impl Into<String>) -> CliError {
        let body = Body::Message { message: message.into(), hint: None };
        CliError { exit, body, unreachable: false, kind: None }
    }

    /// A server that does not answer.
    pub fn unreachable(message: impl Into<String>) -> CliError {
        CliError { unreachable: true, ..CliError::failed(message) }
    }

    pub const fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    /// Of a refusal that programs are told as well.
    pub fn of_kind(self, kind: Option<Kind>) -> CliError {
        CliError { kind, ..self }
    }

    pub const fn kind(&self) -> Option<Kind> {
        self.kind
    }

    pub fn failed(message: impl Into<String>) -> CliError {
        CliError::with(Exit::Failed, message)
    }

    /// Against what is there.
    pub fn conflict(message: impl Into<String>) -> CliError {
        CliError::with(Exit::Conflict, message)
    }

    pub fn hint(mut self, text: impl Into<String>) -> CliError {
        if let Body::Message { hint, .. } = &mut self.body {
            *hint = Some(text.into());
        }
        self
    }

    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// What went wrong, without label and hint.
    pub fn words(&self) -> String {
        match &self.body {
            Body::Message { message, .. } => message.clone(),
            Body::Problems(problems) => {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The same with its hint, harmless to a terminal.
    pub fn advice(&self) -> String {
        let hint = match &self.body {
            Body::Message { hint: Some(hint), .. } => format!("\n{hint}"),
            _ => String::new(),
        };
        harmless(&format!("{}{hint}", self.words()))
    }

    /// Says it on stderr.
    pub fn report(self) -> ExitCode {
        let text = match &self.body {
            Body::Message { message, hint } => {
                let mut text = message.clone();
                if let Some(hint) = hint {
                    text.push_str(&format!("\n  hint: {hint}"));
                }
                label("error", AnsiColor::Red, &text)
            }
            Body::Problems(problems) => {
                let shown = problems.iter().take(PROBLEMS_SHOWN_MAX);
                let mut text: String = shown
                    .map(|problem| match problem.gravity {
                        Gravity::Error => label("error", AnsiColor::Red, &problem.to_string()),
                        Gravity::Warning | Gravity::Notice => {
                            label("warning", AnsiColor::Yellow, &problem.to_string())
                        }
                    })
                    .collect();
                if let Some(more) =
                    problems.iter().count().checked_sub(PROBLEMS_SHOWN_MAX).filter(|more| *more > 0)
                {
                    text.push_str(&format!("… and {more} more\n"));
                }
                text
            }
        };
        say(&text);
        self.exit.into()
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> CliError {
        let exit = match &error {
            EngineError::NoCheckpoint(_)
            | EngineError::NoRun(_)
            | EngineError::SeveralRuns { .. }
            | EngineError::RunBusy(_)
            | EngineError::RunElsewhere { .. }
            | EngineError::LeaseLost(_)
            | EngineError::RunMoved
            | EngineError::OtherVersion { .. }
            | EngineError::Unnamed(_)
            | EngineError::RunRefused(_)
            | EngineError::NoToken(_)
            | EngineError::NoSession(_)
            | EngineError::NoWebhook(_)
            | EngineError::NoDelivery(_)
            | EngineError::NoFrameSession(_)
            | EngineError::NoFrames
            | EngineError::NoExpert(_)
            | EngineError::OtherContent(_)
            | EngineError::NothingToReview(_)
            | EngineError::NothingToAnswer(_)
            | EngineError::ReviewOver(_)
            | EngineError::NoOpenBranch(_)
            | EngineError::NoRepository(_)
            | EngineError::NoJobFiles { .. }
            | EngineError::NoIndex { .. }
            | EngineError::NoAttempt(_)
            | EngineError::HandIn(_)
            | EngineError::MarkedFiles { .. }
            | EngineError::NotShown { .. }
            | EngineError::CommentsTooLate(_)
            | EngineError::OpenConflict { .. }
            | EngineError::NotInReview { .. }
            | EngineError::NoLine { .. }
            | EngineError::HeadMoved { .. }
            | EngineError::NoFile { .. }
            | EngineError::NoChat(_)
            | EngineError::ChatBusy
            | EngineError::ChatHasJob { .. }
            | EngineError::NoProposal(_)
            | EngineError::ProposalOver { .. }
            | EngineError::StaleProposal { .. }
            | EngineError::FileThere(_)
            | EngineError::NoConflict(_)
            | EngineError::NoRound { .. }
            | EngineError::NoRevision { .. }
            | EngineError::NoRequest(_)
            | EngineError::Refused(
                Refusal::Decided { .. }
                | Refusal::Stale { .. }
                | Refusal::Moved { .. }
                | Refusal::BelongsToRun { .. },
            )
            | EngineError::Store(StoreError::Exists { .. })
            | EngineError::Transfer(TransferError::Conflict { .. } | TransferError::NotEmpty { .. }) => {
                Exit::Conflict
            }
            EngineError::Refused(Refusal::NothingToChange { .. })
            | EngineError::BadTodos { .. }
            | EngineError::NotAJob(_)
            | EngineError::NotAReview(_)
            | EngineError::NoAgent
            | EngineError::NoSandbox(_)
            | EngineError::SandboxMissing(_)
            | EngineError::SandboxRequired
            | EngineError::NotAText(_)
            | EngineError::Arguments { .. }
            | EngineError::NotOnce { .. }
            | EngineError::TooManyProposals(_)
            | EngineError::NoLevel(_)
            | EngineError::TooLong { .. }
            | EngineError::Unsettled(_)
            | EngineError::BadDocument(_)
            | EngineError::BadWebhook(_)
            | EngineError::PrivateWebhook(_)
            | EngineError::SameDocument(_)
            | EngineError::UncommittedExpert { .. }
            | EngineError::Forge(ForgeError::NotARepository { .. } | ForgeError::NoCommit { .. })
            | EngineError::BadId(_)
            | EngineError::ReservedId(_)
            | EngineError::Empty(_)
            | EngineError::BadType { .. }
            | EngineError::Invisible(_)
            | EngineError::ReservedName(_)
            | EngineError::Deliverable(_) => Exit::Usage,
            EngineError::BadFrameSession(_)
            | EngineError::Frame(
                FrameError::Empty(_)
                | FrameError::TooLong { .. }
                | FrameError::UnknownHeuristic { .. }
                | FrameError::BadConfig(_)
                | FrameError::Context(ContextError::BudgetTooSmall { .. }),
            ) => Exit::Usage,
            EngineError::Frame(_) => Exit::Conflict,
            EngineError::Settings(_)
            | EngineError::Store(
                StoreError::NotAStore { .. }
                | StoreError::BadBackup { .. }
                | StoreError::Address { .. }
                | StoreError::OtherBackend { .. },
            )
            | EngineError::Transfer(TransferError::BadLine { .. } | TransferError::Read(_)) => Exit::Usage,
            EngineError::Forbidden { .. }
            | EngineError::OthersCheckpoint { .. }
            | EngineError::OtherWorker { .. }
            | EngineError::RunFiles { .. }
            | EngineError::Definition(_)
            | EngineError::Process(_)
            | EngineError::Embedding(_)
            | EngineError::Forge(_)
            | EngineError::BadToken(_)
            | EngineError::BadSession(_)
            | EngineError::UnknownSession
            | EngineError::Store(_)
            | EngineError::Transfer(_) => Exit::Failed,
        };
        let hint = match &error {
            EngineError::NoCheckpoint(_) => Some("`checkrein checkpoint list` shows all there are"),
            EngineError::NoRun(_) | EngineError::SeveralRuns { .. } => Some("`checkrein runs` lists them"),
            EngineError::RunBusy(_) => Some("wait for it, or stop that process first"),
            EngineError::RunElsewhere { .. } => {
                Some("do it on that machine; `checkrein workers` shows who goes on with runs there")
            }
            EngineError::LeaseLost(_) => Some("`checkrein show RUN` says who has it now"),
            EngineError::RunRefused(RunRefusal::NotNow { status, command, .. })
                if status.is_over() && *command == CommandKind::Resume =>
            {
                Some("`checkrein rerun RUN` does the same work again")
            }
            EngineError::PrivateWebhook(_) => Some("say `--allow-private` if it is meant to be there"),
            EngineError::NoFrameSession(_) => Some("`checkrein frame sessions --all` lists them"),
            EngineError::NoFrames => Some("`checkrein frame push GOAL` begins one"),
            EngineError::BadFrameSession(_) => {
                Some("it takes letters, digits, `.`, `_`, `@` and `-`, and begins with a letter or digit")
            }
            EngineError::Frame(FrameError::Tree(TreeError::NoCurrent)) => Some(
                "`checkrein frame push GOAL` begins a frame, `checkrein frame activate FRAME` goes to one",
            ),
            EngineError::Frame(FrameError::Tree(TreeError::Unknown(_))) => {
                Some("`checkrein frame tree` shows all there are")
            }
            EngineError::Frame(FrameError::NoSuggestion(_)) => {
                Some("`checkrein frame suggestions --history` shows all there were")
            }
            EngineError::NoWebhook(_) => Some("`checkrein webhook list` shows all there are"),
            EngineError::OtherContent(_) => {
                Some("an id stands for one content; take another id for this one")
            }
            EngineError::Refused(Refusal::Moved { .. }) => {
                Some("look at it with `checkrein review ID`, then approve with `--digest` and what it shows")
            }
            EngineError::NoAgent => Some(
                "name one with `--agent claude`, or as `agent:` in checkrein.yaml; a script will do: `--agent cmd:./agent.sh`",
            ),
            EngineError::NoIndex { .. } => Some(
                "a job is indexed when it is held for a review; `checkrein log RUN` and `checkrein report RUN` show more",
            ),
            EngineError::NoProposal(_) | EngineError::ProposalOver { .. } => {
                Some("`checkrein chat RUN --history` shows all there are")
            }
            EngineError::StaleProposal { .. } => Some("ask the companion to propose it anew"),
            EngineError::ChatBusy => Some("ask again when it is there"),
            EngineError::ChatHasJob { .. } => Some("`checkrein chat RUN` goes on with it"),
            EngineError::NotAReview(_) => Some("`checkrein checkpoint show ID` shows any checkpoint"),
            EngineError::ReviewOver(_) => Some("`checkrein inbox` shows what waits"),
            EngineError::Deliverable(error) => error.hint(),
            EngineError::SameDocument(_) => Some("the agent finds them by name; rename one"),
            EngineError::BadTodos { .. } => Some(
                "mend it on the branch of the review, then approve; or ask for it with `checkrein request-changes ID -m TEXT`",
            ),
            EngineError::MarkedFiles { .. } => Some("`--confirm` approves all the same"),
            EngineError::NotShown { .. } => {
                Some("look at it elsewhere, with git for one; `--confirm` approves it as it is")
            }
            EngineError::CommentsTooLate(_) => {
                Some("`checkrein review ID --comment …` adds them for the next round")
            }
            EngineError::OpenConflict { base: Some(_), .. } => Some(
                "merge that branch into the branch `checkrein review ID` names, commit, and approve again; or let the agent \
                 do it: `checkrein request-changes ID -m 'settle the conflict'`",
            ),
            EngineError::OpenConflict { .. } => Some(
                "push a commit that settles it to the branch `checkrein review ID` names, or let the agent do it: \
                 `checkrein request-changes ID -m 'settle the conflict'`",
            ),
            EngineError::NotInReview { .. } | EngineError::NoLine { .. } => Some(
                "`checkrein review ID --stat` lists what changed; a comment without a file is about the whole",
            ),
            EngineError::UncommittedExpert { .. } => {
                Some("commit it, or move it to the experts in your own settings")
            }
            EngineError::Forge(ForgeError::NoCommit { .. }) => Some("make a first commit, then give the job"),
            EngineError::Refused(Refusal::Stale { .. }) => {
                Some("look at it again with `checkrein checkpoint show ID`")
            }
            EngineError::Store(error) | EngineError::Transfer(TransferError::Store(error)) => error.hint(),
            EngineError::Transfer(TransferError::NotEmpty { .. }) => {
                Some("name a database or a file of its own for it")
            }
            EngineError::Transfer(TransferError::UnknownTable { .. }) => Some("use a newer Checkrein"),
            EngineError::Transfer(TransferError::Conflict { .. }) => {
                Some("import it into a store of its own with `--store FILE`")
            }
            _ => None,
        };
        let kind = Some(Kind::from(&error));
        let cancel = match &error {
            EngineError::Refused(Refusal::BelongsToRun { run, .. }) => Some(cancel_hint(run)),
            _ => None,
        };
        let body = match error {
            EngineError::Settings(problems) => Body::Problems(problems),
            other => {
                Body::Message { message: other.to_string(), hint: cancel.or_else(|| hint.map(str::to_owned)) }
            }
        };
        CliError { exit, body, unreachable: false, kind }
    }
}

impl From<DefinitionError> for CliError {
    fn from(error: DefinitionError) -> CliError {
        match error {
            DefinitionError::Problems(problems) => problems.into(),
            DefinitionError::Refused { message, hint: None } => CliError::usage(message),
            DefinitionError::Refused { message, hint: Some(hint) } => CliError::usage(message).hint(hint),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        EngineError::from(error).into()
    }
}

impl From<Problems> for CliError {
    fn from(problems: Problems) -> CliError {
        CliError { exit: Exit::Usage, body: Body::Problems(problems), unreachable: false, kind: None }
    }
}

/// For a command that collects what is wrong instead of giving up at once.
impl From<CliError> for Problems {
    fn from(error: CliError) -> Problems {
        match error.body {
            Body::Problems(problems) => problems,
            Body::Message { message, hint } => {
                let mut problem = Problem::error("", message);
                problem.hint = hint;
                problem.into()
            }
        }
    }
}

/// Says on stderr what is worth knowing but stops nothing.
pub fn warn(text: impl fmt::Display) {
    say(&label("warning", AnsiColor::Yellow, &text.to_string()));
}

/// Says on stderr what to do next.
pub fn note(text: impl fmt::Display) {
    say(&label("note", AnsiColor::Cyan, &text.to_string()));
}

fn label(word: &str, color: AnsiColor, text: &str) -> String {
    let style = Style::new().bold().fg_color(Some(color.into()));
    format!("{style}{word}{style:#}: {}\n", harmless(text))
}

/// A closed stderr is nobody's error.
pub fn say(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
