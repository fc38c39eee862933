//! Who goes on with which run.

use std::time::Duration;

use checkrein_core::run::RunId;

use super::{Backend, Store};
use crate::StoreError;
use crate::lease::{
    self, After, Claimant, Claimed, Lease, LeaseRow, Queued, Reach, Renewed, Standing, Stays, WorkerRow,
};
use crate::postgres::{self, Again};
use crate::sql::Connection;

impl Store {
    /// Claims up to so many runs, those first that have waited longest.
    pub async fn claim_runs(&self, by: Claimant, count: usize) -> Result<Vec<Lease>, StoreError> {
        if count == 0 || !self.read(|connection| lease::is_wanted(connection, &by))? {
            return Ok(Vec::new());
        }
        // Who counts the runs of a repository must not count at the same time as others.
        if by.repository_max.is_some() {
            let work = move |connection: &Connection| lease::claim(connection, &by, count);
            return self.writer()?.run(work).await;
        }
        self.quickly(move |connection| lease::claim(connection, &by, count)).await
    }

    /// Claims one run, whether or not it is due.
    pub async fn claim_run(
        &self,
        run: String,
        by: Claimant,
        standing: Standing,
        reach: Reach,
    ) -> Result<Claimed, StoreError> {
        self.quickly(move |connection| lease::claim_run(connection, &run, &by, standing, reach)).await
    }

    /// Says that a worker is there, and goes on with these runs, under these epochs, for another term.
    pub async fn renew_leases(
        &self,
        worker: String,
        kept: Vec<(RunId, u64)>,
        term: Duration,
    ) -> Result<Renewed, StoreError> {
        self.quickly(move |connection| lease::renew(connection, &worker, &kept, term)).await
    }

    /// Gives a run back.
    pub async fn release_run(&self, held: Lease, after: After) -> Result<(), StoreError> {
        let heard = matches!(after, After::Ready | After::Elsewhere(_));
        let work = move |connection: &Connection| lease::release(connection, &held, &after);
        // Whoever could go on with it is told by the commit.
        if heard { self.writer()?.run(work).await } else { self.quickly(work).await }
    }

    /// Ends a lease whose holder is known to be gone.
    pub async fn abandon_lease(&self, run: String, epoch: u64) -> Result<bool, StoreError> {
        self.quickly(move |connection| lease::abandon(connection, &run, epoch)).await
    }

    /// Says whether the holder of a lease has the run's lock on its host.
    pub async fn set_lease_locked(&self, run: String, epoch: u64, locked: bool) -> Result<(), StoreError> {
        self.quickly(move |connection| lease::set_locked(connection, &run, epoch, locked)).await
    }

    /// Says that the files of a run are those of `home`, and whether it can go on there alone; whether the lease is
    /// still the last one.
    pub async fn set_place(
        &self,
        lease: Lease,
        home: String,
        stays: Stays,
        term: Duration,
    ) -> Result<bool, StoreError> {
        self.quickly(move |connection| lease::set_place(connection, &lease, &home, stays, term)).await
    }

    /// Says where the files of all runs are now, and that nobody has one. For a store that was just moved.
    pub async fn settle_leases(&self, host: Option<String>) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| lease::settle(connection, host.as_deref())).await
    }

    /// Lets somebody look at a run that waits.
    pub async fn wake_run(&self, run: String) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| lease::wake(connection, &run)).await
    }

    /// Where a run stands with regard to workers.
    pub async fn lease(&self, run: &str) -> Result<Option<LeaseRow>, StoreError> {
        self.read(|connection| lease::get(connection, run))
    }

    /// Every run that somebody has.
    pub async fn leases(&self) -> Result<Vec<LeaseRow>, StoreError> {
        self.read(lease::held)
    }

    /// Runs that wait for somebody, by what they need.
    pub async fn queue(&self) -> Result<Vec<Queued>, StoreError> {
        self.read(lease::queue)
    }

    /// Runs in a repository that can go on on any host, and wait for something there.
    pub async fn runs_in_repository(&self, repository: &str) -> Result<Vec<RunId>, StoreError> {
        self.read(|connection| lease::in_repository(connection, repository))
    }

    /// The first of those that wait, in the order they are taken.
    pub async fn waiting_runs(&self, limit: usize) -> Result<Vec<LeaseRow>, StoreError> {
        self.read(|connection| lease::waiting(connection, limit))
    }

    /// Makes a worker known that takes so many runs at once.
    pub async fn register_worker(&self, by: Claimant, runs: u32) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| lease::register(connection, &by, runs)).await
    }

    pub async fn unregister_worker(&self, worker: String) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| lease::unregister(connection, &worker)).await
    }

    /// Workers that are or were there.
    pub async fn worker_rows(&self) -> Result<Vec<WorkerRow>, StoreError> {
        self.read(lease::workers)
    }

    /// Whether several machines may use it at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.inner.backend, Backend::Postgres(_))
    }

    /// Changes that no reader of the log is told of. On PostgreSQL they do not stand in line with commits:
    /// one statement is one transaction there.
    async fn quickly<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.writer()?.run(work).await,
            Backend::Postgres(postgres) => postgres::stepping_aside(|| {
                postgres.read(|connection| Again { result: work(connection), repeatable: true })
            }),
        }
    }
}
