//! Where a job stands, as far as it matters to whoever asks about it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::job::ReviewOf;
use crate::run::{HoldKind, Run, RunStatus};

/// The stages of a conversation. Each has its tools and the questions people begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is no job yet: its description is written.
    BeforeJob,
    /// A plan waits for a verdict.
    PlanReview,
    /// Its agent works, or will.
    MidExecution,
    /// Work waits for a verdict.
    ResultReview,
    /// The job is over, however it ended.
    PostMortem,
}

/// What reads the files of a job.
const WORKSPACE: [&str; 7] = [
    "read_workspace_file",
    "list_workspace_files",
    "search_workspace",
    "vector_search",
    "git_log",
    "git_diff",
    "git_show",
];
/// What reads how the job went.
const JOB: [&str; 5] = ["get_job", "get_job_progress", "get_todos", "get_graph_changes", "get_chat_history"];
/// What reads what its agent did and asked.
const DEBUG: [&str; 3] = ["get_audit_trail", "search_audit", "get_llm_request"];

impl Stage {
    pub const ALL: [Stage; 5] =
        [Stage::BeforeJob, Stage::PlanReview, Stage::MidExecution, Stage::ResultReview, Stage::PostMortem];

    /// The stage a job is at.
    pub fn of(run: &Run) -> Stage {
        match run.state.status {
            RunStatus::Held if is_review(run) => match run.job().map(|(_, job)| job.phase.review_of()) {
                Some(ReviewOf::InitialStrategic | ReviewOf::Strategic) => Stage::PlanReview,
                _ => Stage::ResultReview,
            },
            RunStatus::Completed
            | RunStatus::CompletedWithWarnings
            | RunStatus::Failed
            | RunStatus::Cancelled => Stage::PostMortem,
            RunStatus::Created | RunStatus::Running | RunStatus::Held | RunStatus::Paused => {
                Stage::MidExecution
            }
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Stage::BeforeJob => "before_job",
            Stage::PlanReview => "plan_review",
            Stage::MidExecution => "mid_execution",
            Stage::ResultReview => "result_review",
            Stage::PostMortem => "post_mortem",
        }
    }

    /// What a person is told the companion is good for now.
    pub const fn about(self) -> &'static str {
        match self {
            Stage::BeforeJob => "helps to write what the job is to be",
            Stage::PlanReview => "explains the plan, and drafts changes and comments",
            Stage::MidExecution => "says how it is going",
            Stage::ResultReview => "explains the work, and drafts changes and comments",
            Stage::PostMortem => "finds out what happened",
        }
    }

    /// Questions to begin with.
    pub const fn questions(self) -> &'static [&'static str] {
        match self {
            Stage::BeforeJob => &[
                "Help me describe what I want done.",
                "What does an agent have to know that I have not said?",
                "How closely should this job be watched?",
            ],
            Stage::PlanReview => &[
                "What does the plan say, in short?",
                "What does the plan leave out that the description asks for?",
                "Which step is most likely to go wrong?",
            ],
            Stage::MidExecution => &[
                "How is it going?",
                "Which phase is it in, and what is left?",
                "Did anything go wrong so far?",
            ],
            Stage::ResultReview => &[
                "What changed, and why?",
                "Does the work do what the plan said?",
                "What should I look at most closely?",
            ],
            Stage::PostMortem => &[
                "How did it end, and why?",
                "Where did it go wrong?",
                "What would you do differently next time?",
            ],
        }
    }

    /// The tools a model has at this stage, in the order they are listed.
    pub fn tools(self) -> Vec<&'static str> {
        let read = || WORKSPACE.iter().chain(&JOB).chain(&DEBUG).copied();
        match self {
            Stage::BeforeJob => vec!["update_instructions", "web_search"],
            Stage::PlanReview | Stage::ResultReview => {
                read().chain(["write_file", "edit_file", "draft_comment"]).collect()
            }
            // What is said to an agent that works is said by a person as well.
            Stage::MidExecution => read().chain(["draft_comment"]).collect(),
            Stage::PostMortem => read().collect(),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn is_review(run: &Run) -> bool {
    run.state.hold.as_ref().is_some_and(|hold| hold.kind == HoldKind::Review)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stage_has_a_tool_that_decides() {
        for stage in Stage::ALL {
            for tool in stage.tools() {
                for word in ["approve", "reject", "verdict", "request_changes", "merge", "apply", "post"] {
                    assert!(!tool.contains(word), "{stage}: {tool}");
                }
            }
            assert!(!stage.questions().is_empty());
        }
    }

    #[test]
    fn files_are_proposed_only_while_a_person_reviews() {
        let writes = |stage: Stage| stage.tools().contains(&"write_file");
        let found: Vec<Stage> = Stage::ALL.into_iter().filter(|stage| writes(*stage)).collect();
        assert_eq!(found, [Stage::PlanReview, Stage::ResultReview]);
    }

    #[test]
    fn names_are_those_on_the_wire() {
        for stage in Stage::ALL {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.name());
        }
    }
}
