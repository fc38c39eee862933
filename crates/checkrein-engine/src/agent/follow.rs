//! Hears what an agent tells while it works, and ends it when its budget is used up.

use std::path::Path;
use std::time::{Duration, Instant};

use checkrein_agent::LineTail;
use checkrein_core::activity::{Activity, Told};
use checkrein_core::policy::Policy;
use checkrein_core::run::job::{Spent, over_budget};
use checkrein_core::run::{Run, RunEvent};
use jiff::Timestamp;

use crate::RunView;
use crate::run::{Place, output_name};

/// How often somebody listens.
const LISTEN_EVERY: Duration = Duration::from_millis(250);

/// Reads the lines of an output as it grows.
pub(crate) struct Follower {
    lines: LineTail,
    pub told: Told,
}

impl Follower {
    pub fn of(path: &Path) -> Follower {
        Follower { lines: LineTail::of(path), told: Told::default() }
    }

    /// Takes in what is new.
    pub fn listen(&mut self) {
        for line in self.lines.new_lines() {
            if let Ok(activity) = serde_json::from_str::<Activity>(&line) {
                self.told.hear(&activity);
            }
        }
    }

    pub fn spent(&self, begun: Instant) -> Spent {
        let time_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Spent { tokens: self.told.tokens, cost: self.told.cost.unwrap_or(0.0), time_ms }
    }

    /// Ready once the budget is used up, with the words for it.
    pub async fn until_over(&mut self, policy: &Policy, before: Spent, begun: Instant) -> String {
        let budget = policy.budget;
        if budget.tokens.is_none() && budget.cost.is_none() && budget.time.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.listen();
            let mut spent = before;
            spent.add(self.spent(begun));
            if let Some(text) = over_budget(policy, spent) {
                return text;
            }
            tokio::time::sleep(LISTEN_EVERY).await;
        }
    }
}

/// What the attempt under way has used so far, as far as is known: for an attempt that will not tell it itself.
pub(crate) fn used_so_far(view: &RunView, place: &Place) -> Option<(u64, Spent)> {
    let run: &Run = &view.run;
    let (_, job) = run.job()?;
    let start = run.state.under_way.as_ref()?.start;
    let output = place.output(&output_name(start, &job.phase.name()));
    let mut follower = Follower::of(&output.stdout);
    follower.listen();
    let begun = view.history.iter().rev().find_map(|(_, at, event)| match event {
        RunEvent::AttemptStarted { start: known, .. } if *known == start => Some(*at),
        _ => None,
    })?;
    // When its engine died nobody knows; what it wrote last is the last that is known.
    let last = [&output.stdout, &output.stderr].into_iter().filter_map(|path| {
        let changed = path.metadata().and_then(|found| found.modified()).ok()?;
        Timestamp::try_from(changed).ok()
    });
    let last = last.max().unwrap_or(begun);
    let time_ms = u64::try_from(last.duration_since(begun).as_millis()).unwrap_or(0);
    let told = follower.told;
    let spent = Spent { tokens: told.tokens, cost: told.cost.unwrap_or(0.0), time_ms };
    (spent.tokens > 0 || spent.cost > 0.0 || spent.time_ms > 0).then_some((start, spent))
}
