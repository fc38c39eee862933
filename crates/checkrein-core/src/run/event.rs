//! What happens to a run. Folding its events gives the run again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RunStatus;
use super::job::{Comment, Conflict, FileChange, FileMark, ForgeNews, Landed, Spent, Todo, Work};
use crate::decision::{LimitsReached, Outcome, Rule, StepOrHook};
use crate::deliverable::Digest;
use crate::plan::Timing;
use crate::policy::Policy;
use crate::response::Response;

/// Stored for ever: a field is only ever added, with a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    RunCreated {
        workflow: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work_id: Option<String>,
        /// Of the plan and policy it keeps.
        definition: Digest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rerun_of: Option<String>,
        by: String,
    },
    RunStarted,
    /// Disabled, or not among those that were asked for.
    PhaseSkipped {
        phase: String,
        status: PhaseStatus,
    },
    PhaseStarted {
        phase: String,
    },
    AttemptStarted {
        task: String,
        attempt: u32,
        /// Counts every start of an attempt in this run; its processes carry it.
        start: u64,
    },
    /// One response, captured before anything is decided about it (W11).
    AttemptFinished(Box<Attempt>),
    /// Ended without a response: its engine died, or a person paused or cancelled.
    AttemptInterrupted {
        task: String,
        attempt: u32,
        why: Interruption,
    },
    /// What an attempt used that ended without a result.
    AttemptSpent {
        task: String,
        start: u64,
        used: Spent,
    },
    /// What the policy made of a response or boundary, where that is more than going on.
    Decided(Box<Decided>),
    CheckedIn {
        #[serde(flatten)]
        boundary: At,
        /// Since the check-in before.
        warnings: u64,
        errors: u64,
    },
    RunHeld {
        /// Counted from 1; with the run's id it names the checkpoint.
        hold: u32,
        kind: HoldKind,
        #[serde(flatten)]
        boundary: At,
        /// How often it was asked.
        round: u32,
        reason: String,
        /// Whether the question is also a check-in.
        #[serde(default)]
        check_in: bool,
    },
    HoldReleased {
        hold: u32,
        by: String,
    },
    HoldRejected {
        hold: u32,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Errors of a phase send the run back to an earlier one.
    LoopedBack {
        from: String,
        /// The task with the errors.
        task: String,
        to: String,
        retry: u32,
        because: String,
    },
    /// What an attempt of a job left on its branch.
    PhaseWorked(Box<Work>),
    /// A strategic phase is made again.
    PhaseRepeated {
        phase: String,
        because: String,
    },
    /// A phase of a job goes on without a review.
    PhasePassed {
        phase: String,
        /// The number of the record that none was required, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<u32>,
    },
    /// A person wants a phase changed: its next round, or another branch.
    ChangesRequested {
        hold: u32,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default)]
        start_over: bool,
    },
    /// Somebody pushed to the branch under review.
    ReviewMoved {
        hold: u32,
        head: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileChange>,
        files_total: usize,
        /// What is to be done next, where they changed that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_todos: Option<Vec<Todo>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
        /// Files whose approval ended with it, since they are not what was approved.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lapsed: Vec<String>,
    },
    /// A phase could not be merged.
    LandingConflicted {
        phase: String,
        conflict: Conflict,
    },
    /// A phase is part of the job's main branch.
    PhaseLanded {
        phase: String,
        #[serde(flatten)]
        landed: Landed,
    },
    /// The policy from the next boundary on.
    PolicyChanged {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<String>,
        policy: Box<Policy>,
    },
    Commented(Box<Comment>),
    FileMarked {
        file: String,
        /// None: not marked any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<FileMark>,
        by: String,
        /// The mode and the object of the file that was marked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// A thread of comments is settled, or open again.
    ThreadResolved {
        /// The first comment of it.
        comment: String,
        resolved: bool,
        by: String,
    },
    /// What was learnt of the forge of a job, or done there.
    Forge(Box<ForgeNews>),
    /// What a person did about a proposed fix; it changes nothing in the run.
    RemedyChosen(Box<RemedyChosen>),
    PhaseEnded {
        phase: String,
        status: PhaseStatus,
    },
    RunPaused {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// When it is resumed by itself, if a server or a worker runs then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    RunResumed {
        by: String,
    },
    RunCancelled {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    RunEnded {
        status: RunStatus,
        /// The rule that stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Rule>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The task that is made again on resume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unfinished: Option<String>,
    },
}

impl RunEvent {
    /// Whether the run came to rest with it, so that its log tells how it stood.
    pub const fn is_rest(&self) -> bool {
        matches!(self, RunEvent::RunEnded { .. } | RunEvent::RunPaused { .. } | RunEvent::RunCancelled { .. })
    }

    /// Whether a question that was open is open no more.
    pub const fn answers(&self) -> bool {
        matches!(
            self,
            RunEvent::HoldReleased { .. }
                | RunEvent::HoldRejected { .. }
                | RunEvent::ChangesRequested { .. }
                | RunEvent::RunCancelled { .. }
        )
    }
}

/// A finished attempt with its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub response_id: String,
    pub task: String,
    pub name: String,
    pub phase: String,
    #[serde(rename = "type")]
    pub kind: StepOrHook,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_timing: Option<Timing>,
    pub attempt: u32,
    /// Of several attempts in one response only the last is judged and counted.
    pub judged: bool,
    pub response: Response,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    #[serde(flatten)]
    pub boundary: At,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Rule and text of each.
    pub because: Vec<(Rule, String)>,
    #[serde(default, skip_serializing_if = "LimitsReached::is_empty")]
    pub limits_reached: LimitsReached,
    /// Findings that are counted but not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_warnings: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated_errors: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde wants")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a person did about a proposed fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemedyChosen {
    /// Which of the run's remedies it is; events of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The step that proposed it.
    pub task: String,
    pub title: String,
    pub choice: Choice,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How the command ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What its output is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Its command was run, and succeeded.
    Applied,
    /// Its command was run, and failed.
    Failed,
    /// Its file was opened.
    Opened,
    /// Left for later.
    Skipped,
}

impl Choice {
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Applied => "applied",
            Choice::Failed => "failed",
            Choice::Opened => "opened",
            Choice::Skipped => "skipped",
        }
    }
}

/// The boundary something happened at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    pub at: Boundary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    Step,
    Hook,
    PhaseEntry,
    Phase,
    Complete,
}

/// What a hold asks, and so who or what may answer it (X2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    CheckIn,
    /// Warnings over tolerance that are to be asked about.
    Prompt,
    /// A phase that starts only after an approval.
    Gate,
    /// The work of a job's phase.
    Review,
}

impl HoldKind {
    pub const fn name(self) -> &'static str {
        match self {
            HoldKind::CheckIn => "check_in",
            HoldKind::Prompt => "prompt",
            HoldKind::Gate => "gate",
            HoldKind::Review => "review",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    /// Its engine was gone.
    Lost,
    Paused,
    Cancelled,
}

/// A phase in a report (W15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    Success,
    Warning,
    Failure,
    Skipped,
    #[default]
    NotRun,
}
