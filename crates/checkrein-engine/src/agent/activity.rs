//! What the agents of a run did and do, attempt by attempt.

use std::io::{Read, Seek, SeekFrom};

use checkrein_core::activity::{Activity, Told};
use checkrein_core::principal::Principal;
use checkrein_core::run::RunEvent;

use crate::agent_dir::open_regular;
use crate::authority::{Act, require};
use crate::run::{Place, output_name};
use crate::{Engine, EngineError, RunView};

/// One thing, and the attempt it belongs to.
#[derive(Clone, Debug)]
pub struct ActivityItem {
    pub task: String,
    pub attempt: u32,
    /// Which start of an attempt it was.
    pub start: u64,
    pub activity: Activity,
    /// Where what was done after it begins.
    pub next: String,
}

/// A part of what was done, and how to go on from there.
#[derive(Clone, Debug, Default)]
pub struct ActivityPage {
    pub items: Vec<ActivityItem>,
    /// Where the next part begins.
    pub next: String,
    /// Used by all attempts so far.
    pub tokens: u64,
    pub cost: Option<f64>,
}

/// So much of an output is read at once.
const BYTES_MAX: u64 = 4 << 20;

impl Engine {
    /// What was done after a place that an earlier answer named; from the beginning without one.
    pub async fn run_activity(
        &self,
        by: &Principal,
        id: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ActivityPage, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, id).await?).await?;
        Ok(page(&view, &Place::at(&self.store, &view.run.id), after, limit))
    }
}

fn page(view: &RunView, place: &Place, after: Option<&str>, limit: usize) -> ActivityPage {
    let (after_start, after_offset) = after.and_then(place_of).unwrap_or((0, 0));
    let mut page = ActivityPage { next: format!("{after_start}:{after_offset}"), ..ActivityPage::default() };
    for (_, at, event) in &view.history {
        let RunEvent::AttemptStarted { task, attempt, start } = event else { continue };
        let path = place.output(&output_name(*start, task)).stdout;
        let Ok(mut file) = open_regular(&path) else { continue };
        let mut told = Told::default();
        let mut text = Vec::new();
        let _ = (&mut file).take(BYTES_MAX * 16).read_to_end(&mut text);
        let lines = String::from_utf8_lossy(&text);
        lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Activity>(line).ok())
            .for_each(|one| told.hear(&one));
        page.tokens = page.tokens.saturating_add(told.tokens);
        page.cost = match (page.cost, told.cost) {
            (None, None) => None,
            (before, now) => Some(before.unwrap_or(0.0) + now.unwrap_or(0.0)),
        };
        if *start < after_start || page.items.len() >= limit {
            continue;
        }
        let mut offset = if *start == after_start { after_offset } else { 0 };
        let mut bytes = Vec::new();
        let read =
            file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(BYTES_MAX).read_to_end(&mut bytes));
        if read.is_err() {
            continue;
        }
        // A line that is not whole is told the next time.
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            if page.items.len() >= limit {
                break;
            }
            offset = offset.saturating_add(line.len() as u64);
            if let Some(activity) = Activity::read(&String::from_utf8_lossy(line), *at) {
                page.items.push(ActivityItem {
                    task: task.clone(),
                    attempt: *attempt,
                    start: *start,
                    activity,
                    next: format!("{start}:{offset}"),
                });
            }
        }
        page.next = format!("{start}:{offset}");
    }
    page
}

fn place_of(text: &str) -> Option<(u64, u64)> {
    let (start, offset) = text.split_once(':')?;
    Some((start.parse().ok()?, offset.parse().ok()?))
}
