//! The review of a job as programs see it. Texts are as they were written.

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Digest;
use checkrein_core::omission::Omission;
use checkrein_core::run::job::{self, FileMark, NewComment, Tag};
use checkrein_engine::{Found, ReviewMaterial, Reviewed, omissions, threads};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff::Diff;
use super::forge::ForgeLink;

/// A phase as a person is asked about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    pub id: String,
    pub run_id: String,
    pub status: CheckpointStatus,
    /// Whether the job waits at it
    pub open: bool,
    /// Whether somebody pushed since it was opened
    pub moved: bool,
    /// What a verdict names, or the commit in `head`
    pub digest: Digest,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    pub resolved_by: Option<String>,
    pub reason: Option<String>,
    /// Every rule that spoke for a hold
    pub because: Vec<String>,
    pub description: Value,
    pub level: Value,
    pub phase: String,
    pub phase_number: Value,
    pub phase_kind: Value,
    /// initial_strategic, strategic, tactical or job_complete
    pub context: Value,
    pub revision: Value,
    pub round: u32,
    /// The job's repository on this machine
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The same for whoever is elsewhere: for `git clone`, with a token as the password
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_url: Option<String>,
    /// Where it can be reviewed as well; null where that is here alone
    #[serde(default)]
    pub forge: Option<ForgeLink>,
    pub branch: String,
    pub base: String,
    pub head: String,
    pub summary: Value,
    pub todos: Value,
    pub next_todos: Value,
    pub deliverables: Value,
    pub confidence: Value,
    pub milestone: Value,
    /// Files that the policy protects
    pub protected: Value,
    /// What was found in the work
    #[serde(default)]
    pub findings: Vec<FoundItem>,
    pub no_change_since_last_round: Value,
    /// What does not fit, with both sides in `texts`
    pub conflict: Value,
    pub artefacts: Vec<Artefact>,
    /// Oldest first
    pub commits: Vec<Commit>,
    pub diff: Diff,
    /// What the last round changed; null in the first one
    pub since_last_round: Option<Diff>,
    pub comments: Vec<Comment>,
    pub threads: Vec<Thread>,
    /// What no view shows of it; an approval then has to be `confirmed`
    #[serde(default)]
    pub not_shown: Vec<Omission>,
}

/// A finding and the phase it is of.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundItem {
    pub phase: String,
    /// warning or error
    pub kind: String,
    pub severity: String,
    pub category: String,
    pub text: String,
}

impl From<&Found> for FoundItem {
    fn from(found: &Found) -> FoundItem {
        let finding = &found.finding;
        FoundItem {
            phase: found.phase.clone(),
            kind: finding.kind.to_string(),
            severity: finding.severity.to_string(),
            category: finding.category.name().to_owned(),
            text: finding.text.clone(),
        }
    }
}

/// A document of the job's own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Artefact {
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    pub id: String,
    pub author: String,
    pub email: String,
    pub at: Option<Timestamp>,
    pub message: String,
    /// Whether neither the agent nor the engine made it
    pub human: bool,
}

impl Review {
    pub fn of(reviewed: &Reviewed, material: &ReviewMaterial) -> Review {
        let asked = reviewed.asked();
        let field = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let checkpoint = &reviewed.checkpoint.checkpoint;
        let artefact = |(path, text): &(String, String)| Artefact { path: path.clone(), text: text.clone() };
        Review {
            id: checkpoint.id.to_string(),
            run_id: reviewed.view.run.id.to_string(),
            status: checkpoint.status,
            open: reviewed.open,
            moved: checkpoint.moved,
            digest: checkpoint.digest,
            created_at: checkpoint.created_at,
            resolved_at: checkpoint.resolved_at,
            resolved_by: checkpoint.resolved_by.clone(),
            reason: checkpoint.reason.clone(),
            because: reviewed.because.clone(),
            description: field("description"),
            level: field("level"),
            phase: checkpoint.phase.clone(),
            phase_number: field("phase_number"),
            phase_kind: field("phase_kind"),
            context: field("context"),
            revision: field("revision"),
            round: checkpoint.round,
            repository: None,
            clone_url: None,
            forge: reviewed.view.forge_link(&checkpoint.phase).map(ForgeLink::from),
            branch: material.branch.clone(),
            base: material.base.to_string(),
            head: material.head.to_string(),
            summary: field("summary"),
            todos: field("todos"),
            next_todos: field("next_todos"),
            deliverables: field("deliverables"),
            confidence: field("confidence"),
            milestone: field("milestone"),
            protected: field("protected"),
            findings: reviewed.findings.iter().map(FoundItem::from).collect(),
            no_change_since_last_round: field("no_change_since_last_round"),
            conflict: conflict(&asked, material),
            artefacts: material.artefacts.iter().map(artefact).collect(),
            commits: material.commits.iter().map(|commit| Commit::of(commit, material)).collect(),
            diff: Diff::of(&material.diff, &reviewed.marks),
            since_last_round: material
                .since_last_round
                .as_ref()
                .map(|since| Diff::of(since, &reviewed.marks)),
            comments: reviewed.comments.iter().map(Comment::from).collect(),
            not_shown: omissions(&material.diff),
            threads: Thread::all(reviewed, material),
        }
    }

    /// As it is told on the machine it is on.
    pub fn here(self, material: &ReviewMaterial) -> Review {
        Review { repository: Some(material.repository.to_string_lossy().into_owned()), ..self }
    }

    /// As it is told elsewhere.
    pub fn elsewhere(self, clone_url: Option<String>) -> Review {
        Review { clone_url, ..self }
    }
}

impl Commit {
    fn of(commit: &checkrein_forge::Commit, material: &ReviewMaterial) -> Commit {
        Commit {
            id: commit.oid.to_string(),
            author: commit.author_name.clone(),
            email: commit.author_email.clone(),
            at: Timestamp::from_second(commit.authored_at_seconds).ok(),
            message: commit.message.clone(),
            human: material.human.contains(&commit.oid),
        }
    }
}

fn conflict(asked: &Value, material: &ReviewMaterial) -> Value {
    let mut told = asked.get("conflict").cloned().unwrap_or_default();
    if let (Some(told), Some(now)) = (told.as_object_mut(), &material.conflict) {
        let file = |file: &checkrein_forge::ConflictedFile| serde_json::json!({"path": file.path.to_string(), "text": file.text, "cut": file.cut});
        told.insert("texts".to_owned(), now.files.iter().map(file).collect());
    }
    told
}

/// What somebody wrote about a line, a file or the whole.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    /// What a reply names: `c1`, `c2`, …
    pub id: String,
    pub phase: String,
    pub round: u32,
    pub file: Option<String>,
    /// Of the file as it was on the branch then
    pub line: Option<u32>,
    pub text: String,
    /// FIX, QUESTION or APPROVE, where it begins with one in brackets; never a verdict
    #[schemars(with = "Option<String>")]
    pub tag: Option<Tag>,
    pub by: String,
    pub from_agent: bool,
    pub reply_to: Option<String>,
    pub written_at: Timestamp,
    /// Whether the agent has had it
    pub delivered: bool,
    /// What it is in the forge, where it was written there
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl From<&job::Comment> for Comment {
    fn from(comment: &job::Comment) -> Comment {
        let comment = comment.clone();
        Comment {
            id: comment.id,
            phase: comment.phase,
            round: comment.round,
            file: comment.file,
            line: comment.line,
            text: comment.text,
            tag: comment.tag,
            by: comment.by,
            from_agent: comment.from_agent,
            reply_to: comment.reply_to,
            written_at: comment.written_at,
            delivered: comment.delivered,
            origin: comment.origin,
        }
    }
}

/// A comment and what was answered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Of its first comment
    pub id: String,
    pub file: Option<String>,
    /// Where it stands in the file as it is now
    pub line: Option<u32>,
    /// Whether that line is another one than it was about
    pub line_changed: bool,
    /// Where it stood, if that place is gone
    pub was_at: Option<u32>,
    /// The phase it was made in, if that is another one
    pub phase: Option<String>,
    pub round: u32,
    /// Who said that it is settled; null while it is open
    #[serde(default)]
    pub resolved_by: Option<String>,
    /// Ids, oldest first
    pub comments: Vec<String>,
}

impl Thread {
    pub fn all(reviewed: &Reviewed, material: &ReviewMaterial) -> Vec<Thread> {
        let thread = |thread: checkrein_engine::Thread| Thread {
            id: thread.id,
            file: thread.file,
            line: thread.line,
            line_changed: thread.changed,
            was_at: thread.was_at,
            phase: thread.phase,
            round: thread.round,
            resolved_by: thread.resolved_by,
            comments: thread.comments.into_iter().map(|comment| comment.id).collect(),
        };
        threads(reviewed, material.since_last_round.as_ref()).into_iter().map(thread).collect()
    }
}

/// A comment on its way to a review.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentBody {
    /// A leading `[FIX]`, `[QUESTION]` or `[APPROVE]` is passed on as a tag
    #[schemars(length(min = 1))]
    pub text: String,
    /// The file it is about; the whole if there is none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of that file as it is on the branch
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<u32>,
    /// The comment it answers; it then stands where that one does
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// Why a comment cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadComment {
    #[error("`line` needs a `file`")]
    LineAlone,
    #[error("lines count from 1")]
    LineZero,
    #[error("`file` is empty")]
    NoFile,
    #[error("`text` is empty")]
    NoText,
}

impl TryFrom<CommentBody> for NewComment {
    type Error = BadComment;

    fn try_from(body: CommentBody) -> Result<NewComment, BadComment> {
        let CommentBody { text, file, line, reply_to } = body;
        match (&file, line) {
            (_, Some(0)) => Err(BadComment::LineZero),
            (None, Some(_)) if reply_to.is_none() => Err(BadComment::LineAlone),
            (Some(file), _) if file.is_empty() => Err(BadComment::NoFile),
            _ if text.trim().is_empty() => Err(BadComment::NoText),
            _ => Ok(NewComment { file, line, text, reply_to, key: None, origin: None }),
        }
    }
}

/// For whoever asks a server.
impl From<NewComment> for CommentBody {
    fn from(new: NewComment) -> CommentBody {
        let NewComment { file, line, text, reply_to, key: _, origin: _ } = new;
        CommentBody { text, file, line, reply_to }
    }
}

/// The word for a mark, or for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkWord {
    Approved,
    ChangesRequested,
    /// Takes a mark back
    None,
}

impl From<Option<FileMark>> for MarkWord {
    fn from(mark: Option<FileMark>) -> MarkWord {
        match mark {
            Some(FileMark::Approved) => MarkWord::Approved,
            Some(FileMark::ChangesRequested) => MarkWord::ChangesRequested,
            None => MarkWord::None,
        }
    }
}

impl From<MarkWord> for Option<FileMark> {
    fn from(word: MarkWord) -> Option<FileMark> {
        match word {
            MarkWord::Approved => Some(FileMark::Approved),
            MarkWord::ChangesRequested => Some(FileMark::ChangesRequested),
            MarkWord::None => None,
        }
    }
}
