use checkrein_core::principal::Principal;
use checkrein_core::run::job::{Spent, phase_name};
use checkrein_core::run::{PhaseStatus, RunEvent};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::shortened;
use super::{ReadTool, told};
use crate::authority::{Act, require};
use crate::{Engine, EngineError, RunView};

/// How much is told.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ProgressWanted {
    /// How many of the last things the agent did are told, 10 by default
    #[schemars(range(min = 0, max = 100))]
    pub activity: Option<usize>,
}

/// How far a job is.
#[derive(Clone, Debug, Serialize)]
pub struct JobProgress {
    pub job: String,
    pub status: &'static str,
    /// In words.
    pub summary: String,
    pub phases: Vec<PhaseProgress>,
    pub todos_done: usize,
    pub todos_total: usize,
    /// Since it started, until it ended or now.
    pub duration_ms: u64,
    /// By the whole job.
    pub spent: Spent,
    /// Since a person last answered: this is what its budget counts.
    pub spent_since_answer: Spent,
    /// By all attempts together.
    pub tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether a process on this machine works on it now.
    pub driven_here: bool,
    /// What its agent did last, the newest last.
    pub activity: Vec<DidLast>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PhaseProgress {
    pub phase: String,
    pub status: PhaseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Attempts that are finished.
    pub attempts: u32,
    pub warnings: u64,
    pub errors: u64,
    /// What its last attempt says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct DidLast {
    pub at: Timestamp,
    pub text: String,
}

const TEXT_CHARS_MAX: usize = 300;
/// What is read at once of what an agent did.
const ACTIVITY_PAGE: usize = 1_000;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<ProgressWanted>(
        "get_job_progress",
        "How far the job is: its phases, todos done, time, tokens and cost, and what its agent did last.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.job_progress(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn job_progress(
        &self,
        by: &Principal,
        job: &str,
        wanted: &ProgressWanted,
    ) -> Result<JobProgress, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, job).await?).await?;
        let Some((_, state)) = view.run.job() else { return Err(EngineError::NotAJob(view.run.id)) };
        let todos = self.todos_now(&view);
        let (done, total) = (todos.iter().filter(|todo| todo.done).count(), todos.len());
        let started = view.run.state.started_at.unwrap_or(view.run.state.created_at);
        let ended = view.run.state.ended_at.unwrap_or_else(|| self.now());
        let (tokens, cost, activity) =
            self.did_last(by, &view, wanted.activity.unwrap_or(10).min(100)).await?;
        Ok(JobProgress {
            job: view.run.id.to_string(),
            status: view.run.status_word(),
            summary: summary(&view, done, total),
            phases: phases(&view),
            todos_done: done,
            todos_total: total,
            duration_ms: u64::try_from(ended.duration_since(started).as_millis()).unwrap_or(0),
            spent: state.spent_total,
            spent_since_answer: state.spent,
            tokens,
            cost,
            driven_here: !self.is_left(&view.run.id).await?,
            activity,
        })
    }

    async fn did_last(
        &self,
        by: &Principal,
        view: &RunView,
        count: usize,
    ) -> Result<(u64, Option<f64>, Vec<DidLast>), EngineError> {
        let (mut after, mut last) = (None, std::collections::VecDeque::new());
        loop {
            let page = self.run_activity(by, view.run.id.as_str(), after.as_deref(), ACTIVITY_PAGE).await?;
            let whole = page.items.len() < ACTIVITY_PAGE;
            for item in page.items {
                let Some(text) = item.activity.shown() else { continue };
                last.push_back(DidLast { at: item.activity.at, text: shortened(&text, TEXT_CHARS_MAX) });
                if last.len() > count {
                    last.pop_front();
                }
            }
            if whole {
                return Ok((page.tokens, page.cost, last.into()));
            }
            after = Some(page.next);
        }
    }
}

fn summary(view: &RunView, done: usize, total: usize) -> String {
    let Some((_, state)) = view.run.job() else { return String::new() };
    let mut text = view.run.status_word().replace('_', " ");
    if state.phase.number > 0 {
        text.push_str(&format!(", {}", state.phase.name()));
        if state.phase.round > 1 {
            text.push_str(&format!(", round {}", state.phase.round));
        }
    }
    if total > 0 {
        text.push_str(&format!(", {done} of {total} todos done"));
    }
    if let Some(checkpoint) = &view.checkpoint {
        text.push_str(&format!(", waits for a person at {checkpoint}"));
    }
    if let Some(stopped) = &view.run.state.stopped {
        text.push_str(&format!(": {}", shortened(&stopped.reason, TEXT_CHARS_MAX)));
    }
    text
}

fn phases(view: &RunView) -> Vec<PhaseProgress> {
    let when = |name: &str, begin: bool| {
        let mut events = view.history.iter().filter(|(_, _, event)| match event {
            RunEvent::PhaseStarted { phase } => begin && phase == name,
            RunEvent::PhaseEnded { phase, .. } => !begin && phase == name,
            _ => false,
        });
        if begin { events.next() } else { events.next_back() }.map(|(_, at, _)| *at)
    };
    let summary = |name: &str| {
        let finished = view.history.iter().rev().find_map(|(_, _, event)| match event {
            RunEvent::AttemptFinished(attempt) if attempt.phase == name => Some(attempt),
            _ => None,
        });
        finished.and_then(|attempt| attempt.response.message.clone())
    };
    let number = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
    let phases = view.run.state.phases.iter().enumerate().map(|(row, phase)| {
        let name = phase_name(number(row));
        PhaseProgress {
            status: phase.status,
            started_at: when(&name, true),
            ended_at: when(&name, false),
            attempts: phase.attempts.iter().sum(),
            warnings: phase.warnings,
            errors: phase.errors,
            summary: summary(&name).map(|text| shortened(&text, TEXT_CHARS_MAX)),
            phase: name,
        }
    });
    phases.collect()
}
