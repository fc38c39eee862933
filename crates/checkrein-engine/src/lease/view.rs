//! Who goes on with runs, what they have, and what waits for whom.

use std::time::Duration;

use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_store::{Holder, LeaseRow};
use jiff::Timestamp;

use super::{TERM, host_name, presence};
use crate::authority::{Act, require};
use crate::run::Place;
use crate::{Engine, EngineError};

/// Everybody who goes on with runs of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workforce {
    pub hands: Vec<Hand>,
    /// How many runs wait for somebody.
    pub waiting: u64,
    /// How long the first of them has waited.
    pub longest: Duration,
    /// Those that nobody who is there can take.
    pub stuck: Vec<Stuck>,
}

/// A process that goes on with runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    pub id: String,
    pub name: String,
    pub host: String,
    pub labels: Vec<String>,
    /// How many runs it takes at once; none for somebody who drives the one it started.
    pub runs: Option<u32>,
    pub started_at: Option<Timestamp>,
    pub seen_at: Option<Timestamp>,
    pub alive: bool,
    pub holds: Vec<LeaseRow>,
}

/// Runs that wait, and why nobody takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    pub count: u64,
    pub longest: Duration,
    pub why: String,
}

/// Where a run stands with regard to workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWhere {
    /// Who has it.
    pub holder: Option<Holder>,
    /// The one host its files are on, as people call it.
    pub pinned: Option<String>,
    /// Why it is that one, after its name.
    pub pinned_because: Option<String>,
    pub requires: Vec<String>,
    /// Since when it waits for somebody.
    pub waits_since: Option<Timestamp>,
    /// Why nobody takes it.
    pub stuck: Option<String>,
}

impl Engine {
    /// Everybody who goes on with runs, and what waits.
    pub async fn workforce(&self, by: &Principal) -> Result<Workforce, EngineError> {
        require(by, Act::Read)?;
        let mut hands = self.hands().await?;
        let queue = self.store.queue().await?;
        let stuck = queue.iter().filter_map(|group| {
            let why = why_stuck(&hands, group.pinned.as_deref(), &group.requires)?;
            Some(Stuck { count: group.count, longest: group.longest, why })
        });
        let stuck = stuck.collect();
        for row in self.store.leases().await? {
            let Some(holder) = &row.holder else { continue };
            match hands.iter_mut().find(|hand| hand.id == holder.worker) {
                Some(hand) => hand.holds.push(row),
                None => hands.push(Hand {
                    id: holder.worker.clone(),
                    name: holder.name.clone(),
                    host: holder.host.clone(),
                    labels: Vec::new(),
                    runs: None,
                    started_at: None,
                    seen_at: None,
                    alive: self.is_held(&row.run, holder),
                    holds: vec![row],
                }),
            }
        }
        Ok(Workforce {
            waiting: queue.iter().map(|group| group.count).sum(),
            longest: queue.iter().map(|group| group.longest).max().unwrap_or_default(),
            hands,
            stuck,
        })
    }

    /// Where a run stands with regard to workers.
    pub async fn run_where(&self, by: &Principal, id: &RunId) -> Result<RunWhere, EngineError> {
        require(by, Act::Read)?;
        let Some(row) = self.store.lease(id.as_str()).await? else {
            return Ok(RunWhere {
                holder: None,
                pinned: None,
                pinned_because: None,
                requires: Vec::new(),
                waits_since: None,
                stuck: None,
            });
        };
        let holder = row.holder.filter(|holder| self.is_held(id, holder));
        let now = self.store.database_clock().await?;
        let waits_since = row.due_at.filter(|due| holder.is_none() && *due <= now);
        let stuck = match waits_since {
            Some(_) => why_stuck(&self.hands().await?, row.pinned.as_deref(), &row.requires),
            None => None,
        };
        let pinned = row.pinned.map(|host| host_name(&host).to_owned());
        let pinned_because = match &pinned {
            Some(_) => self.why_pinned(id).await?,
            None => None,
        };
        Ok(RunWhere { holder, pinned, pinned_because, requires: row.requires, waits_since, stuck })
    }

    async fn why_pinned(&self, id: &RunId) -> Result<Option<String>, EngineError> {
        let Some(stored) = self.store.run(id.as_str()).await? else { return Ok(None) };
        let definition = self.definition(&stored.run.definition).await?;
        let tied = self.tied(&definition);
        Ok(Some(tied.unwrap_or("until its branches are in its forge").to_owned()))
    }

    /// The host the files of a run are on, if it is another one than this.
    pub async fn other_host_of(&self, id: &str) -> Result<Option<String>, EngineError> {
        if !self.store.is_shared() {
            return Ok(None);
        }
        let pinned = self.store.lease(id).await?.and_then(|row| row.pinned);
        Ok(pinned.filter(|host| host != self.leases.host()).map(|host| host_name(&host).to_owned()))
    }

    /// Whether a holder is there, as far as can be seen from here.
    pub(crate) fn is_held(&self, run: &RunId, holder: &Holder) -> bool {
        let here = holder.host == self.leases.host();
        let there = || presence::is_there(self.store.directory(), &holder.worker);
        !holder.expired && (!here || there() || !Place::at(&self.store, run).is_free())
    }

    /// Whether a run is under way, and nobody drives it.
    pub async fn is_left(&self, id: &RunId) -> Result<bool, EngineError> {
        let row = self.store.lease(id.as_str()).await?;
        let holder = row.and_then(|row| row.holder);
        Ok(!holder.is_some_and(|holder| self.is_held(id, &holder)) && Place::at(&self.store, id).is_free())
    }

    /// Processes that take up runs, without what they have.
    async fn hands(&self) -> Result<Vec<Hand>, EngineError> {
        let rows = self.store.worker_rows().await?;
        let hands = rows.into_iter().map(|row| {
            let alive = if row.host == self.leases.host() {
                presence::is_there(self.store.directory(), &row.id)
            } else {
                row.silent < TERM
            };
            Hand {
                id: row.id,
                name: row.name,
                host: row.host,
                labels: row.labels,
                runs: Some(row.runs),
                started_at: Some(row.started_at),
                seen_at: Some(row.seen_at),
                alive,
                holds: Vec::new(),
            }
        });
        Ok(hands.collect())
    }

    /// Makes this process known as one that takes up so many runs at once.
    pub async fn enter(&self, runs: u32) -> Result<(), EngineError> {
        self.store.register_worker(self.leases.claimant(), runs).await?;
        if self.store.is_shared() {
            self.leases.start_keeper();
        }
        Ok(())
    }

    /// Takes this process out of those that take up runs.
    pub async fn leave(&self) -> Result<(), EngineError> {
        Ok(self.store.unregister_worker(self.leases.claimant().worker).await?)
    }
}

/// Why nobody who is there takes up a run with these needs; none where somebody does.
fn why_stuck(hands: &[Hand], pinned: Option<&str>, requires: &[String]) -> Option<String> {
    let alive = || hands.iter().filter(|hand| hand.alive && hand.runs.is_some());
    let here = || alive().filter(|hand| pinned.is_none_or(|host| hand.host == host));
    let fits = |hand: &Hand| requires.iter().all(|label| hand.labels.contains(label));
    if here().any(fits) {
        return None;
    }
    let wanted = requires.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    let place = pinned.map(|host| format!("its files are on `{}`", host_name(host)));
    Some(match (place, here().next()) {
        (Some(place), None) if requires.is_empty() => format!("{place}, where no worker runs"),
        (Some(place), None) => format!("{place}, where no worker runs, and it requires {wanted}"),
        (Some(place), Some(_)) => format!("{place}, where no worker has {wanted}"),
        (None, _) if requires.is_empty() => "no worker runs".to_owned(),
        (None, _) => format!("no worker that runs has {wanted}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nobody_takes_a_run_is_said() {
        let hand = |host: &str, labels: &[&str], alive: bool| Hand {
            id: host.to_owned(),
            name: host.to_owned(),
            host: format!("{host}#1"),
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            runs: Some(1),
            started_at: None,
            seen_at: None,
            alive,
            holds: Vec::new(),
        };
        let hands = [hand("a", &["gpu"], true), hand("b", &[], true), hand("c", &["arm"], false)];
        for (pinned, requires, why) in [
            (None, &[][..], None),
            (Some("a#1"), &["gpu"], None),
            (None, &["arm"], Some("no worker that runs has `arm`")),
            (None, &["gpu", "arm"], Some("no worker that runs has `gpu`, `arm`")),
            (Some("b#1"), &["gpu"], Some("its files are on `b`, where no worker has `gpu`")),
            (Some("c#1"), &[], Some("its files are on `c`, where no worker runs")),
            (Some("d#1"), &["x"], Some("its files are on `d`, where no worker runs, and it requires `x`")),
        ] {
            let requires: Vec<String> = requires.iter().map(|&label| label.to_owned()).collect();
            assert_eq!(why_stuck(&hands, pinned, &requires).as_deref(), why, "{pinned:?} {requires:?}");
        }
        assert_eq!(why_stuck(&[], None, &[]).as_deref(), Some("no worker runs"));
    }
}
