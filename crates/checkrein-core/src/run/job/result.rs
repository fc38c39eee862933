//! What an agent says about its attempt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::todo::{Todo, numbered};
use super::{Spent, TodoList};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentOutcome {
    #[default]
    PhaseDone,
    JobComplete,
    /// It cannot go on without a person.
    Blocked,
    Failed,
}

impl AgentOutcome {
    pub const ALL: [AgentOutcome; 4] =
        [AgentOutcome::PhaseDone, AgentOutcome::JobComplete, AgentOutcome::Blocked, AgentOutcome::Failed];

    pub const fn name(self) -> &'static str {
        match self {
            AgentOutcome::PhaseDone => "phase_done",
            AgentOutcome::JobComplete => "job_complete",
            AgentOutcome::Blocked => "blocked",
            AgentOutcome::Failed => "failed",
        }
    }

    fn parse(word: &str) -> Option<AgentOutcome> {
        AgentOutcome::ALL.into_iter().find(|outcome| word.trim().eq_ignore_ascii_case(outcome.name()))
    }
}

/// The part of a result that is not findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    pub outcome: AgentOutcome,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_todos: Vec<Todo>,
    /// Ids of the todos that are done; none says that all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos_done: Option<Vec<u32>>,
    /// Why a tactical phase ends before its todos are done, and is to be followed by another plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliverables: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Reply>,
    #[serde(default)]
    pub usage: Spent,
}

/// An agent's answer to a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// Of the comment.
    pub id: String,
    pub text: String,
}

/// What an agent writes to the file CHECKREIN_RESULT names. Everything may be left out.
#[derive(JsonSchema)]
#[schemars(rename = "agent result", inline)]
#[expect(dead_code, reason = "read by the schema generator alone")]
pub struct AgentResultShape {
    /// phase_done if absent.
    outcome: Option<AgentOutcome>,
    summary: Option<String>,
    /// What the next tactical phase has to do; each a text, or `{id, content}`.
    next_todos: Option<Vec<Value>>,
    /// Ids of the todos of this phase that are done; all of them if absent.
    todos_done: Option<Vec<u32>>,
    /// Why the todos do not lead there, from a tactical phase that ends so that it is planned again.
    replan: Option<String>,
    deliverables: Option<Vec<String>>,
    /// 0 to 1.
    confidence: Option<f64>,
    /// The milestone of the plan that was reached.
    milestone: Option<String>,
    warnings: Option<Vec<Value>>,
    errors: Option<Vec<Value>>,
    comment_replies: Option<Vec<Reply>>,
    /// What the attempt used up.
    usage: Option<Spent>,
}

impl AgentResult {
    /// Whether it does not say what became of the attempt, so that what is odd about it first is a failure.
    pub fn is_unreadable(value: &Value) -> bool {
        let Value::Object(map) = value else { return true };
        let outcome = map.get("outcome").filter(|said| !said.is_null());
        outcome.is_some_and(|said| said.as_str().and_then(AgentOutcome::parse).is_none())
    }

    /// Reads a result. What is odd about it is said, and left out; an outcome nobody knows is a failure.
    pub fn read(value: &Value) -> (AgentResult, Vec<String>) {
        let mut odd = Vec::new();
        let Value::Object(map) = value else {
            odd.push("the agent's result is not an object".to_owned());
            return (AgentResult { outcome: AgentOutcome::Failed, ..AgentResult::default() }, odd);
        };
        let field = |name: &str| map.get(name).filter(|value| !value.is_null());
        let text = |name: &str| field(name).and_then(Value::as_str).map(|text| text.trim().to_owned());
        let outcome = match field("outcome") {
            None => AgentOutcome::PhaseDone,
            Some(said) => {
                let word = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                AgentOutcome::parse(&word).unwrap_or_else(|| {
                    let known = AgentOutcome::ALL.map(AgentOutcome::name).join(", ");
                    odd.push(format!("the agent's outcome `{word}` is unknown; it is one of {known}"));
                    AgentOutcome::Failed
                })
            }
        };
        let confidence = field("confidence").and_then(Value::as_f64);
        if confidence.is_some_and(|number| !(0.0..=1.0).contains(&number)) {
            odd.push(format!(
                "the agent's confidence `{}` is not from 0 to 1",
                confidence.unwrap_or_default()
            ));
        }
        let mut list = |name: &str| match field(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => items.clone(),
            Some(other) => {
                odd.push(format!("the agent's `{name}` is not a list: `{other}`"));
                Vec::new()
            }
        };
        let texts = |items: Vec<Value>| {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
        };
        let todos = list("next_todos");
        let deliverables: Vec<String> = texts(list("deliverables"));
        let replies = list("comment_replies");
        let done = field("todos_done").is_some().then(|| list("todos_done"));
        let next_todos = todos_of(&todos, &mut odd);
        let reply = |value: &Value| {
            let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
            Some(Reply { id: text("id")?, text: text("text").filter(|text| !text.trim().is_empty())? })
        };
        let whole = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let replan = text("replan").filter(|text| !text.is_empty());
        let summary = text("summary").filter(|text| !text.is_empty());
        let usage = field("usage").cloned().unwrap_or_default();
        let used = |name: &str| usage.get(name);
        let result = AgentResult {
            outcome,
            // What a person reads first says why there is less than was planned.
            summary: summary
                .or_else(|| replan.as_ref().map(|why| format!("asks to plan again: {why}")))
                .unwrap_or_default(),
            next_todos,
            todos_done: done.map(|ids| ids.iter().filter_map(whole).collect()),
            replan,
            deliverables,
            confidence: confidence.filter(|number| (0.0..=1.0).contains(number)),
            milestone: text("milestone").filter(|text| !text.is_empty()),
            replies: replies.iter().filter_map(reply).collect(),
            usage: Spent {
                tokens: used("tokens").and_then(Value::as_u64).unwrap_or(0),
                cost: used("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite()).unwrap_or(0.0),
                time_ms: 0,
            },
        };
        (result, odd)
    }
}

/// A list that cannot be used as it stands is taken as texts, one todo each.
fn todos_of(items: &[Value], odd: &mut Vec<String>) -> Vec<Todo> {
    match TodoList::of_value(&Value::Array(items.to_vec())) {
        Ok(list) => list.todos,
        Err(wrong) => {
            odd.push(format!("the agent's `next_todos` were numbered again: {}", wrong.message));
            let content = |item: &Value| match item {
                Value::String(text) => text.clone(),
                Value::Object(map) => {
                    map.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                Value::Array(_) => String::new(),
                other => other.to_string(),
            };
            numbered(items.iter().map(content))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_results_are_read_and_told() {
        let read = |value: Value| {
            let (result, odd) = AgentResult::read(&value);
            format!("{} {:?} {}", result.outcome.name(), result.next_todos.len(), odd.join(" | "))
        };
        for (value, expected) in [
            (json!({}), "phase_done 0 "),
            (json!({"outcome": "JOB_COMPLETE"}), "job_complete 0 "),
            (
                json!({"outcome": "done"}),
                "failed 0 the agent's outcome `done` is unknown; it is one of phase_done, job_complete, blocked, failed",
            ),
            (json!({"next_todos": ["a", "b"]}), "phase_done 2 "),
            (
                json!({"next_todos": ["a", {"content": ["b", "c"]}, ["d"]]}),
                "phase_done 1 the agent's `next_todos` were numbered again: the content of todo `2` is not text",
            ),
            (
                json!({"next_todos": [{"id": 1, "content": "a"}, {"id": 1, "content": "b"}]}),
                "phase_done 2 the agent's `next_todos` were numbered again: id `1` is there twice",
            ),
            (json!({"next_todos": "a"}), "phase_done 0 the agent's `next_todos` is not a list: `\"a\"`"),
            (json!({"confidence": 7}), "phase_done 0 the agent's confidence `7` is not from 0 to 1"),
            (json!([]), "failed 0 the agent's result is not an object"),
        ] {
            assert_eq!(read(value), expected);
        }
    }
}
