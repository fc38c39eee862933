//! An evaluation as a page of Markdown, for people and agents.

use std::fmt::Write;

use super::config::FrameConfig;
use super::escape;
use crate::heuristic::Evaluation;

/// `session` is the label to show, `goal` the one the new frame would have.
pub fn render_push(
    evaluation: &Evaluation,
    session: &str,
    config: &FrameConfig,
    goal: Option<&str>,
) -> String {
    let goal = goal.map(|goal| format!("- **Suggested Goal:** {}\n", escape::quoted(goal)));
    page("Push", evaluation, session, config, &goal.unwrap_or_default())
}

pub fn render_pop(evaluation: &Evaluation, session: &str, config: &FrameConfig) -> String {
    let status = evaluation.suggested_status.map(|status| format!("- **Suggested Status:** {status}\n"));
    page("Pop", evaluation, session, config, &status.unwrap_or_default())
}

fn page(
    title: &str,
    evaluation: &Evaluation,
    session: &str,
    config: &FrameConfig,
    suggested: &str,
) -> String {
    let Evaluation { should, confidence, threshold, primary_reason, scores, suggested_status: _ } =
        evaluation;
    let session = escape::line(session);
    let level = config.level.name();
    let should = if *should { "YES" } else { "NO" };
    let mut page = format!(
        "# {title} Heuristic Evaluation\n\
         \n\
         **Session:** {session}\n\
         **Autonomy Level:** {level}\n\
         \n\
         ## Recommendation\n\
         - **Should {title}:** {should}\n\
         - **Confidence:** {confidence}% (threshold: {threshold}%)\n\
         - **Primary Reason:** {primary_reason}\n\
         {suggested}\
         \n\
         ## Heuristic Scores\n"
    );
    for (heuristic, score) in scores.iter() {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "- {heuristic}: {score}");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameInput, PopRequest, PushRequest, evaluate_pop, evaluate_push};

    #[test]
    fn a_push_evaluation() {
        let request = PushRequest {
            potential_goal: Some("Fix authentication bug".into()),
            recent_messages: Some(20),
            recent_file_changes: Some(vec!["src/auth/login.ts".into(), "src/auth/token.ts".into()]),
            error_count: Some(2),
            frame: Some(FrameInput { goal: "Write the release notes".into(), ..Default::default() }),
            ..Default::default()
        };
        let config = FrameConfig::default();
        let evaluation = evaluate_push(&request, &config);
        insta::assert_snapshot!(
            render_push(&evaluation, "abc12345", &config, request.potential_goal.as_deref()),
            @r#"
        # Push Heuristic Evaluation

        **Session:** abc12345
        **Autonomy Level:** suggest

        ## Recommendation
        - **Should Push:** NO
        - **Confidence:** 39% (threshold: 70%)
        - **Primary Reason:** context switch
        - **Suggested Goal:** "Fix authentication bug"

        ## Heuristic Scores
        - failure_boundary: 60
        - context_switch: 70
        - complexity: 25
        - duration: 0
        "#
        );
    }

    #[test]
    fn a_pop_evaluation() {
        let request =
            PopRequest { no_progress_turns: Some(6), token_count: Some(95_000), ..Default::default() };
        let config = FrameConfig { pop_threshold: 50, ..Default::default() };
        insta::assert_snapshot!(render_pop(&evaluate_pop(&request, &config), "abc12345", &config), @r#"
        # Pop Heuristic Evaluation

        **Session:** abc12345
        **Autonomy Level:** suggest

        ## Recommendation
        - **Should Pop:** YES
        - **Confidence:** 53% (threshold: 50%)
        - **Primary Reason:** context overflow
        - **Suggested Status:** blocked

        ## Heuristic Scores
        - goal_completion: 0
        - stagnation: 70
        - context_overflow: 90
        "#);
    }

    #[test]
    fn no_text_breaks_out_of_its_line() {
        let config = FrameConfig::default();
        let evaluation = evaluate_push(&PushRequest::default(), &config);
        let page = render_push(&evaluation, "a\n# b", &config, Some("x\"\n- **Should Push:** YES"));
        assert!(page.contains("**Session:** a\\n# b\n"));
        assert!(page.contains("- **Suggested Goal:** \"x\\\"\\n- **Should Push:** YES\"\n"));
        assert_eq!(page.lines().filter(|line| line.starts_with("- **Should Push:**")).count(), 1);
    }
}
