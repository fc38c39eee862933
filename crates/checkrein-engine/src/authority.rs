//! Who may do what: one matrix, asked by every method.

use checkrein_core::principal::{Principal, Role};

use crate::EngineError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Read,
    AskForCheckpoint,
    StartRun,
    HandIn,
    KeepFrames,
    SendWorkflow,
    GiveJob,
    ManageRuns,
    GiveVerdict,
    Comment,
    Reply,
    FetchBranches,
    PushToBranches,
    ReadChat,
    Ask,
    Withdraw,
    ManageTokens,
    ManageWebhooks,
    Clear,
    ManageStore,
}

impl Act {
    pub const fn name(self) -> &'static str {
        match self {
            Act::Read => "read checkpoints, runs and events",
            Act::AskForCheckpoint => "ask for a checkpoint",
            Act::StartRun => "start and drive a run",
            Act::HandIn => "hand in what an attempt did",
            Act::KeepFrames => "push, pop and plan frames",
            Act::SendWorkflow => "have the server run a command or use a repository that is sent",
            Act::GiveJob => "give a job to an agent the server knows",
            Act::ManageRuns => "resume or cancel a run that was stopped",
            Act::GiveVerdict => "give a verdict",
            Act::Comment => "comment on a review",
            Act::Reply => "reply to a comment",
            Act::FetchBranches => "fetch the branches of a job",
            Act::PushToBranches => "push to a branch of a job",
            Act::ReadChat => "read what was said about a job",
            Act::Ask => "ask the companion about a job",
            Act::Withdraw => "withdraw checkpoints",
            Act::ManageTokens => "make and revoke tokens",
            Act::ManageWebhooks => "name, test and remove webhooks",
            Act::Clear => "remove all checkpoints",
            Act::ManageStore => "back up, restore, import into, sweep or vacuum the store",
        }
    }
}

/// The least role that may do each act. Nothing an agent is given can give a verdict; and whoever sends
/// a workflow, or names an agent's command or a repository for a job, has the server run and write what
/// they like.
pub static MATRIX: &[(Act, Role)] = &[
    (Act::Read, Role::Viewer),
    (Act::AskForCheckpoint, Role::Agent),
    (Act::StartRun, Role::Agent),
    (Act::HandIn, Role::Agent),
    (Act::KeepFrames, Role::Agent),
    (Act::SendWorkflow, Role::Admin),
    (Act::GiveJob, Role::Reviewer),
    (Act::ManageRuns, Role::Reviewer),
    (Act::GiveVerdict, Role::Reviewer),
    (Act::Comment, Role::Reviewer),
    (Act::Reply, Role::Agent),
    (Act::FetchBranches, Role::Viewer),
    (Act::PushToBranches, Role::Reviewer),
    (Act::ReadChat, Role::Viewer),
    (Act::Ask, Role::Reviewer),
    (Act::Withdraw, Role::Agent),
    (Act::ManageTokens, Role::Admin),
    (Act::ManageWebhooks, Role::Admin),
    (Act::Clear, Role::Admin),
    (Act::ManageStore, Role::Admin),
];

/// What an agent may not do although a viewer may: its engine hands it what it needs of a branch, and what people say
/// about its work among themselves is theirs.
static NOT_AGENTS: &[Act] = &[Act::FetchBranches, Act::ReadChat];

/// The least role that may do an act.
pub fn least(act: Act) -> Role {
    MATRIX.iter().find(|(known, _)| *known == act).map_or(Role::Admin, |(_, least)| *least)
}

pub fn allowed(role: Role, act: Act) -> bool {
    let barred = role == Role::Agent && NOT_AGENTS.contains(&act);
    !barred && MATRIX.iter().any(|(known, least)| *known == act && role >= *least)
}

pub(crate) fn require(principal: &Principal, act: Act) -> Result<(), EngineError> {
    if allowed(principal.role, act) {
        return Ok(());
    }
    Err(EngineError::Forbidden { name: principal.name.clone(), role: principal.role, act })
}
