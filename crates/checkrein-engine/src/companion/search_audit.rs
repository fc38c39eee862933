use std::collections::HashSet;

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::get_audit_trail::{AuditOf, Trail};
use super::workspace::clean;
use super::{ReadTool, told};
use crate::{Engine, EngineError};

/// What is looked for in the trail.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct AuditSearch {
    /// Words that an entry has to have, all of them, in any order; large and small letters are the same
    #[schemars(length(min = 1))]
    pub query: String,
    /// Leave out so many of the first, as an answer names it in `next`
    pub after: Option<usize>,
    /// How many at most, 20 by default
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
}

/// Entries that have the words, the oldest of each kind first.
#[derive(Clone, Debug, Serialize)]
pub struct AuditHits {
    pub hits: Vec<AuditHit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct AuditHit {
    /// `event`, `activity`, or `llm_request`.
    pub source: &'static str,
    pub at: Timestamp,
    /// What it is: `run_held`, `called`, a message or an answer of a model.
    pub kind: String,
    /// What it happened to; of a request its id, by which get_llm_request shows it whole.
    pub of: String,
    /// The part of it with the first of the words.
    pub snippet: String,
}

/// Characters shown before and behind a word.
const AROUND: usize = 160;
const WORDS_MAX: usize = 16;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<AuditSearch>(
        "search_audit",
        "Finds words in everything that is on record of the job: events, what its agents said and did, and what they asked \
         of their models.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.search_audit(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn search_audit(
        &self,
        by: &Principal,
        run: &str,
        wanted: &AuditSearch,
    ) -> Result<AuditHits, EngineError> {
        let words: Vec<String> =
            wanted.query.to_lowercase().split_whitespace().take(WORDS_MAX).map(str::to_owned).collect();
        if words.is_empty() {
            return Err(EngineError::Empty("query"));
        }
        let id = RunId::new(self.run_id(by, run).await?);
        let limit = wanted.limit.unwrap_or(20).clamp(1, 100);
        let skip = wanted.after.unwrap_or(0);
        let mut found = Found { words, enough: skip.saturating_add(limit) + 1, hits: Vec::new() };
        for (of, source) in [(AuditOf::Events, "event"), (AuditOf::Activity, "activity")] {
            let mut trail = Trail::new(of, None)?;
            loop {
                let page = self.trail(by, id.as_str(), &mut trail).await?;
                if page.is_empty() || found.is_enough() {
                    break;
                }
                for (_, item) in page {
                    let text = self.searched(&id, &Value::Object(item.said));
                    let text = format!("{} {text}", item.kind);
                    found.look(source, item.at, item.kind, item.of, &text);
                }
            }
        }
        if !found.is_enough() {
            self.look_at_requests(by, &id, &mut found).await?;
        }
        let mut hits = found.hits.into_iter().skip(skip);
        let page: Vec<AuditHit> = hits.by_ref().take(limit).collect();
        Ok(AuditHits { next: hits.next().map(|_| skip.saturating_add(limit)), hits: page })
    }

    /// What is new in each request: most of it was in the one before.
    async fn look_at_requests(
        &self,
        by: &Principal,
        id: &RunId,
        found: &mut Found,
    ) -> Result<(), EngineError> {
        let mut seen: HashSet<Digest> = HashSet::new();
        for asked in self.model_requests(by, id.as_str(), None).await? {
            let exchange = &asked.kept.exchange;
            let of = format!("{}.{}", asked.start, asked.kept.number);
            let messages = exchange.request.get("messages").and_then(Value::as_array);
            for message in messages.into_iter().flatten() {
                if seen.insert(Digest::of(message.to_string().as_bytes())) {
                    let text = self.searched(id, message);
                    found.look("llm_request", exchange.started_at, "message".to_owned(), of.clone(), &text);
                }
            }
            if let Some(answer) = &exchange.answer {
                let text = self.searched(id, answer);
                found.look("llm_request", exchange.started_at, "answer".to_owned(), of.clone(), &text);
            }
            if found.is_enough() {
                break;
            }
        }
        Ok(())
    }

    /// Every text in a value, without secrets: what is searched is what may be shown.
    fn searched(&self, id: &RunId, value: &Value) -> String {
        let mut text = String::new();
        texts(value, &mut text);
        clean(self, id, text.as_bytes())
    }
}

struct Found {
    words: Vec<String>,
    enough: usize,
    hits: Vec<AuditHit>,
}

impl Found {
    fn is_enough(&self) -> bool {
        self.hits.len() >= self.enough
    }

    fn look(&mut self, source: &'static str, at: Timestamp, kind: String, of: String, text: &str) {
        if self.is_enough() {
            return;
        }
        let lower = text.to_lowercase();
        if self.words.iter().all(|word| lower.contains(word.as_str())) {
            let first = self.words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or(0);
            let first = lower.get(..first).map_or(0, |before| before.chars().count());
            self.hits.push(AuditHit { source, at, kind, of, snippet: around(text, first) });
        }
    }
}

/// The text around a place, on one line.
fn around(text: &str, place: usize) -> String {
    let from = place.saturating_sub(AROUND);
    let part: String = text.chars().skip(from).take(AROUND * 2).collect();
    let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "… " } else { "" };
    let behind = if text.chars().nth(from + AROUND * 2).is_some() { " …" } else { "" };
    format!("{before}{part}{behind}")
}

fn texts(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_all_words_and_show_the_first() {
        let mut found =
            Found { words: vec!["gate".to_owned(), "open".to_owned()], enough: 2, hits: Vec::new() };
        let long = format!("{} the Gate is OPEN {}", "a ".repeat(300), "b ".repeat(300));
        for text in ["the gate is shut", long.as_str(), "open gate", "open gate again"] {
            found.look("event", Timestamp::UNIX_EPOCH, "k".to_owned(), "o".to_owned(), text);
        }
        assert_eq!(found.hits.len(), 2, "no more than enough");
        let shown = &found.hits[0].snippet;
        assert!(
            shown.starts_with("… a") && shown.contains("the Gate is OPEN") && shown.ends_with("b …"),
            "{shown}"
        );
        assert_eq!(found.hits[1].snippet, "open gate");
    }
}
