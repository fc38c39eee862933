//! What an agent hands in piece by piece, while it works: each piece changes its result, and nothing it could
//! not have written into the file itself. What does not fit the phase is refused at once instead of later.

use serde_json::{Map, Value, json};

use super::bound::ITEMS_MAX;
use super::result::AgentOutcome;
use super::{BriefJson, TodoList};
use crate::boundary::PhaseKind;

/// One piece.
#[derive(Clone, Debug, PartialEq)]
pub enum HandIn {
    /// What the next tactical phase has to do, instead of what was handed in before.
    NextTodos(Vec<Value>),
    TodoDone(u32),
    /// The todos do not lead there: end the phase, and plan again.
    Replan(String),
    JobComplete {
        summary: Option<String>,
    },
    Reply {
        comment: String,
        text: String,
    },
    /// How it went, field by field; what is not said stays as it is.
    Response(Map<String, Value>),
}

/// Why a piece is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandInRefusal {
    #[error("`{tool}` is for strategic phases, and `{phase}` is tactical")]
    StrategicOnly { tool: &'static str, phase: String },
    #[error("`request_replan` is for tactical phases, and `{phase}` plans already")]
    TacticalOnly { phase: String },
    #[error("the job is not complete: {why}")]
    NotComplete { why: String },
    #[error("there is no todo `{id}`; there are {known}")]
    NoTodo { id: u32, known: String },
    #[error("there is no comment `{id}`; there are {known}")]
    NoComment { id: String, known: String },
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("the todos cannot be used: {0}")]
    BadTodos(String),
    #[error("the result that is there is not an object")]
    NotAnObject,
}

impl HandInRefusal {
    /// What to do instead.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            HandInRefusal::StrategicOnly { .. } => {
                Some("do the todos; if they do not lead there, call request_replan")
            }
            HandInRefusal::TacticalOnly { .. } => {
                Some("hand in the todos of the next phase with next_phase_todos")
            }
            HandInRefusal::NotComplete { .. } | HandInRefusal::NotAnObject => None,
            HandInRefusal::NoTodo { .. } => Some("todo_list shows them"),
            HandInRefusal::NoComment { .. } => Some("get_comments shows them"),
            HandInRefusal::Empty(_) | HandInRefusal::BadTodos(_) => {
                Some("say it in words, and call it again")
            }
        }
    }
}

impl HandIn {
    /// The result with this piece in it.
    pub fn into(self, brief: &BriefJson, result: Value) -> Result<Value, HandInRefusal> {
        let mut result = match result {
            Value::Null => Map::new(),
            Value::Object(map) => map,
            _ => return Err(HandInRefusal::NotAnObject),
        };
        match self {
            HandIn::NextTodos(todos) => next_todos(brief, &mut result, &todos)?,
            HandIn::TodoDone(id) => todo_done(brief, &mut result, id)?,
            HandIn::Replan(reason) => replan(brief, &mut result, &reason)?,
            HandIn::JobComplete { summary } => job_complete(brief, &mut result, summary)?,
            HandIn::Reply { comment, text } => reply(brief, &mut result, &comment, &text)?,
            HandIn::Response(fields) => respond(&mut result, fields),
        }
        Ok(Value::Object(result))
    }
}

fn strategic(brief: &BriefJson, tool: &'static str) -> Result<(), HandInRefusal> {
    match brief.phase.kind {
        PhaseKind::Strategic => Ok(()),
        PhaseKind::Tactical => Err(HandInRefusal::StrategicOnly { tool, phase: brief.phase.name.clone() }),
    }
}

fn next_todos(
    brief: &BriefJson,
    result: &mut Map<String, Value>,
    todos: &[Value],
) -> Result<(), HandInRefusal> {
    strategic(brief, "next_phase_todos")?;
    if todos.len() > ITEMS_MAX {
        let many = format!("there are {}, at most {ITEMS_MAX} are taken", todos.len());
        return Err(HandInRefusal::BadTodos(many));
    }
    let list = TodoList::of_value(&Value::Array(todos.to_vec()))
        .map_err(|wrong| HandInRefusal::BadTodos(wrong.message))?;
    let todos: Vec<Value> =
        list.todos.iter().map(|todo| json!({"id": todo.id, "content": todo.content})).collect();
    // Whoever plans more is not done.
    if !todos.is_empty() && says(result, AgentOutcome::JobComplete) {
        result.remove("outcome");
    }
    result.insert("next_todos".to_owned(), todos.into());
    Ok(())
}

fn todo_done(brief: &BriefJson, result: &mut Map<String, Value>, id: u32) -> Result<(), HandInRefusal> {
    if !brief.todos.iter().any(|todo| todo.id == id) {
        let known = listed(brief.todos.iter().map(|todo| todo.id.to_string()));
        return Err(HandInRefusal::NoTodo { id, known });
    }
    change(result, "todos_done", |done| {
        if !done.iter().any(|known| known.as_u64() == Some(id.into())) {
            done.push(id.into());
        }
    });
    Ok(())
}

fn replan(brief: &BriefJson, result: &mut Map<String, Value>, reason: &str) -> Result<(), HandInRefusal> {
    if brief.phase.kind == PhaseKind::Strategic {
        return Err(HandInRefusal::TacticalOnly { phase: brief.phase.name.clone() });
    }
    let reason = said("reason", reason)?;
    // What is not ticked off is not done.
    change(result, "todos_done", |_| {});
    result.insert("outcome".to_owned(), AgentOutcome::PhaseDone.name().into());
    result.insert("replan".to_owned(), reason.into());
    Ok(())
}

fn job_complete(
    brief: &BriefJson,
    result: &mut Map<String, Value>,
    summary: Option<String>,
) -> Result<(), HandInRefusal> {
    strategic(brief, "job_complete")?;
    let staged = result.get("next_todos").and_then(Value::as_array).is_some_and(|todos| !todos.is_empty());
    if brief.phase.feedback {
        let why =
            "what a person wants changed is not done yet; hand in corrective todos with next_phase_todos";
        return Err(HandInRefusal::NotComplete { why: why.to_owned() });
    }
    if staged {
        let why = "there are todos for the next phase; take them back with an empty next_phase_todos";
        return Err(HandInRefusal::NotComplete { why: why.to_owned() });
    }
    result.insert("outcome".to_owned(), AgentOutcome::JobComplete.name().into());
    if let Some(summary) = summary {
        result.insert("summary".to_owned(), summary.into());
    }
    Ok(())
}

fn reply(
    brief: &BriefJson,
    result: &mut Map<String, Value>,
    comment: &str,
    text: &str,
) -> Result<(), HandInRefusal> {
    let text = said("text", text)?;
    if !brief.comments.all().any(|known| known.id == comment) {
        let known = listed(brief.comments.all().map(|known| known.id.clone()));
        return Err(HandInRefusal::NoComment { id: comment.to_owned(), known });
    }
    change(result, "comment_replies", |replies| {
        replies.retain(|known| known.get("id").and_then(Value::as_str) != Some(comment));
        replies.push(json!({"id": comment, "text": text}));
    });
    Ok(())
}

fn respond(result: &mut Map<String, Value>, mut fields: Map<String, Value>) {
    // That it went well does not take back that nothing is left to do.
    if says(&fields, AgentOutcome::PhaseDone) && says(result, AgentOutcome::JobComplete) {
        fields.remove("outcome");
    }
    result.extend(fields);
}

fn said<'t>(name: &'static str, text: &'t str) -> Result<&'t str, HandInRefusal> {
    Some(text.trim()).filter(|text| !text.is_empty()).ok_or(HandInRefusal::Empty(name))
}

fn says(result: &Map<String, Value>, outcome: AgentOutcome) -> bool {
    result
        .get("outcome")
        .and_then(Value::as_str)
        .is_some_and(|word| word.eq_ignore_ascii_case(outcome.name()))
}

/// Changes a list of the result; what is no list becomes one.
fn change(result: &mut Map<String, Value>, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let mut list = match result.get_mut(name).map(Value::take) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    change(&mut list);
    result.insert(name.to_owned(), list.into());
}

fn listed(ids: impl Iterator<Item = String>) -> String {
    let ids: Vec<String> = ids.collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::job::{AgentResult, BriefComments, BriefPhase, Comment, Todo};

    fn brief(kind: PhaseKind) -> BriefJson {
        let comment = Comment {
            id: "c1".to_owned(),
            phase: String::new(),
            round: 1,
            file: None,
            line: None,
            text: "why?".to_owned(),
            tag: None,
            by: "ann".to_owned(),
            from_agent: false,
            reply_to: None,
            written_at: jiff::Timestamp::UNIX_EPOCH,
            given: None,
            delivered: false,
            key: None,
            resolved_by: None,
            origin: None,
        };
        BriefJson {
            job: "j".to_owned(),
            task: "t".to_owned(),
            level: "partial".to_owned(),
            phase: BriefPhase {
                name: format!("phase-9-{kind}"),
                number: 9,
                kind,
                round: 1,
                branch: "b".to_owned(),
                feedback: false,
            },
            todos: vec![
                Todo { id: 1, content: "a".to_owned(), done: false },
                Todo { id: 7, content: "b".to_owned(), done: false },
            ],
            plan: None,
            replan: None,
            review: None,
            comments: BriefComments { new: vec![comment], earlier: Vec::new() },
            unfinished: None,
            conflict: None,
            human_commits: Vec::new(),
            human_diff: None,
        }
    }

    fn after(kind: PhaseKind, pieces: Vec<HandIn>) -> String {
        let mut result = Value::Null;
        for piece in pieces {
            match piece.into(&brief(kind), result) {
                Ok(next) => result = next,
                Err(refusal) => return format!("refused: {refusal}"),
            }
        }
        let (_, odd) = AgentResult::read(&result);
        assert!(odd.is_empty(), "{result}: {odd:?}");
        result.to_string()
    }

    #[test]
    fn pieces_become_the_result() {
        use PhaseKind::{Strategic, Tactical};
        let todos = |texts: &[&str]| HandIn::NextTodos(texts.iter().map(|text| json!(text)).collect());
        let complete = || HandIn::JobComplete { summary: Some("all done".to_owned()) };
        let reply = |id: &str, text: &str| HandIn::Reply { comment: id.to_owned(), text: text.to_owned() };
        let response = |outcome: &str| {
            HandIn::Response(json!({"outcome": outcome, "confidence": 0.5}).as_object().unwrap().clone())
        };
        for (kind, pieces, expected) in [
            (Tactical, vec![HandIn::TodoDone(7), HandIn::TodoDone(7)], r#"{"todos_done":[7]}"#),
            (Tactical, vec![HandIn::TodoDone(2)], "refused: there is no todo `2`; there are 1, 7"),
            (
                Tactical,
                vec![todos(&["x"])],
                "refused: `next_phase_todos` is for strategic phases, and `phase-9-tactical` is tactical",
            ),
            (
                Tactical,
                vec![complete()],
                "refused: `job_complete` is for strategic phases, and `phase-9-tactical` is tactical",
            ),
            (
                Tactical,
                vec![HandIn::Replan(" dead end ".to_owned())],
                r#"{"todos_done":[],"outcome":"phase_done","replan":"dead end"}"#,
            ),
            (Tactical, vec![HandIn::Replan(" ".to_owned())], "refused: `reason` is empty"),
            (
                Strategic,
                vec![HandIn::Replan("x".to_owned())],
                "refused: `request_replan` is for tactical phases, and `phase-9-strategic` plans already",
            ),
            (
                Strategic,
                vec![todos(&["x", "y"]), todos(&["z"])],
                r#"{"next_todos":[{"id":1,"content":"z"}]}"#,
            ),
            (Strategic, vec![todos(&["x", " "])], "refused: the todos cannot be used: todo `2` is empty"),
            (Strategic, vec![complete()], r#"{"outcome":"job_complete","summary":"all done"}"#),
            (
                Strategic,
                vec![todos(&["x"]), complete()],
                "refused: the job is not complete: there are todos for the next phase; take them back with an empty next_phase_todos",
            ),
            (
                Strategic,
                vec![complete(), todos(&["x"])],
                r#"{"summary":"all done","next_todos":[{"id":1,"content":"x"}]}"#,
            ),
            (
                Strategic,
                vec![reply("c1", "because"), reply("c1", "so")],
                r#"{"comment_replies":[{"id":"c1","text":"so"}]}"#,
            ),
            (
                Strategic,
                vec![complete(), response("phase_done")],
                r#"{"outcome":"job_complete","summary":"all done","confidence":0.5}"#,
            ),
            (
                Tactical,
                vec![response("blocked"), response("phase_done")],
                r#"{"outcome":"phase_done","confidence":0.5}"#,
            ),
            (Strategic, vec![reply("c2", "x")], "refused: there is no comment `c2`; there are c1"),
        ] {
            assert_eq!(after(kind, pieces.clone()), expected, "{pieces:?}");
        }
    }

    #[test]
    fn what_a_person_wants_changed_comes_before_the_end() {
        let mut brief = brief(PhaseKind::Strategic);
        brief.phase.feedback = true;
        let refused = HandIn::JobComplete { summary: None }.into(&brief, Value::Null);
        assert!(matches!(refused, Err(HandInRefusal::NotComplete { .. })), "{refused:?}");
        let other = HandIn::TodoDone(1).into(&brief, json!([]));
        assert_eq!(other, Err(HandInRefusal::NotAnObject));
    }
}
