//! Tells the world outside what happens: what `serve` and `worker` do beside going on with runs.
//!
//! Events become deliveries in one commit with how far a webhook was told, so nothing is lost and nothing
//! told twice. A delivery is claimed before it is sent, and keeps its id however often that is.

mod attempt;
mod fan_out;
mod http;
mod smtp;
mod target;

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use checkrein_store::Position;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch as notice;
use uuid::Uuid;

pub(crate) use target::{check, kind_of};

use crate::{Engine, EngineError, LOOK_EVERY, Shift};

/// What sends, made when first needed.
#[derive(Debug, Default)]
pub(crate) struct Senders(http::Clients);

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Arrived {
        answer: String,
    },
    Failed {
        answer: String,
        retry_after: Option<Duration>,
    },
    /// It wants nothing any more.
    Gone {
        answer: String,
    },
}

impl Outcome {
    fn failed(answer: String) -> Outcome {
        Outcome::Failed { answer, retry_after: None }
    }
}

/// How long one attempt may take.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Whoever claimed a delivery and said nothing for so long is dead. Longer than an attempt can take.
const LEASE: SignedDuration = SignedDuration::from_secs(60);
/// So many attempts go to one webhook at once; the others are not kept waiting by them.
const AT_ONCE_MAX: usize = 4;
/// How long attempts under way are waited for in the end.
const FINISH_MAX: Duration = Duration::from_secs(10);
/// Who commits a thousand times a second is not looked after a thousand times.
const LOOK_MIN: Duration = Duration::from_millis(20);
const TRY_AGAIN: Duration = Duration::from_secs(5);
const PRUNE_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// How long it can be seen what became of a delivery.
const DELIVERED_KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
const DEAD_KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

type Sending<'e> = Pin<Box<dyn Future<Output = String> + Send + 'e>>;

/// What one who delivers remembers.
struct Round<'e> {
    lease: String,
    /// How far the log was read for each webhook.
    read: HashMap<String, Position>,
    /// How many attempts are under way for each webhook.
    counts: HashMap<String, usize>,
    under_way: FuturesUnordered<Sending<'e>>,
    pruned_at: Option<Timestamp>,
}

impl Engine {
    /// Tells webhooks what happens, until `stop` becomes true. What is said to `warn` stops nothing.
    pub async fn deliver(&self, shift: Shift, stop: &notice::Receiver<bool>, warn: &(dyn Fn(String) + Sync)) {
        let mut stopped = stop.clone();
        let mut round = Round {
            lease: Uuid::new_v4().to_string(),
            read: HashMap::new(),
            counts: HashMap::new(),
            under_way: FuturesUnordered::new(),
            pruned_at: None,
        };
        while !*stop.borrow() {
            match self.deliver_until_stopped(shift, &mut stopped, &mut round).await {
                Ok(()) => break,
                Err(error) => {
                    warn(format!("notifications will be tried again: {error}"));
                    if shift == Shift::Once {
                        break;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(TRY_AGAIN) => {}
                        _ = stopped.wait_for(|stop| *stop) => {}
                    }
                }
            }
        }
        let finish = async { while round.under_way.next().await.is_some() {} };
        if tokio::time::timeout(FINISH_MAX, finish).await.is_err() {
            round.under_way.clear();
            // Somebody else may send them at once; where this fails they count as lost after a while.
            let _ = self.store.release_deliveries(round.lease, self.now()).await;
        }
    }

    async fn deliver_until_stopped<'e>(
        &'e self,
        shift: Shift,
        stopped: &mut notice::Receiver<bool>,
        round: &mut Round<'e>,
    ) -> Result<(), EngineError> {
        let mut changes = self.store.changes()?;
        loop {
            changes.borrow_and_update();
            self.tell_webhooks(&mut round.read).await?;
            self.begin_deliveries(round).await?;
            self.prune_deliveries(round).await?;
            if shift == Shift::Once && round.under_way.is_empty() {
                return Ok(());
            }
            let wait = self.until_due(!round.under_way.is_empty()).await?;
            let changed = tokio::select! {
                Some(webhook) = round.under_way.next(), if !round.under_way.is_empty() => {
                    if let Some(count) = round.counts.get_mut(&webhook) {
                        *count = count.saturating_sub(1);
                    }
                    false
                }
                changed = changes.changed() => changed.is_ok(),
                () = tokio::time::sleep(wait) => false,
                _ = stopped.wait_for(|stop| *stop) => return Ok(()),
            };
            if changed {
                tokio::time::sleep(LOOK_MIN).await;
            }
        }
    }

    /// Claims and begins what is due, as far as each webhook has room.
    async fn begin_deliveries<'e>(&'e self, round: &mut Round<'e>) -> Result<(), EngineError> {
        for id in self.store.due_webhooks(self.now()).await? {
            let count = round.counts.entry(id.clone()).or_default();
            let room = AT_ONCE_MAX.saturating_sub(*count);
            if room == 0 {
                continue;
            }
            let Some(webhook) = self.store.webhook(&id).await? else { continue };
            let now = self.now();
            let claimed = self
                .store
                .claim_deliveries(id.clone(), round.lease.clone(), (now, now + LEASE), room)
                .await?;
            for delivery in claimed {
                *count += 1;
                let (webhook, lease) = (webhook.clone(), round.lease.clone());
                round.under_way.push(Box::pin(async move {
                    // What could not be recorded counts as lost, and is sent again under the same id.
                    let _ = self.attempt_delivery(&webhook, &delivery, lease).await;
                    webhook.id
                }));
            }
        }
        Ok(())
    }

    async fn prune_deliveries(&self, round: &mut Round<'_>) -> Result<(), EngineError> {
        let now = self.now();
        if round.pruned_at.is_none_or(|at| now.duration_since(at) >= PRUNE_EVERY) {
            round.pruned_at = Some(now);
            self.store.prune_deliveries(now - DELIVERED_KEPT, now - DEAD_KEPT).await?;
        }
        Ok(())
    }

    /// How long nothing needs to be done.
    async fn until_due(&self, busy: bool) -> Result<Duration, EngineError> {
        let due = self.store.next_delivery().await?;
        let wait = due.map(|due| due.duration_since(self.now()));
        let wait = wait.map_or(LOOK_EVERY, |wait| wait.try_into().unwrap_or_default());
        // What is due and was not begun waits for room.
        let least = if busy { Duration::from_secs(1) } else { Duration::from_millis(20) };
        Ok(wait.clamp(least, LOOK_EVERY))
    }
}
