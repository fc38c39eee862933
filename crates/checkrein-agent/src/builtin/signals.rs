//! What the agent hands in: the same signals as those of `checkrein mcp`, enforced by the same rules.

use checkrein_core::config::env;
use checkrein_core::run::job::HandIn;
use serde_json::{Map, Value, json};

use super::tools::{Offer, offer};
use crate::result;

/// Those of a job's attempt.
pub fn of_jobs() -> Vec<Offer> {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let mut offers = vec![
        offer(
            "todo_list",
            "What this phase is for: its kind, its todos, and what is handed in so far.",
            json!({}),
            &[],
        ),
        offer(
            "todo_complete",
            "Mark a todo of this phase as done, right after you did and committed it.",
            json!({"id": {"type": "integer"}}),
            &["id"],
        ),
        offer(
            "next_phase_todos",
            "In a strategic phase: hand in the todos of the next phase of work, instead of those handed in before.",
            json!({"todos": texts}),
            &["todos"],
        ),
        offer(
            "request_replan",
            "In a tactical phase: end it early because its todos do not lead there, and have it planned again.",
            json!({"reason": {"type": "string"}}),
            &["reason"],
        ),
        offer(
            "job_complete",
            "In a strategic phase: say that nothing is left to do. It is what you say, not an approval.",
            json!({"summary": {"type": "string"}}),
            &[],
        ),
        offer("get_review", "What a person wants changed in this phase.", json!({}), &[]),
        offer(
            "get_comments",
            "What people wrote about the work of this phase; those that are open want a reply.",
            json!({}),
            &[],
        ),
        offer(
            "reply_comment",
            "Answer a comment on your work: what you did, or why not.",
            json!({"id": {"type": "string"}, "text": {"type": "string"}}),
            &["id", "text"],
        ),
    ];
    offers.push(report());
    offers
}

pub fn report() -> Offer {
    let findings = json!({"type": "array", "items": {"type": "object", "properties": {
        "text": {"type": "string"}, "severity": {"type": "string", "enum": ["low", "medium", "high"]},
        "category": {"type": "string"}}}});
    let fields = json!({
        "status": {"type": "string", "enum": ["success", "warning", "failure", "blocked"]},
        "summary": {"type": "string"}, "warnings": findings, "errors": findings,
        "deliverables": {"type": "array", "items": {"type": "string"}},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1}, "milestone": {"type": "string"},
    });
    let about = "Say how it went before you end: what you did, every warning and error, how sure you are. Say it honestly: the policy decides by it.";
    offer("report_response", about, fields, &[])
}

pub fn call(name: &str, input: &Value) -> Option<Result<String, String>> {
    let text = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let done = |piece: HandIn| result::hand_in(piece).map(|_| "noted".to_owned());
    Some(match name {
        "todo_list" => result::brief().map(|brief| {
            let so_far = result::named(env::RESULT).map(|path| result::so_far(&path)).unwrap_or_default();
            json!({"phase": brief.phase, "todos": brief.todos, "handed_in": so_far}).to_string()
        }),
        "todo_complete" => match input.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()) {
            Some(id) => done(HandIn::TodoDone(id)),
            None => Err("`id` is the number of a todo".to_owned()),
        },
        "next_phase_todos" => match input.get("todos").and_then(Value::as_array) {
            Some(todos) => done(HandIn::NextTodos(todos.clone())),
            None => Err("`todos` is a list of texts".to_owned()),
        },
        "request_replan" => done(HandIn::Replan(text("reason"))),
        "job_complete" => {
            let summary = Some(text("summary")).filter(|summary| !summary.trim().is_empty());
            done(HandIn::JobComplete { summary })
        }
        "get_review" => result::brief().map(|brief| {
            json!({"review": brief.review, "human_commits": brief.human_commits, "human_diff": brief.human_diff}).to_string()
        }),
        "get_comments" => result::brief().map(|brief| json!({"comments": brief.comments}).to_string()),
        "reply_comment" => done(HandIn::Reply { comment: text("id"), text: text("text") }),
        "report_response" => respond(input),
        _ => return None,
    })
}

fn respond(input: &Value) -> Result<String, String> {
    let Some(fields) = input.as_object() else { return Err("the arguments are an object".to_owned()) };
    let mut fields: Map<String, Value> = fields.clone();
    let status = fields.remove("status").and_then(|status| status.as_str().map(str::to_owned));
    if result::named(env::RESULT).is_some() {
        let outcome = match status.as_deref() {
            Some("failure") => Some("failed"),
            Some("blocked") => Some("blocked"),
            Some("success" | "warning") => Some("phase_done"),
            _ => None,
        };
        if let Some(outcome) = outcome {
            fields.insert("outcome".to_owned(), outcome.into());
        }
        return result::hand_in(HandIn::Response(fields)).map(|_| "noted".to_owned());
    }
    if let Some(status) = status {
        let status = if status == "blocked" { "failure".to_owned() } else { status };
        fields.insert("status".to_owned(), status.into());
    }
    if let Some(summary) = fields.remove("summary") {
        fields.insert("message".to_owned(), summary);
    }
    result::respond(fields).map(|()| "noted".to_owned())
}

/// Whether a strategic attempt has left something to do, or said that nothing is.
pub fn planned(own_files: &str) -> bool {
    let Some(path) = result::named(env::RESULT) else { return true };
    let so_far = result::so_far(&path);
    let todos = so_far.get("next_todos").and_then(Value::as_array).is_some_and(|todos| !todos.is_empty());
    let todos_file = match own_files {
        "" | "." => "todos.yaml".to_owned(),
        own => format!("{own}/todos.yaml"),
    };
    let outcome = so_far.get("outcome").and_then(Value::as_str).unwrap_or_default();
    todos
        || matches!(outcome, "job_complete" | "blocked" | "failed")
        || std::path::Path::new(&todos_file).exists()
}
