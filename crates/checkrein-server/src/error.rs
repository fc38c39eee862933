//! What a refusal looks like to a program: problem details (RFC 9457) with types that never change.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use checkrein_core::checkpoint::Refusal;
use checkrein_core::deliverable::DeliverableError;
use checkrein_core::document::{Gravity, Problems};
use checkrein_core::frame::{ContextError, FrameError, TreeError};
use checkrein_core::omission::Omission;
use checkrein_engine::{DefinitionError, EngineError};
use checkrein_forge::ForgeError;
use checkrein_store::{StoreError, TransferError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Content, Sent};
use crate::wire::checkpoint::BadVerdict;

/// The kinds of refusal. Each is a stable URI, a status and a title; a new one is a new row in [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Malformed,
    Unauthenticated,
    Forbidden,
    CrossSite,
    NotFound,
    MethodNotAllowed,
    TooSlow,
    OtherContent,
    AlreadyDecided,
    StaleDigest,
    SeveralRuns,
    RunBusy,
    ChatBusy,
    RunRefused,
    FrameRefused,
    MarkedFiles,
    NotShown,
    StaleHead,
    DigestNeeded,
    KeyInUse,
    PreconditionFailed,
    TooLarge,
    UnsupportedMediaType,
    Misdirected,
    Invalid,
    KeyReused,
    RateLimited,
    Internal,
    Unavailable,
}

#[rustfmt::skip]
pub static KINDS: &[(Kind, u16, &str, &str)] = &[
    (Kind::Malformed,            400, "malformed",              "the request cannot be read"),
    (Kind::Unauthenticated,      401, "unauthenticated",        "it takes a valid token"),
    (Kind::Forbidden,            403, "forbidden",              "the role does not allow it"),
    (Kind::CrossSite,            403, "cross-site",             "the request comes from another site"),
    (Kind::NotFound,             404, "not-found",              "there is no such thing"),
    (Kind::MethodNotAllowed,     405, "method-not-allowed",     "this cannot be done here"),
    (Kind::TooSlow,              408, "too-slow",               "the request took too long to arrive"),
    (Kind::OtherContent,         409, "other-content",          "the id stands for other content"),
    (Kind::AlreadyDecided,       409, "already-decided",        "it was decided otherwise"),
    (Kind::StaleDigest,          409, "stale-digest",           "the verdict is about something else"),
    (Kind::SeveralRuns,          409, "several-runs",           "the text names more than one run"),
    (Kind::RunBusy,              409, "run-busy",               "another process drives the run"),
    (Kind::ChatBusy,             409, "chat-busy",              "another answer is being written"),
    (Kind::RunRefused,           409, "run-refused",            "the run cannot do that now"),
    (Kind::FrameRefused,         409, "frame-refused",          "the frames cannot do that now"),
    (Kind::MarkedFiles,          409, "files-marked",           "changes were requested of files, and the approval is not confirmed"),
    (Kind::NotShown,             409, "not-shown",              "parts of it are not shown, and the approval is not confirmed"),
    (Kind::StaleHead,            409, "stale-head",             "the branch has moved since it was looked at"),
    (Kind::DigestNeeded,         409, "digest-needed",          "a verdict on a review names what was looked at"),
    (Kind::KeyInUse,             409, "idempotency-key-in-use", "the first request with this key is not answered yet"),
    (Kind::PreconditionFailed,   412, "precondition-failed",    "it is at another version"),
    (Kind::TooLarge,             413, "too-large",              "the request is too large"),
    (Kind::UnsupportedMediaType, 415, "unsupported-media-type", "the body is not JSON"),
    (Kind::Misdirected,          421, "misdirected",            "this server does not answer under that name"),
    (Kind::Invalid,              422, "invalid",                "the request asks for what cannot be"),
    (Kind::KeyReused,            422, "idempotency-key-reused", "the key was used for another request"),
    (Kind::RateLimited,          429, "rate-limited",           "too many requests"),
    (Kind::Internal,             500, "internal",               "the server failed"),
    (Kind::Unavailable,          503, "unavailable",            "the store cannot be used now"),
];

/// What the name of every kind begins with.
const URI: &str = "urn:checkrein:problem:";

impl Kind {
    fn row(self) -> (u16, &'static str, &'static str) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or((500, "internal", "the server failed"), |(_, status, slug, title)| (*status, slug, title))
    }

    /// The kind that a problem's `type` names, where this version knows it.
    pub fn of_uri(uri: &str) -> Option<Kind> {
        let slug = uri.strip_prefix(URI)?;
        KINDS.iter().find(|(.., known, _)| *known == slug).map(|(kind, ..)| *kind)
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn uri(self) -> String {
        format!("{URI}{}", self.row().1)
    }

    pub fn title(self) -> &'static str {
        self.row().2
    }
}

/// Why a request was not done.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
    pub hint: Option<String>,
    pub errors: Vec<Fault>,
    /// Seconds after which it is worth trying again.
    pub retry_after: Option<u64>,
}

/// A problem as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemJson {
    /// Says what kind of problem it is, for ever
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in words
    pub title: String,
    pub status: u16,
    /// What happened, to which value
    pub detail: String,
    /// What to do next
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Each mistake in the request, or each part that is not shown
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
}

/// One mistake in a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Where in the request, such as `autonomy.limits`, or in what is asked about, such as `src/a.rs:3`
    pub path: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        Problem { kind, detail: detail.into(), hint: None, errors: Vec::new(), retry_after: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Mistakes in a text that came with the request.
    pub fn of_text(kind: Kind, problems: &Problems) -> Problem {
        let errors: Vec<Fault> = problems
            .iter()
            .filter(|problem| problem.gravity == Gravity::Error)
            .map(|problem| Fault {
                path: problem.path.clone(),
                message: problem.message.clone(),
                hint: problem.hint.clone(),
            })
            .collect();
        let words = |fault: &Fault| match fault.path.as_str() {
            "" => fault.message.clone(),
            path => format!("{path}: {}", fault.message),
        };
        let detail: Vec<String> = errors.iter().map(words).collect();
        Problem { errors, ..Problem::new(kind, detail.join("; ")) }
    }

    pub fn json(&self) -> ProblemJson {
        ProblemJson {
            kind: self.kind.uri(),
            title: self.kind.title().to_owned(),
            status: self.kind.status().as_u16(),
            detail: self.detail.clone(),
            hint: self.hint.clone(),
            errors: self.errors.clone(),
        }
    }
}

impl Problem {
    pub fn sent(&self) -> Sent {
        let bytes = serde_json::to_vec(&self.json()).unwrap_or_default();
        let content = Content::Whole { media_type: "application/problem+json".to_owned(), bytes };
        let mut headers = Vec::new();
        if self.kind == Kind::Unauthenticated {
            let how = HeaderValue::from_static("Bearer realm=\"checkrein\"");
            headers.push((header::WWW_AUTHENTICATE, how));
        }
        if let Some(seconds) = self.retry_after {
            headers.push((header::RETRY_AFTER, seconds.into()));
        }
        Sent { status: self.kind.status(), headers, content, about: None }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.sent().into_response()
    }
}

impl From<&EngineError> for Kind {
    fn from(error: &EngineError) -> Kind {
        match error {
            EngineError::NoCheckpoint(_)
            | EngineError::NoRun(_)
            | EngineError::NoExpert(_)
            | EngineError::NoToken(_)
            | EngineError::NoSession(_)
            | EngineError::NoWebhook(_)
            | EngineError::NoDelivery(_)
            | EngineError::NoFile { .. }
            | EngineError::NoChat(_)
            | EngineError::NoProposal(_)
            | EngineError::NoRound { .. }
            | EngineError::NoRevision { .. }
            | EngineError::NoRequest(_)
            | EngineError::NoFrameSession(_)
            | EngineError::NoFrames
            | EngineError::Frame(
                FrameError::NoSuggestion(_)
                | FrameError::Tree(TreeError::Unknown(_))
                | FrameError::Context(ContextError::Unknown(_)),
            ) => Kind::NotFound,
            EngineError::BadFrameSession(_)
            | EngineError::Frame(
                FrameError::Empty(_)
                | FrameError::TooLong { .. }
                | FrameError::UnknownHeuristic { .. }
                | FrameError::BadConfig(_)
                | FrameError::Context(_),
            ) => Kind::Invalid,
            EngineError::Frame(_) => Kind::FrameRefused,
            EngineError::SeveralRuns { .. } => Kind::SeveralRuns,
            EngineError::RunBusy(_)
            | EngineError::RunMoved
            | EngineError::RunElsewhere { .. }
            | EngineError::LeaseLost(_) => Kind::RunBusy,
            EngineError::OtherVersion { .. } => Kind::PreconditionFailed,
            EngineError::RunRefused(_)
            | EngineError::NothingToReview(_)
            | EngineError::NothingToAnswer(_)
            | EngineError::NoRepository(_)
            | EngineError::NoJobFiles { .. }
            | EngineError::NoIndex { .. }
            | EngineError::NoAttempt(_)
            | EngineError::HandIn(_)
            | EngineError::NoOpenBranch(_)
            | EngineError::NoConflict(_)
            | EngineError::FileThere(_)
            | EngineError::OpenConflict { .. } => Kind::RunRefused,
            EngineError::ReviewOver(_) => Kind::AlreadyDecided,
            EngineError::MarkedFiles { .. } => Kind::MarkedFiles,
            EngineError::NotShown { .. } => Kind::NotShown,
            EngineError::Unnamed(_) => Kind::DigestNeeded,
            EngineError::HeadMoved { .. } => Kind::StaleHead,
            EngineError::Forge(ForgeError::Moved { .. }) => Kind::RunBusy,
            EngineError::OtherContent(_) => Kind::OtherContent,
            EngineError::Refused(Refusal::Decided { .. }) | EngineError::CommentsTooLate(_) => {
                Kind::AlreadyDecided
            }
            EngineError::Refused(Refusal::Stale { .. } | Refusal::Moved { .. }) => Kind::StaleDigest,
            EngineError::Refused(Refusal::BelongsToRun { .. }) => Kind::RunRefused,
            EngineError::Refused(Refusal::NothingToChange { .. })
            | EngineError::BadTodos { .. }
            | EngineError::BadId(_)
            | EngineError::ReservedId(_)
            | EngineError::Empty(_)
            | EngineError::BadType { .. }
            | EngineError::Invisible(_)
            | EngineError::ReservedName(_)
            | EngineError::Deliverable(_)
            | EngineError::Settings(_)
            | EngineError::NotAJob(_)
            | EngineError::NotAReview(_)
            | EngineError::NotInReview { .. }
            | EngineError::NoLine { .. }
            | EngineError::NotAText(_)
            | EngineError::Arguments { .. }
            | EngineError::NotOnce { .. }
            | EngineError::TooManyProposals(_)
            | EngineError::NoLevel(_)
            | EngineError::TooLong { .. }
            | EngineError::Unsettled(_)
            | EngineError::NoAgent
            | EngineError::NoSandbox(_)
            | EngineError::SandboxMissing(_)
            | EngineError::SandboxRequired
            | EngineError::BadDocument(_)
            | EngineError::BadWebhook(_)
            | EngineError::PrivateWebhook(_)
            | EngineError::SameDocument(_)
            | EngineError::UncommittedExpert { .. }
            | EngineError::Forge(
                ForgeError::NotARepository { .. }
                | ForgeError::NoCommit { .. }
                | ForgeError::BadName { .. }
                | ForgeError::BadPath { .. }
                | ForgeError::NotAnOid { .. },
            )
            | EngineError::Transfer(TransferError::BadLine { .. } | TransferError::Read(_)) => Kind::Invalid,
            EngineError::Transfer(TransferError::Conflict { .. }) => Kind::OtherContent,
            EngineError::ChatBusy => Kind::ChatBusy,
            EngineError::ProposalOver { .. } | EngineError::ChatHasJob { .. } => Kind::AlreadyDecided,
            EngineError::StaleProposal { .. } => Kind::StaleHead,
            EngineError::Forbidden { .. }
            | EngineError::OthersCheckpoint { .. }
            | EngineError::OtherWorker { .. } => Kind::Forbidden,
            EngineError::BadToken(_) | EngineError::BadSession(_) | EngineError::UnknownSession => {
                Kind::Unauthenticated
            }
            EngineError::Store(
                StoreError::Busy
                | StoreError::DiskFull
                | StoreError::ReadOnly
                | StoreError::Closed
                | StoreError::Unreachable { .. },
            ) => Kind::Unavailable,
            EngineError::Store(_)
            | EngineError::Forge(_)
            | EngineError::Transfer(_)
            | EngineError::RunFiles { .. }
            | EngineError::Definition(_)
            | EngineError::Embedding(_)
            | EngineError::Process(_) => Kind::Internal,
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Problem {
        let kind = Kind::from(&error);
        match error {
            EngineError::Settings(problems) => Problem::of_text(kind, &problems),
            // What the command line calls a message.
            EngineError::Empty("message") => {
                Problem::new(kind, "`reason` is empty").hint("say what should change")
            }
            // The variable the command line reads it from says nothing here.
            EngineError::BadToken(why) => Problem::new(kind, format!("the token is not valid: {why}")),
            EngineError::BadSession(_) | EngineError::UnknownSession => {
                Problem::new(kind, error.to_string()).hint("sign in again")
            }
            EngineError::Store(error) => {
                let hint = error.hint();
                let problem = Problem::new(kind, error.to_string());
                Problem { hint: hint.map(str::to_owned), ..problem }
            }
            EngineError::Deliverable(error) => Problem::from(error),
            EngineError::HandIn(refusal) => {
                let hint = refusal.hint();
                let problem = Problem::new(kind, refusal.to_string());
                Problem { hint: hint.map(str::to_owned), ..problem }
            }
            EngineError::PrivateWebhook(_) => Problem::new(kind, error.to_string())
                .hint("send `\"allow_private\": true` if it is meant to be there"),
            EngineError::NoFrames => Problem::new(kind, error.to_string()).hint("a push begins one"),
            EngineError::BadFrameSession(_) => Problem::new(kind, error.to_string())
                .hint("it takes letters, digits, `.`, `_`, `@` and `-`, 128 at most"),
            EngineError::NoAgent => Problem::new(kind, error.to_string()).hint(
                "an administrator names one: `agent` here, or in the server's checkrein.yaml or expert",
            ),
            EngineError::SandboxMissing(_) => Problem::new(kind, error.to_string()).hint(
                "on the server: allow what a sandbox needs (docs/sandbox.md), or write `sandbox: off` into the settings of the user it runs as",
            ),
            EngineError::SandboxRequired => Problem::new(kind, error.to_string()).hint(
                "leave `sandbox` out, or write `sandbox: off` into the settings of the user the server runs as",
            ),
            EngineError::SameDocument(_) => {
                Problem::new(kind, error.to_string()).hint("the agent finds them by name; rename one")
            }
            EngineError::Refused(Refusal::BelongsToRun { ref run, .. }) => {
                let hint = cancel_hint(run);
                Problem::new(kind, error.to_string()).hint(hint)
            }
            EngineError::BadTodos { .. } => Problem::new(kind, error.to_string())
                .hint("mend it on the branch of the review, or request changes"),
            EngineError::MarkedFiles { .. } => {
                Problem::new(kind, error.to_string()).hint("`\"confirmed\": true` approves all the same")
            }
            EngineError::NotShown { ref omissions, .. } => {
                let fault = |omission: &Omission| Fault {
                    path: omission.place(),
                    message: omission.text.clone(),
                    hint: None,
                };
                let errors = omissions.iter().map(fault).collect();
                let problem = Problem::new(kind, error.to_string());
                Problem { errors, ..problem }.hint(
                    "look at it elsewhere, with git for one; `\"confirmed\": true` approves it as it is",
                )
            }
            EngineError::HeadMoved { .. } => Problem::new(kind, error.to_string())
                .hint("look at the review again, and send it with the new `head`"),
            EngineError::StaleProposal { .. } => {
                Problem::new(kind, error.to_string()).hint("ask the companion to propose it anew")
            }
            EngineError::ChatBusy => Problem::new(kind, error.to_string()).hint("ask again when it is there"),
            EngineError::Unsettled(_) => Problem::new(kind, error.to_string())
                .hint("every file of the conflict needs a text without the markers, or a side"),
            EngineError::Unnamed(_) => Problem::new(kind, error.to_string())
                .hint("send the `digest` of the checkpoint you looked at"),
            other => Problem::new(kind, other.to_string()),
        }
    }
}

impl From<DeliverableError> for Problem {
    fn from(error: DeliverableError) -> Problem {
        let hint = error.hint().map(str::to_owned);
        Problem { hint, ..Problem::new(Kind::Invalid, error.to_string()) }
    }
}

/// How a hold is taken back that is a run's.
pub fn cancel_hint(run: &str) -> String {
    format!("`checkrein cancel {run}` cancels the run and takes it back")
}

impl From<DefinitionError> for Problem {
    fn from(error: DefinitionError) -> Problem {
        match error {
            DefinitionError::Problems(problems) => Problem::of_text(Kind::Invalid, &problems),
            DefinitionError::Refused { message, hint } => {
                Problem { hint, ..Problem::new(Kind::Invalid, message) }
            }
        }
    }
}

impl From<BadVerdict> for Problem {
    fn from(bad: BadVerdict) -> Problem {
        Problem::new(Kind::Invalid, bad.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        EngineError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_uri_of_its_own() {
        let mut slugs: Vec<&str> = KINDS.iter().map(|(.., slug, _)| *slug).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), KINDS.len());
        for (kind, status, ..) in KINDS {
            assert_eq!(kind.status().as_u16(), *status, "{kind:?}");
            assert_eq!(Kind::of_uri(&kind.uri()), Some(*kind));
        }
    }
}
