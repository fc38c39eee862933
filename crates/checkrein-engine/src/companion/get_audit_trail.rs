use std::collections::VecDeque;

use checkrein_core::event::Event;
use checkrein_core::principal::Principal;
use checkrein_store::{Position, StoredEvent};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::page::shorten;
use super::{ReadTool, told};
use crate::{ActivityItem, Engine, EngineError, EventsOf};

/// Which part of the trail.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct AuditWanted {
    /// What happened to the job and its reviews, or what its agents did
    #[serde(default)]
    pub of: AuditOf,
    /// Only these events, such as `run_held`, or doings, such as `called`
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The last ones instead of the first
    #[serde(default)]
    pub last: bool,
    /// Go on after this place, as an answer names it in `next`
    pub after: Option<String>,
    /// How many at most, 50 by default
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditOf {
    /// Events of the job and of the checkpoints it waited at.
    #[default]
    Events,
    /// What the agents said, thought and called, attempt by attempt.
    Activity,
}

/// A part of the trail, the oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct AuditTrail {
    pub of: AuditOf,
    pub items: Vec<AuditItem>,
    /// Where the next part begins; none where this was the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One entry; what exactly is in the fields beside these.
#[derive(Clone, Debug, Serialize)]
pub struct AuditItem {
    pub at: Timestamp,
    /// `run_held`, `called`, …
    pub kind: String,
    /// What it happened to: the job, a checkpoint, or an attempt of a phase.
    pub of: String,
    #[serde(flatten)]
    pub said: Map<String, Value>,
}

/// So much of a text is in an entry.
const TEXT_CHARS_MAX: usize = 2_000;
const PAGE: usize = 500;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<AuditWanted>(
        "get_audit_trail",
        "What happened, entry by entry: events of the job and its reviews (who decided what, when, why), or what its \
         agents said, thought and called.",
        |engine, by, job, wanted| Box::pin(async move { told(&engine.audit_trail(by, job, &wanted).await?) }),
    )
}

impl Engine {
    pub async fn audit_trail(
        &self,
        by: &Principal,
        run: &str,
        wanted: &AuditWanted,
    ) -> Result<AuditTrail, EngineError> {
        let limit = wanted.limit.unwrap_or(50).clamp(1, 200);
        let mut trail = Trail::new(wanted.of, wanted.after.as_deref())?;
        let fits = |item: &AuditItem| wanted.kinds.is_empty() || wanted.kinds.contains(&item.kind);
        let mut kept = VecDeque::new();
        let mut next = None;
        'all: loop {
            let page = self.trail(by, run, &mut trail).await?;
            if page.is_empty() {
                break;
            }
            for (place, mut item) in page.into_iter().filter(|(_, item)| fits(item)) {
                if kept.len() == limit {
                    if !wanted.last {
                        next = kept.back().map(|(place, _): &(String, AuditItem)| place.clone());
                        break 'all;
                    }
                    kept.pop_front();
                }
                item.said.values_mut().for_each(|value| shorten(value, TEXT_CHARS_MAX));
                kept.push_back((place, item));
            }
        }
        Ok(AuditTrail { of: wanted.of, items: kept.into_iter().map(|(_, item)| item).collect(), next })
    }

    /// The next part of a trail, each entry with the place after it; nothing at the end.
    pub(super) async fn trail(
        &self,
        by: &Principal,
        run: &str,
        trail: &mut Trail,
    ) -> Result<Vec<(String, AuditItem)>, EngineError> {
        match trail {
            Trail::Events(after) => {
                let events = self.events(by, &EventsOf::Run(run.to_owned()), *after, PAGE).await?;
                if let Some(last) = events.last() {
                    *after = last.position;
                }
                Ok(events.iter().map(|event| (event.position.0.to_string(), of_event(event))).collect())
            }
            Trail::Activity(after) => {
                let page = self.run_activity(by, run, after.as_deref(), PAGE).await?;
                *after = Some(page.next);
                Ok(page.items.into_iter().map(|item| (item.next.clone(), of_activity(item))).collect())
            }
        }
    }
}

/// Where somebody reads a trail.
pub(super) enum Trail {
    Events(Position),
    Activity(Option<String>),
}

impl Trail {
    pub fn new(of: AuditOf, after: Option<&str>) -> Result<Trail, EngineError> {
        let odd = |after: &str| EngineError::Arguments {
            tool: "get_audit_trail",
            reason: format!("`{after}` is no place an answer named in `next`"),
        };
        Ok(match (of, after) {
            (AuditOf::Events, None) => Trail::Events(Position(0)),
            (AuditOf::Events, Some(after)) => Trail::Events(Position(after.parse().map_err(|_| odd(after))?)),
            (AuditOf::Activity, after) => Trail::Activity(after.map(str::to_owned)),
        })
    }
}

fn of_event(stored: &StoredEvent) -> AuditItem {
    let (mut said, kind) = fields(&stored.event, "event");
    // Where something happened is `at` in the event; when is the same word here.
    if let Some(boundary) = said.remove("at") {
        said.insert("boundary".to_owned(), boundary);
    }
    let of = match stored.event {
        Event::Run(_) => format!("job {}", stored.stream),
        _ => format!("checkpoint {}", stored.stream),
    };
    AuditItem { at: stored.at, kind, of, said }
}

fn of_activity(item: ActivityItem) -> AuditItem {
    let (mut said, kind) = fields(&item.activity, "did");
    said.remove("at");
    let of = format!("{} attempt {} (start {})", item.task, item.attempt, item.start);
    AuditItem { at: item.activity.at, kind, of, said }
}

fn fields(said: &impl Serialize, tag: &str) -> (Map<String, Value>, String) {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(said) else { return Default::default() };
    let kind = fields.remove(tag).and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    // These words are the entry's own.
    for own in ["kind", "of"] {
        if let Some(value) = fields.remove(own) {
            fields.insert(format!("{own}_said"), value);
        }
    }
    (fields, kind)
}
