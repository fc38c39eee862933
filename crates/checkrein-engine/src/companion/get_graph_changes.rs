use checkrein_core::principal::Principal;
use checkrein_core::run::{Run, RunEvent};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::page::shortened;
use super::{ReadTool, told};
use crate::authority::{Act, require};
use crate::{Engine, EngineError, RunView};

/// Which changes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct GraphChangesWanted {
    /// Go on after the event of this number, as an answer names it in `next`
    pub after: Option<u64>,
    /// How many at most, 100 by default
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
}

/// How a run went from state to state, the oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct GraphChanges {
    /// Where it stands now.
    pub state: RunPlace,
    pub changes: Vec<GraphChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// One transition, and the event that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphChange {
    pub seq: u64,
    pub at: Timestamp,
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RunPlace>,
    pub to: RunPlace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A node of the graph a run goes through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunPlace {
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Of a job's phase: `work`, `feedback`, `done` or `land`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The attempt under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

const BECAUSE_CHARS_MAX: usize = 600;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<GraphChangesWanted>(
        "get_graph_changes",
        "How the job went from state to state: status, phase, stage, round and attempt before and after each event that \
         changed them, by whom and why.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.graph_changes(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn graph_changes(
        &self,
        by: &Principal,
        run: &str,
        wanted: &GraphChangesWanted,
    ) -> Result<GraphChanges, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, run).await?).await?;
        let (after, limit) = (wanted.after.unwrap_or(0), wanted.limit.unwrap_or(100).clamp(1, 500));
        let mut changes: Vec<GraphChange> =
            transitions(&view).into_iter().filter(|change| change.seq > after).take(limit + 1).collect();
        let more = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().filter(|_| more).map(|last| last.seq);
        Ok(GraphChanges { state: RunPlace::of(&view.run), changes, next })
    }
}

/// Every event that moved a run to another node: its events are folded again, one by one.
fn transitions(view: &RunView) -> Vec<GraphChange> {
    let mut changes = Vec::new();
    let mut told: Option<(Run, RunPlace)> = None;
    for (seq, at, event) in &view.history {
        let (run, from) = match told.take() {
            Some((mut run, place)) => {
                run.fold(event, *at);
                (run, Some(place))
            }
            None => {
                let definition = std::sync::Arc::clone(&view.run.definition);
                let Some(run) = Run::told(view.run.id.clone(), definition, [(event.clone(), *at)]) else {
                    return changes;
                };
                (run, None)
            }
        };
        let to = RunPlace::of(&run);
        if from.as_ref() != Some(&to) {
            let (event, by, because) = said(event);
            changes.push(GraphChange { seq: *seq, at: *at, event, from, to: to.clone(), by, because });
        }
        told = Some((run, to));
    }
    changes
}

impl RunPlace {
    fn of(run: &Run) -> RunPlace {
        let job = run.state.job.as_ref().map(|job| &job.phase).filter(|phase| phase.number > 0);
        let stage = job.and_then(|phase| serde_json::to_value(phase.stage).ok());
        let phase = match &run.state.job {
            Some(_) => job.map(|phase| phase.name()),
            None => run.current_phase().map(|phase| phase.name.clone()),
        };
        RunPlace {
            status: run.status_word(),
            phase,
            stage: stage.as_ref().and_then(Value::as_str).map(str::to_owned),
            round: job.map(|phase| phase.round),
            attempt: run.state.under_way.as_ref().map(|under_way| under_way.attempt),
        }
    }
}

/// The name of an event, who it is of, and why it was.
fn said(event: &RunEvent) -> (String, Option<String>, Option<String>) {
    let value = serde_json::to_value(event).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let because = text("reason").or_else(|| text("because"));
    let because = because.map(|because| shortened(&because, BECAUSE_CHARS_MAX));
    (text("event").unwrap_or_default(), text("by"), because)
}
