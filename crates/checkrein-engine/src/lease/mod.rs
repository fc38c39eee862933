//! Leases: a run belongs to one worker at a time, on however many machines they are.
//!
//! On a shared store a lease is over unless its worker says now and then that it is there. A run whose files are
//! on one machine alone can only be taken over there, where the locks of its files keep two from working on it;
//! so an outage of the store does not end its attempt. One that can go on anywhere is given up in time: nobody
//! elsewhere could see whether its processes are gone. A store in a file needs no terms, since all who use it
//! see the same locks.

mod claim;
mod host;
mod keeper;
mod presence;
mod view;

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use checkrein_core::config::Settings;
use checkrein_core::run::RunId;
use checkrein_store::{After, Claimant, Lease, Stays, Store};
use tokio::sync::watch;
use uuid::Uuid;

pub use self::claim::ClaimedRun;
pub(crate) use self::claim::retry_in;
pub use self::host::host_name;
pub(crate) use self::host::identity as host_identity;
use self::keeper::Keeper;
pub use self::view::{Hand, RunWhere, Stuck, Workforce};
use crate::EngineError;
use crate::process::Pulse;

/// How long a worker of a shared store has a run without saying so again.
pub const TERM: Duration = Duration::from_secs(20);
/// How often it says so.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(3);
/// After so long without an answer its attempts are ended: there is time for that before somebody else begins.
const GIVE_UP_AFTER: Duration = Duration::from_secs(14);
/// So long a run is left to others that cannot go on under this process.
const PASS_BY: Duration = Duration::from_secs(5 * 60);
/// Where all who use the store see the same locks.
const ENDLESS: Duration = Duration::MAX;

/// Who this process is among those that go on with runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// What people call it; the host and the number of the process where nobody says.
    pub name: Option<String>,
    /// Labels beside those the settings give this machine.
    pub labels: Vec<String>,
}

/// The leases this process has.
#[derive(Clone)]
pub(crate) struct Leases {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    worker: String,
    seat: Seat,
    labels: Vec<String>,
    repository_max: Option<u32>,
    host: OnceLock<String>,
    held: Mutex<HashMap<RunId, Entry>>,
    /// Runs that are left to others, until when.
    passed_by: Mutex<HashMap<RunId, Instant>>,
    keeper: OnceLock<Keeper>,
    /// Locked as long as this process is there, for others of this host to see.
    presence: OnceLock<Option<File>>,
}

struct Entry {
    epoch: u64,
    pinned: bool,
    state: watch::Sender<Fresh>,
    /// What runs attempts under this lease.
    pulses: Vec<Pulse>,
}

/// How sure it is that a lease is still ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fresh {
    /// When it is given up without another answer of the store; none where others here would see our lock.
    until: Option<Instant>,
    lost: bool,
}

impl Leases {
    pub fn new(store: Store, settings: &Settings, seat: Seat) -> Leases {
        let machine = settings.machine();
        let own = machine.into_iter().flat_map(|machine| &machine.labels).map(ToString::to_string);
        let mut labels: Vec<String> = own.chain(seat.labels.iter().cloned()).collect();
        labels.sort_unstable();
        labels.dedup();
        let inner = Inner {
            store,
            worker: Uuid::new_v4().to_string(),
            seat,
            labels,
            repository_max: machine.and_then(|machine| machine.runs_per_repository).map(Into::into),
            host: OnceLock::new(),
            held: Mutex::default(),
            passed_by: Mutex::default(),
            keeper: OnceLock::new(),
            presence: OnceLock::new(),
        };
        Leases { inner: Arc::new(inner) }
    }

    /// The place the files of runs are in, which other processes may share.
    pub fn host(&self) -> &str {
        self.inner.host.get_or_init(|| host::identity(self.inner.store.directory()))
    }

    /// Who claims runs here. From now on others of this host see whether this process is there.
    pub fn claimant(&self) -> Claimant {
        self.inner.presence.get_or_init(|| presence::take(self.inner.store.directory(), &self.inner.worker));
        let own = || format!("{}:{}", host_name(self.host()), std::process::id());
        Claimant {
            worker: self.inner.worker.clone(),
            name: self.inner.seat.name.clone().unwrap_or_else(own),
            host: self.host().to_owned(),
            labels: self.inner.labels.clone(),
            term: if self.inner.store.is_shared() { TERM } else { ENDLESS },
            repository_max: self.inner.repository_max,
            passes_by: self.passed_by().keys().map(ToString::to_string).collect(),
        }
    }

    /// Leaves a run to others for a while: whatever comes of it, this process cannot go on with it.
    pub fn pass_by(&self, run: &RunId) {
        self.passed_by().insert(run.clone(), Instant::now() + PASS_BY);
    }

    fn passed_by(&self) -> MutexGuard<'_, HashMap<RunId, Instant>> {
        let mut passed = self.inner.passed_by.lock().unwrap_or_else(PoisonError::into_inner);
        passed.retain(|_, until| *until > Instant::now());
        passed
    }

    /// What of these labels this process does not have.
    pub fn lacks(&self, requires: &[String]) -> Vec<String> {
        requires.iter().filter(|label| !self.inner.labels.contains(label)).cloned().collect()
    }

    /// Looks after a lease that was just taken at `since`, until it is dropped.
    fn keep(&self, lease: Lease, lock: Option<File>, since: Instant) -> HeldLease {
        let pinned = lease.pinned.is_some();
        let shared = self.inner.store.is_shared();
        let fresh = Fresh { until: (shared && !pinned).then(|| since + GIVE_UP_AFTER), lost: false };
        let (state, told) = watch::channel(fresh);
        let entry = Entry { epoch: lease.epoch, pinned, state, pulses: Vec::new() };
        self.entries().insert(lease.run.clone(), entry);
        if shared {
            self.start_keeper();
        }
        HeldLease { leases: self.clone(), lease, told, after: Mutex::new(After::Ready), lock }
    }

    fn start_keeper(&self) {
        self.inner.keeper.get_or_init(|| Keeper::start(&self.inner));
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<RunId, Entry>> {
        self.inner.entries()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.presence.get().is_some() {
            presence::give_up(self.store.directory(), &self.worker);
        }
    }
}

impl Inner {
    fn entries(&self) -> MutexGuard<'_, HashMap<RunId, Entry>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is this process's to go on with, until it is dropped.
pub(crate) struct HeldLease {
    leases: Leases,
    lease: Lease,
    told: watch::Receiver<Fresh>,
    after: Mutex<After>,
    /// The run's lock among the files of this host; none where a process that stands still has it.
    lock: Option<File>,
}

impl HeldLease {
    pub const fn run(&self) -> &RunId {
        &self.lease.run
    }

    pub const fn epoch(&self) -> u64 {
        self.lease.epoch
    }

    /// The host that had the run's files last, when it was taken.
    pub fn home(&self) -> Option<&str> {
        self.lease.home.as_deref().or(self.lease.pinned.as_deref())
    }

    /// Whether the run can go on here alone.
    pub fn stays(&self) -> Stays {
        let entries = self.leases.entries();
        let entry = entries.get(&self.lease.run).filter(|entry| entry.epoch == self.lease.epoch);
        if entry.is_some_and(|entry| entry.pinned) { Stays::There } else { Stays::Nowhere }
    }

    /// Whether its files are in a forge, and whoever takes it makes them anew.
    pub fn is_entrusted(&self) -> bool {
        self.stays() == Stays::Nowhere && self.home().is_some()
    }

    /// Says that the run's files are those of this host, and whether it can go on here alone.
    pub async fn set_place(&self, stays: Stays) -> Result<(), EngineError> {
        let (inner, asked) = (&self.leases.inner, Instant::now());
        // From the moment others may take it, it is given up in time, also where the answer is not heard.
        if stays == Stays::Nowhere {
            self.pin(false, Some(asked + GIVE_UP_AFTER));
        }
        let said = inner.store.set_place(self.lease.clone(), self.leases.host().to_owned(), stays, TERM);
        if !said.await? {
            return Err(EngineError::LeaseLost(self.lease.run.clone()));
        }
        if stays == Stays::There {
            self.pin(true, None);
        }
        Ok(())
    }

    fn pin(&self, pinned: bool, until: Option<Instant>) {
        let mut entries = self.leases.entries();
        if let Some(entry) = entries.get_mut(&self.lease.run).filter(|entry| entry.epoch == self.lease.epoch)
        {
            entry.pinned = pinned;
            entry.state.send_modify(|fresh| fresh.until = until);
        }
    }

    /// What becomes of the run when this is dropped.
    pub fn then(&self, after: After) {
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = after;
    }

    /// How long what runs attempts goes on without hearing of this process.
    pub fn silent_max(&self) -> Option<Duration> {
        self.leases.inner.store.is_shared().then_some(GIVE_UP_AFTER)
    }

    /// What runs attempts ends them by itself when nobody says any more that the lease is ours.
    pub fn attach(&self, pulse: Pulse) {
        if !self.leases.inner.store.is_shared() {
            return;
        }
        pulse.beat(GIVE_UP_AFTER);
        let mut entries = self.leases.entries();
        if let Some(entry) = entries.get_mut(&self.lease.run).filter(|entry| entry.epoch == self.lease.epoch)
        {
            entry.pulses.retain(Pulse::is_heard);
            entry.pulses.push(pulse);
        }
    }

    pub fn is_lost(&self) -> bool {
        let fresh = *self.told.borrow();
        fresh.lost || fresh.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Ready when the run is somebody else's, or may be.
    pub fn lost(&self) -> impl Future<Output = ()> + use<> {
        let mut told = self.told.clone();
        async move {
            loop {
                let fresh = *told.borrow_and_update();
                if fresh.lost || fresh.until.is_some_and(|until| Instant::now() >= until) {
                    return;
                }
                let passed = async {
                    match fresh.until {
                        Some(until) => tokio::time::sleep_until(until.into()).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = passed => {}
                    changed = told.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        let mut entries = self.leases.entries();
        if entries.get(&self.lease.run).is_some_and(|entry| entry.epoch == self.lease.epoch) {
            entries.remove(&self.lease.run);
        }
        drop(entries);
        if !self.is_lost() {
            let after = self.after.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let given = self.leases.inner.store.release_run(self.lease.clone(), after);
            // Where the store is away, the lease ends by itself.
            let _ = checkrein_store::block_on(given);
        }
        self.lock = None;
    }
}
