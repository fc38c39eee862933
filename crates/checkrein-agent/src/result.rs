//! What an attempt hands in, as the file its engine takes up.

use std::path::{Path, PathBuf};

use checkrein_core::config::env;
use checkrein_core::run::job::{BriefJson, HandIn, HandInRefusal};
use serde_json::{Map, Value};

use crate::regular;
use crate::task::AgentTask;

/// A file a variable names.
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

pub fn brief() -> Result<BriefJson, String> {
    let path = named(env::BRIEF_JSON).ok_or("this is no attempt of a job")?;
    let text = regular::read(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))
}

/// What is handed in so far.
pub fn so_far(path: &Path) -> Value {
    let text = regular::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Hands in one piece; what is refused says what to do instead.
pub fn hand_in(piece: HandIn) -> Result<Value, String> {
    let path = named(env::RESULT).ok_or("this is no attempt of a job")?;
    let refused = |refusal: HandInRefusal| match refusal.hint() {
        Some(hint) => format!("{refusal}; {hint}"),
        None => refusal.to_string(),
    };
    let result = piece.into(&brief()?, so_far(&path)).map_err(refused)?;
    write(&path, &result)?;
    Ok(result)
}

/// The response of a step, field by field.
pub fn respond(fields: Map<String, Value>) -> Result<(), String> {
    let path = named(env::RESPONSE).ok_or("this is no step of a workflow")?;
    let mut response = match so_far(&path) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    response.extend(fields);
    write(&path, &Value::Object(response))
}

fn write(path: &Path, value: &Value) -> Result<(), String> {
    regular::replace(path, value.to_string().as_bytes())
        .map_err(|error| format!("`{}`: {error}", path.display()))
}

/// Hands in the result in what an agent said, of one that cannot write the file: whether there was one. What it wrote to
/// the file itself counts, unless that is `ours` from what it said before.
pub fn spoken_result(task: &AgentTask, said: &str, ours: bool) -> bool {
    let variable = if task.is_job() { env::RESULT } else { env::RESPONSE };
    let Some(path) = named(variable).filter(|path| ours || !path.exists()) else { return false };
    let Some(block) = marked(said) else { return false };
    let fields = match serde_json::from_str::<Value>(block) {
        Ok(Value::Object(fields)) => fields,
        // Without a word it would be as if nothing had been handed in.
        Ok(_) => unreadable("it is not an object"),
        Err(error) => unreadable(&error.to_string()),
    };
    let mut result = match so_far(&path) {
        Value::Object(before) if ours => before,
        _ => Map::new(),
    };
    result.extend(fields);
    write(&path, &Value::Object(result)).is_ok()
}

/// Whether the agent handed in anything so far.
pub fn has_result(task: &AgentTask) -> bool {
    let variable = if task.is_job() { env::RESULT } else { env::RESPONSE };
    named(variable).is_some_and(|path| path.metadata().is_ok_and(|found| found.len() > 0))
}

fn unreadable(why: &str) -> Map<String, Value> {
    let text = format!("the result at the end of the answer cannot be read: {why}");
    Map::from_iter([("warnings".to_owned(), Value::Array(vec![Value::String(text)]))])
}

/// What is marked as a result, the last time.
fn marked(said: &str) -> Option<&str> {
    let between = |begin: &str, end: &str| {
        let (before, rest) = said.rsplit_once(begin)?;
        let (block, _) = rest.split_once(end)?;
        Some((before.len(), block.trim()))
    };
    let tagged = between("<checkrein-result>", "</checkrein-result>");
    let fenced = between("```checkrein-result", "```");
    let (_, block) = tagged.into_iter().chain(fenced).max_by_key(|(at, _)| *at)?;
    // Some models put every object into a fence.
    let inner = block.strip_prefix("```json").or_else(|| block.strip_prefix("```"));
    Some(inner.and_then(|inner| inner.strip_suffix("```")).map_or(block, str::trim))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_found_in_what_was_said() {
        for (said, expected) in [
            (
                "x\n```checkrein-result\n{\"outcome\": \"job_complete\"}\n```\n",
                Some(json!({"outcome": "job_complete"})),
            ),
            (
                "```checkrein-result\n{}\n```\nand\n```checkrein-result\n{\"a\": 1}\n```",
                Some(json!({"a": 1})),
            ),
            ("<checkrein-result>\n{\"a\": 1}\n</checkrein-result>\nbye", Some(json!({"a": 1}))),
            (
                "<checkrein-result>{\"a\": 1}</checkrein-result>\n```checkrein-result\n{\"a\": 2}\n```",
                Some(json!({"a": 2})),
            ),
            (
                "<checkrein-result>\n```json\n{\"a\": \"```\"}\n```\n</checkrein-result>",
                Some(json!({"a": "```"})),
            ),
            ("```checkrein-result\nno\n```", None),
            ("<checkrein-result>\n{\"a\": 1}", None),
            ("```json\n{}\n```", None),
        ] {
            let found = marked(said).and_then(|block| serde_json::from_str::<Value>(block).ok());
            assert_eq!(found, expected, "{said}");
        }
    }
}
