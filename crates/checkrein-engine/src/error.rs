//! Why a method did not do what it was asked.

use std::path::PathBuf;

use checkrein_core::checkpoint::{BadId, CheckpointId, Refusal};
use checkrein_core::companion::ProposalStatus;
use checkrein_core::deliverable::DeliverableError;
use checkrein_core::document::Problems;
use checkrein_core::frame::FrameError;
use checkrein_core::omission::{Omission, listed};
use checkrein_core::principal::Role;
use checkrein_core::run::RunId;
use checkrein_core::run::job::HandInRefusal;
use checkrein_core::shown::count;
use checkrein_forge::ForgeError;
use checkrein_store::{StoreError, TransferError, Version};

use crate::authority::{Act, least};
use crate::process::ProcessError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no checkpoint `{0}`")]
    NoCheckpoint(String),
    #[error("there is no run `{0}`")]
    NoRun(String),
    #[error("`{text}` may be run `{one}` or `{other}`")]
    SeveralRuns { text: String, one: RunId, other: RunId },
    #[error("run `{0}` is driven by another process")]
    RunBusy(RunId),
    #[error("the files of run `{id}` are on `{host}`, and it goes on there alone")]
    RunElsewhere { id: RunId, host: String },
    /// Whoever drove it stops: it belongs to somebody else now, or may.
    #[error("run `{0}` is not ours any more: another worker goes on with it, or may")]
    LeaseLost(RunId),
    /// Somebody else changed it first; load it again.
    #[error("the run was changed meanwhile")]
    RunMoved,
    /// A change was decided on another version than the one that is there.
    #[error("`{id}` is at version {}, not at {}", actual.0, expected.0)]
    OtherVersion { id: String, expected: Version, actual: Version },
    #[error(transparent)]
    RunRefused(#[from] checkrein_core::run::Refusal),
    #[error("`{}` cannot be used: {reason}", path.display())]
    RunFiles { path: PathBuf, reason: String },
    #[error("run `{0}` is not a job")]
    NotAJob(RunId),
    #[error("`{0}` is no review of a job")]
    NotAReview(String),
    #[error("review `{0}` is over")]
    ReviewOver(CheckpointId),
    #[error("job `{0}` has no branch that is open")]
    NoOpenBranch(RunId),
    #[error("two documents are called `{0}`")]
    SameDocument(String),
    #[error("job `{0}` waits for no review")]
    NothingToReview(RunId),
    #[error("run `{0}` waits for no answer")]
    NothingToAnswer(RunId),
    #[error("no attempt of job `{0}` is under way")]
    NoAttempt(RunId),
    #[error(transparent)]
    HandIn(#[from] HandInRefusal),
    #[error("job `{0}` has no repository yet")]
    NoRepository(RunId),
    /// Its store was copied without what lies beside it.
    #[error("the files of job `{id}` are not beside this store: there is no `{}`", path.display())]
    NoJobFiles { id: RunId, path: std::path::PathBuf },
    /// Nothing to search, and why.
    #[error("the workspace of job `{id}` is not indexed: {why}")]
    NoIndex { id: RunId, why: &'static str },
    #[error("there is no commit `{revision}` in job `{id}`")]
    NoRevision { id: RunId, revision: String },
    #[error("there is no request `{0}` to a model")]
    NoRequest(String),
    /// What a model called a tool with.
    #[error("{tool} cannot be called so: {reason}")]
    Arguments { tool: &'static str, reason: String },
    #[error("texts cannot be compared by meaning: {0}")]
    Embedding(String),
    #[error("there is no conversation `{0}`")]
    NoChat(String),
    #[error("conversation `{chat}` has led to job `{run}` already")]
    ChatHasJob { chat: String, run: RunId },
    #[error("another answer is being written")]
    ChatBusy,
    #[error("there is no proposal `{0}`")]
    NoProposal(String),
    #[error("proposal `{id}` was {} by {by}", status.name())]
    ProposalOver { id: String, status: ProposalStatus, by: String },
    #[error("`{path}` is not what it was when `{id}` was proposed; nothing was changed")]
    StaleProposal { id: String, path: String },
    #[error("the text to replace is {times} times in `{path}`, not once")]
    NotOnce { path: String, times: usize },
    #[error("there are {0} proposals in this conversation, which is as many as there may be")]
    TooManyProposals(usize),
    #[error("no agent is configured for the job")]
    NoAgent,
    #[error("the sandbox cannot be used: {0}")]
    NoSandbox(String),
    #[error("jobs over HTTP run in the sandbox, and it cannot be used here: {0}")]
    SandboxMissing(String),
    #[error("jobs over HTTP run in the sandbox here, and this one asks for none")]
    SandboxRequired,
    #[error("`{0}` cannot be the name of a document")]
    BadDocument(String),
    #[error("expert `{name}` is not in the commit the job starts from; `{}` is not committed", path.display())]
    UncommittedExpert { name: String, path: PathBuf },
    #[error("the verdict on review `{0}` does not say what was looked at")]
    Unnamed(CheckpointId),
    #[error("changes were requested of {} in `{id}`: an approval needs to be confirmed", files.join(", "))]
    MarkedFiles { id: CheckpointId, files: Vec<String> },
    #[error(
        "parts of `{id}` are not shown, and an approval of them needs to be confirmed: {}",
        listed(omissions)
    )]
    NotShown { id: CheckpointId, omissions: Vec<Omission> },
    #[error("`{id}` cannot be approved: {problem}")]
    BadTodos { id: CheckpointId, problem: String },
    #[error("`{0}` was decided before; the comments were not added")]
    CommentsTooLate(CheckpointId),
    #[error("`{id}` cannot be merged{}: there is a conflict in {}", into(base.as_deref()), files.join(", "))]
    OpenConflict { id: CheckpointId, files: Vec<String>, base: Option<String> },
    #[error("`{file}` did not change in review `{id}`")]
    NotInReview { id: CheckpointId, file: String },
    #[error("`{file}` has {}, there is no line {line}", count(*lines as u64, "line"))]
    NoLine { file: String, line: u32, lines: usize },
    #[error("the branch of `{id}` is at {head} now, not at {looked_at}; nothing was changed")]
    HeadMoved { id: CheckpointId, looked_at: String, head: String },
    #[error("there is no file `{path}` in {commit}")]
    NoFile { path: String, commit: String },
    #[error("`{0}` is there already")]
    FileThere(String),
    #[error("`{0}` is a link or another repository, not a text")]
    NotAText(String),
    #[error("`{0}` is no level of a job")]
    NoLevel(String),
    #[error("`{what}` is longer than {} KiB", bytes_max >> 10)]
    TooLong { what: String, bytes_max: usize },
    #[error("review `{0}` has no conflict")]
    NoConflict(String),
    #[error("the conflict is not settled in {}", .0.join(", "))]
    Unsettled(Vec<String>),
    #[error("review `{id}` has no round {round}")]
    NoRound { id: CheckpointId, round: u32 },
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("the definition of the run cannot be used: {0}")]
    Definition(String),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("`{0}` begins with the id of a run, whose own checkpoints are called so")]
    ReservedId(CheckpointId),
    #[error("there is no expert `{0}`")]
    NoExpert(String),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("there is no session `{0}`")]
    NoFrameSession(String),
    #[error("there is no session of frames yet")]
    NoFrames,
    #[error("`{0}` cannot be the name of a session")]
    BadFrameSession(String),
    #[error("there is no token `{0}`")]
    NoToken(String),
    #[error("there is no session `{0}`")]
    NoSession(String),
    #[error("nobody knows the session")]
    UnknownSession,
    #[error("the session is not valid: {0}")]
    BadSession(&'static str),
    #[error("there is no webhook `{0}`")]
    NoWebhook(String),
    #[error("there is no delivery `{0}` to this webhook")]
    NoDelivery(String),
    /// Its address is secret, so only the reason is told.
    #[error("the webhook cannot be used: {0}")]
    BadWebhook(String),
    /// The same, and it would do if private addresses were allowed.
    #[error("the webhook cannot be used: {0}")]
    PrivateWebhook(String),
    #[error("checkpoint `{0}` was submitted before with other content")]
    OtherContent(CheckpointId),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{name} may not {}: that takes the role {}, not {role}", act.name(), least(*act))]
    Forbidden { name: String, role: Role, act: Act },
    #[error("{name} did not make checkpoint `{id}`: who made it withdraws it, or an admin")]
    OthersCheckpoint { id: CheckpointId, name: String },
    #[error("the token speaks for worker `{own}`, not for `{other}`")]
    OtherWorker { own: String, other: String },
    #[error("the token in CHECKREIN_TOKEN is not valid: {0}")]
    BadToken(&'static str),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("type `{kind}` {wrong}")]
    BadType { kind: String, wrong: &'static str },
    #[error("`{0}` has characters that do not show")]
    Invisible(&'static str),
    #[error("`{0}` is the name of the automatic reviewer")]
    ReservedName(String),
    #[error(transparent)]
    BadId(#[from] BadId),
    #[error(transparent)]
    Deliverable(#[from] DeliverableError),
    #[error(transparent)]
    Settings(#[from] Problems),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

/// What something cannot be merged into, where that is another branch than usual.
fn into(base: Option<&str>) -> String {
    base.map(|base| format!(" into branch `{base}`")).unwrap_or_default()
}
