//! The one list of tools, one file each. None of them decides a checkpoint, and none is called like a verdict.

mod check_checkpoint;
mod companion;
mod decide_policy;
mod explain_policy;
mod flame_activate;
mod flame_add_artifact;
mod flame_add_decision;
mod flame_auto_suggest;
mod flame_autonomy_config;
mod flame_autonomy_stats;
mod flame_context_preview;
mod flame_feedback;
mod flame_get_state;
mod flame_invalidate;
mod flame_plan;
mod flame_plan_children;
mod flame_pop;
mod flame_push;
mod flame_should_pop;
mod flame_should_push;
mod flame_status;
mod flame_summarize;
mod flame_tree;
mod flame_undo;
mod get_comments;
mod get_review;
mod inbox;
mod job_complete;
mod list_checkpoints;
mod list_runs;
mod next_phase_todos;
mod reply_comment;
mod report_response;
mod request_checkpoint;
mod request_replan;
mod show_checkpoint;
mod show_report;
mod show_run;
mod todo_complete;
mod todo_list;

use checkrein_engine::EngineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::Tool;
use crate::error::{Kind, Problem};

pub fn all() -> Vec<Tool> {
    let mut tools = vec![
        request_checkpoint::tool(),
        check_checkpoint::tool(),
        todo_list::tool(),
        todo_complete::tool(),
        next_phase_todos::tool(),
        request_replan::tool(),
        job_complete::tool(),
        report_response::tool(),
        get_review::tool(),
        get_comments::tool(),
        reply_comment::tool(),
        inbox::tool(),
        list_checkpoints::tool(),
        show_checkpoint::tool(),
        list_runs::tool(),
        show_run::tool(),
        show_report::tool(),
        explain_policy::tool(),
        decide_policy::tool(),
        flame_autonomy_config::tool(),
        flame_should_push::tool(),
        flame_should_pop::tool(),
        flame_auto_suggest::tool(),
        flame_autonomy_stats::tool(),
        flame_push::tool(),
        flame_pop::tool(),
        flame_plan::tool(),
        flame_plan_children::tool(),
        flame_activate::tool(),
        flame_invalidate::tool(),
        flame_summarize::tool(),
        flame_add_artifact::tool(),
        flame_add_decision::tool(),
        flame_undo::tool(),
        flame_feedback::tool(),
        flame_tree::tool(),
        flame_status::tool(),
        flame_context_preview::tool(),
        flame_get_state::tool(),
    ];
    tools.extend(companion::tools());
    tools
}

/// No arguments beside the session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Which job is meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfJob {
    /// The job; inside its attempt it is known
    job: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ById {
    /// Its id
    id: String,
}

/// What an attempt has handed in by now.
#[derive(Debug, Serialize)]
struct HandedIn {
    result: Value,
    /// What to do now
    next: String,
}

/// What to do about something that is not there.
fn not_found(error: EngineError, hint: &str) -> Problem {
    let problem = Problem::from(error);
    match problem.kind {
        Kind::NotFound => problem.hint(hint),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::Needs;

    /// Agents are started with these names.
    #[test]
    fn an_attempt_has_the_tools_its_agent_is_told_of() {
        let without = |needs: &[Needs]| -> Vec<_> {
            super::all()
                .into_iter()
                .filter(|tool| !needs.contains(&tool.needs))
                .map(|tool| tool.name)
                .collect()
        };
        assert_eq!(without(&[Needs::Store]), checkrein_agent::TOOLS_OF_JOB);
        assert_eq!(without(&[Needs::Store, Needs::Phase]), checkrein_agent::TOOLS_OF_STEP);
    }
}
