//! Who goes on with runs, as programs see it.

use checkrein_engine::{Hand, RunWhere, Stuck, Workforce, host_name};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::Page;
use super::worker::Worker;

/// Workers of the settings, and the processes that go on with runs
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// Workers that have an entry in the settings
    #[serde(flatten)]
    pub declared: Page<Worker>,
    /// Processes that go on with runs
    pub processes: Vec<Process>,
    pub queue: Queue,
}

/// A process that goes on with runs
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    pub id: String,
    pub name: String,
    /// The machine its files are on
    pub host: String,
    pub alive: bool,
    pub labels: Vec<String>,
    /// How many runs it takes at once; null for somebody at a terminal who drives the one they started
    pub runs: Option<u32>,
    /// Null for somebody at a terminal
    pub started_at: Option<Timestamp>,
    /// When it last said that it is there; on a store in a file it does not have to
    pub seen_at: Option<Timestamp>,
    pub holds: Vec<HeldRun>,
}

/// A run that a process has
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldRun {
    pub run_id: String,
    pub since: Timestamp,
    /// Grows each time the run changes hands
    pub epoch: u64,
}

/// Runs that wait for somebody to go on
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    pub waiting: u64,
    /// How long the first of them has waited
    pub longest_ms: u64,
    /// Those that nobody who is there can take
    pub stuck: Vec<StuckRuns>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StuckRuns {
    pub runs: u64,
    pub longest_ms: u64,
    pub why: String,
}

/// Where a run can go on, and who has it
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Who goes on with it now
    pub worker: Option<String>,
    /// The machine that worker is on
    pub host: Option<String>,
    /// The only machine it can go on at, since its files are there alone
    pub pinned: Option<String>,
    /// Why it is that one: words that follow its name
    pub pinned_because: Option<String>,
    /// Labels a worker must have
    pub requires: Vec<String>,
    /// Since when it waits for a worker
    pub waits_since: Option<Timestamp>,
    /// Why no worker takes it
    pub stuck: Option<String>,
}

impl Workers {
    pub fn of(declared: Page<Worker>, found: &Workforce) -> Workers {
        Workers {
            declared,
            processes: found.hands.iter().map(Process::from).collect(),
            queue: Queue {
                waiting: found.waiting,
                longest_ms: milliseconds(found.longest),
                stuck: found.stuck.iter().map(StuckRuns::from).collect(),
            },
        }
    }
}

impl From<&Hand> for Process {
    fn from(hand: &Hand) -> Process {
        let held = hand.holds.iter().filter_map(|row| {
            let since = row.holder.as_ref()?.taken_at;
            Some(HeldRun { run_id: row.run.to_string(), since, epoch: row.epoch })
        });
        Process {
            id: hand.id.clone(),
            name: hand.name.clone(),
            host: host_name(&hand.host).to_owned(),
            alive: hand.alive,
            labels: hand.labels.clone(),
            runs: hand.runs,
            started_at: hand.started_at,
            seen_at: hand.seen_at,
            holds: held.collect(),
        }
    }
}

impl From<&Stuck> for StuckRuns {
    fn from(stuck: &Stuck) -> StuckRuns {
        StuckRuns { runs: stuck.count, longest_ms: milliseconds(stuck.longest), why: stuck.why.clone() }
    }
}

impl From<&RunWhere> for Placement {
    fn from(found: &RunWhere) -> Placement {
        Placement {
            worker: found.holder.as_ref().map(|holder| holder.name.clone()),
            host: found.holder.as_ref().map(|holder| host_name(&holder.host).to_owned()),
            pinned: found.pinned.clone(),
            pinned_because: found.pinned_because.clone(),
            requires: found.requires.clone(),
            waits_since: found.waits_since,
            stuck: found.stuck.clone(),
        }
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
