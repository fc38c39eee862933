//! Who goes on with which run: each run belongs to one worker at a time.
//!
//! A lease has an epoch that grows whenever the run changes hands, and every change a worker makes to a run
//! names the epoch it has: one that was overtaken changes nothing any more. Times are those of the store's
//! clock, since workers' clocks need not agree.

use std::time::Duration;

use checkrein_core::run::{RunId, RunStatus};
use jiff::Timestamp;

use crate::sql::{Connection, Kind, OptionalExtension, Row, params};
use crate::{CommitError, StoreError};

/// Where a run can go on, as it stands after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Labels a worker must have.
    pub requires: Vec<String>,
    /// The one host its files are on. Said when it is made; later changes do not move it.
    pub host: Option<String>,
    /// What counts as one repository where runs of one are limited. Said when it is made.
    pub repository: Option<String>,
    /// When somebody is to look at it again, though it waits for a person or is paused.
    pub wake_in: Option<Duration>,
}

/// Somebody who goes on with runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// A name that no other process ever has.
    pub worker: String,
    /// What people call it.
    pub name: String,
    pub host: String,
    pub labels: Vec<String>,
    /// How long it has a run without saying so again.
    pub term: Duration,
    /// So many runs of one repository go on at once.
    pub repository_max: Option<u32>,
    /// Runs it leaves to others, since it found that it cannot go on with them.
    pub passes_by: Vec<String>,
}

/// A run that belongs to whoever claimed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub run: RunId,
    pub epoch: u64,
    /// Since when it was to go on, as a mark: it changes with every new reason.
    pub due: Option<i64>,
    /// Whoever had it did not give it back.
    pub left_behind: bool,
    /// The one host its files are on.
    pub pinned: Option<String>,
    /// The host that had them last, of a run that has gone on on several.
    pub home: Option<String>,
}

/// What gives a right to a run that somebody may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has the run's lock on its host: whoever had it there is gone.
    Locked,
    /// It has not: only what was left behind can be taken.
    Unlocked,
}

/// Whether a run may be claimed by a host that does not have its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only to go on with it.
    Here,
    /// To change something about it.
    Anywhere,
}

/// Whether a run can go on where its files are alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    There,
    /// Others can have all it needs.
    Nowhere,
}

/// What came of a claim of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    Taken(Lease),
    /// Somebody else has it, or it lies elsewhere.
    Refused(LeaseRow),
    NoRun,
}

/// What becomes of a run that is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Somebody else may go on at once.
    Ready,
    /// The same, if they have these labels.
    Elsewhere(Vec<String>),
    /// It waits for something that happened or will happen in the store.
    Waits,
    /// It is to be tried again after a while.
    Again(Duration),
}

/// Where a run stands with regard to workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    pub run: RunId,
    pub epoch: u64,
    /// Since when somebody is to go on with it; none while it waits for a person or is over.
    pub due_at: Option<Timestamp>,
    pub holder: Option<Holder>,
    pub pinned: Option<String>,
    /// The host that had its files last, of a run that has gone on on several.
    pub home: Option<String>,
    pub requires: Vec<String>,
    pub repository: Option<String>,
}

/// Who has a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub worker: String,
    pub name: String,
    pub host: String,
    pub taken_at: Timestamp,
    pub expires_at: Timestamp,
    /// Whether it is over, by the store's clock.
    pub expired: bool,
    /// Whether it has the run's lock on its host.
    pub locked: bool,
}

/// A process that takes up runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    pub id: String,
    pub name: String,
    pub host: String,
    pub labels: Vec<String>,
    /// How many runs it takes at once.
    pub runs: u32,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// How long ago that was, by the store's clock.
    pub silent: Duration,
}

/// Runs that wait for the same kind of worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub pinned: Option<String>,
    pub requires: Vec<String>,
    pub count: u64,
    /// How long the first of them has waited, by the store's clock.
    pub longest: Duration,
}

/// What the store's clock says in milliseconds, the same throughout a statement.
const fn now(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        Kind::Postgres => "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)",
    }
}

const COLUMNS: &str = "run, epoch, due_ms, worker, name, host, taken_ms, expires_ms, locked, pinned, requires, \
                       repository, home";

/// Keeps up with a change of a run. Where it is made under a lease, that must still be the last one.
pub(crate) fn follow(
    connection: &Connection,
    run: &str,
    status: RunStatus,
    needs: &Needs,
    epoch: Option<u64>,
) -> Result<(), CommitError> {
    let now = now(connection.kind());
    let held = status == RunStatus::Held;
    let wait_ms = match status {
        RunStatus::Created | RunStatus::Running => 0,
        RunStatus::Held | RunStatus::Paused => needs.wake_in.map_or(-1, |wait| milliseconds(wait).max(1)),
        _ => -1,
    };
    let requires = labels(&needs.requires);
    let epoch = epoch.map(u64::cast_signed);
    // Whoever has waited longest comes first, however often it is changed while it waits. An answer that came
    // is not forgotten because somebody said something else about the run.
    let changed = connection
        .prepare_cached(&format!(
            "UPDATE leases SET requires = ?2, held = ?5,
                    due_ms = CASE WHEN CAST(?5 AS BIGINT) = 1 AND held = 1 THEN due_ms
                                  WHEN CAST(?4 AS BIGINT) < 0 THEN NULL
                                  WHEN CAST(?4 AS BIGINT) = 0 AND due_ms IS NOT NULL THEN due_ms
                                  ELSE {now} + CAST(?4 AS BIGINT) END
             WHERE run = ?1 AND (?3 IS NULL OR epoch = ?3)"
        ))?
        .execute(params![run, requires, epoch, wait_ms, i64::from(held)])?;
    if changed == 1 {
        return Ok(());
    }
    if epoch.is_some() {
        return Err(CommitError::LeaseLost);
    }
    connection
        .prepare_cached(&format!(
            "INSERT INTO leases (run, epoch, due_ms, held, pinned, requires, repository)
             VALUES (?1, 0, CASE WHEN CAST(?4 AS BIGINT) >= 0 THEN {now} + CAST(?4 AS BIGINT) END, ?5, ?3, ?2, ?6)"
        ))?
        .execute(params![
            run,
            requires,
            needs.host.as_deref().unwrap_or_default(),
            wait_ms,
            i64::from(held),
            needs.repository
        ])?;
    Ok(())
}

/// Gives a run that is being made to whoever makes it, under the first epoch.
pub(crate) fn claim_new(connection: &Connection, run: &str, by: &Claimant) -> Result<(), StoreError> {
    connection
        .prepare_cached(&format!(
            "UPDATE leases SET {} WHERE run = ?5 AND epoch = 0",
            taking(now(connection.kind()), 1)
        ))?
        .execute(params![by.worker, by.name, by.host, milliseconds(by.term), run])?;
    Ok(())
}

/// What a run waited for has happened.
pub(crate) fn wake(connection: &Connection, run: &str) -> Result<(), StoreError> {
    let now = now(connection.kind());
    // Another mark than before, so that whoever gives it back knows that something came. What nobody has is due now.
    connection
        .prepare_cached(&format!(
            "UPDATE leases SET due_ms = CASE WHEN worker IS NOT NULL AND due_ms >= {now} AND due_ms < {now} + 1000
                                                 THEN due_ms + 1
                                             ELSE {now} END
             WHERE run = ?1 AND EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND status IN ('created', 'running', 'held'))"
        ))?
        .execute([run])?;
    Ok(())
}

pub(crate) fn forget(connection: &Connection, run: &str) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM leases WHERE run = ?1")?.execute([run])?;
    Ok(())
}

/// Whether there is anything for the claimant. Looking costs less than claiming.
pub(crate) fn is_wanted(connection: &Connection, by: &Claimant) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM ({}) AS picked", candidates(connection.kind(), Picked::Looked));
    let given = params![labels(&by.labels), by.host, repository_max(by), 1_i64, labels(&by.passes_by)];
    Ok(connection.prepare_cached(&sql)?.exists(given)?)
}

/// Claims what has waited longest of what the claimant can do.
pub(crate) fn claim(connection: &Connection, by: &Claimant, count: usize) -> Result<Vec<Lease>, StoreError> {
    let kind = connection.kind();
    let mut claim = connection.prepare_cached(&format!(
        "WITH first AS MATERIALIZED
             (SELECT run FROM ({}) AS picked ORDER BY ready_ms, run LIMIT CAST(?4 AS BIGINT))
         UPDATE leases SET {} WHERE run IN (SELECT run FROM first) RETURNING {TAKEN}",
        candidates(kind, Picked::Taken),
        taking(now(kind), 6)
    ))?;
    // Two runs of one repository must not be counted as one.
    let count = if by.repository_max.is_some() { count.min(1) } else { count };
    let given = params![
        labels(&by.labels),
        by.host,
        repository_max(by),
        i64::try_from(count).unwrap_or(i64::MAX),
        labels(&by.passes_by),
        by.worker,
        by.name,
        by.host,
        milliseconds(by.term),
    ];
    let taken = claim.query_map(given, |row| Ok(read_lease(row)))?;
    let mut taken: Vec<Lease> = taken.map(|row| row?).collect::<Result<_, _>>()?;
    taken.sort_by(|a, b| (a.due, &a.run).cmp(&(b.due, &b.run)));
    Ok(taken)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Picked {
    Looked,
    /// Nobody else takes them at the same time.
    Taken,
}

/// The first of what is ready, with `run` and `ready_ms`. Expects labels, host, how many runs one repository may
/// have (less than none: any number), how many are wanted, and which are not.
fn candidates(kind: Kind, picked: Picked) -> String {
    let now = now(kind);
    let fits = match kind {
        Kind::Sqlite => {
            "NOT EXISTS (SELECT 1 FROM json_each(l.requires) AS r
                         WHERE r.value NOT IN (SELECT value FROM json_each(?1)))"
        }
        Kind::Postgres => "CAST(l.requires AS JSONB) <@ CAST(CAST(?1 AS TEXT) AS JSONB)",
    };
    let passed = match kind {
        Kind::Sqlite => "SELECT value FROM json_each(?5)",
        Kind::Postgres => "SELECT jsonb_array_elements_text(CAST(CAST(?5 AS TEXT) AS JSONB))",
    };
    let skip =
        if kind == Kind::Postgres && picked == Picked::Taken { "FOR UPDATE OF l SKIP LOCKED" } else { "" };
    // Each by its own index: what is for anybody, and what is for this host alone.
    let of = |pinned: &str| {
        format!(
            "SELECT * FROM (SELECT l.run, l.ready_ms FROM leases AS l
              WHERE l.pinned = {pinned} AND l.ready_ms <= {now} AND {fits} AND l.run NOT IN ({passed})
                AND (l.repository IS NULL OR CAST(?3 AS BIGINT) < 0
                     OR (SELECT count(*) FROM leases AS h WHERE h.repository = l.repository
                         AND h.worker IS NOT NULL AND h.expires_ms > {now}) < CAST(?3 AS BIGINT))
              ORDER BY l.ready_ms, l.run LIMIT CAST(?4 AS BIGINT) {skip}) AS of_one_kind"
        )
    };
    format!("{} UNION ALL {}", of("''"), of("?2"))
}

fn repository_max(by: &Claimant) -> i64 {
    by.repository_max.map_or(-1, i64::from)
}

/// Claims one run, whether or not it is due.
pub(crate) fn claim_run(
    connection: &Connection,
    run: &str,
    by: &Claimant,
    standing: Standing,
    reach: Reach,
) -> Result<Claimed, StoreError> {
    let now = now(connection.kind());
    let free = match standing {
        Standing::Locked => {
            format!("(worker IS NULL OR expires_ms <= {now} OR worker = ?1 OR (locked = 1 AND host = ?3))")
        }
        Standing::Unlocked => format!("(worker IS NOT NULL AND worker <> ?1 AND expires_ms <= {now})"),
    };
    let here = match reach {
        Reach::Here => "(pinned = '' OR pinned = ?3)",
        Reach::Anywhere => "1 = 1",
    };
    let taken = connection
        .prepare_cached(&format!(
            "UPDATE leases SET {} WHERE run = ?5 AND {free} AND {here} RETURNING {TAKEN}",
            taking(now, 1)
        ))?
        .query_row(params![by.worker, by.name, by.host, milliseconds(by.term), run], |row| {
            Ok(read_lease(row))
        })
        .optional()?
        .transpose()?;
    if let Some(lease) = taken {
        return Ok(Claimed::Taken(lease));
    }
    Ok(get(connection, run)?.map_or(Claimed::NoRun, Claimed::Refused))
}

const TAKEN: &str = "run, epoch, due_ms, left_behind, pinned, home";

/// Expects the claimant's id, name and host, and how long it has it, from the value numbered `first` on.
fn taking(now: &str, first: usize) -> String {
    let [worker, name, host, term] = [first, first + 1, first + 2, first + 3];
    format!(
        "epoch = epoch + 1, left_behind = CASE WHEN worker IS NULL THEN left_behind ELSE 1 END, worker = ?{worker},
         name = ?{name}, host = ?{host}, locked = 1, taken_ms = {now}, expires_ms = {now} + CAST(?{term} AS BIGINT)"
    )
}

/// Says that a worker is there and goes on with `kept`; what it has, with the epochs. What it let go of without a word
/// runs out: nobody works on it, though it is still under this worker's name.
pub(crate) fn renew(
    connection: &Connection,
    worker: &str,
    kept: &[(RunId, u64)],
    term: Duration,
) -> Result<Renewed, StoreError> {
    let kind = connection.kind();
    let now = now(kind);
    // What is being changed at this moment is renewed the next time.
    let skip = match kind {
        Kind::Sqlite => "",
        Kind::Postgres => "FOR UPDATE SKIP LOCKED",
    };
    connection
        .prepare_cached(&format!("UPDATE workers SET seen_ms = {now} WHERE id = ?1"))?
        .execute([worker])?;
    let mut prolong = connection.prepare_cached(&format!(
        "WITH own AS MATERIALIZED (SELECT run FROM leases WHERE run = ?1 AND epoch = ?2 AND worker = ?3 {skip})
         UPDATE leases SET expires_ms = {now} + CAST(?4 AS BIGINT) WHERE run IN (SELECT run FROM own)"
    ))?;
    let mut renewed = Vec::new();
    for (run, epoch) in kept {
        if prolong.execute(params![run.as_str(), epoch.cast_signed(), worker, milliseconds(term)])? == 1 {
            renewed.push((run.clone(), *epoch));
        }
    }
    let held = connection
        .prepare_cached("SELECT run, epoch FROM leases WHERE worker = ?1")?
        .query_map([worker], |row| {
            Ok((RunId::new(row.get::<_, String>(0)?), row.get::<_, i64>(1)?.cast_unsigned()))
        })?
        .collect::<Result<_, _>>()?;
    Ok(Renewed { renewed, held })
}

/// What a worker has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// Runs it has for another term, with their epochs.
    pub renewed: Vec<(RunId, u64)>,
    /// All it has: what is missing here belongs to somebody else.
    pub held: Vec<(RunId, u64)>,
}

/// Gives a run back. What happened to it since it was claimed is not forgotten, nor that somebody stands still who
/// has its lock.
pub(crate) fn release(connection: &Connection, lease: &Lease, after: &After) -> Result<(), StoreError> {
    let now = now(connection.kind());
    let next = match after {
        After::Ready | After::Elsewhere(_) => "due_ms".to_owned(),
        After::Waits => "CAST(NULL AS BIGINT)".to_owned(),
        After::Again(_) => format!("{now} + CAST(?4 AS BIGINT)"),
    };
    let again_ms = if let After::Again(wait) = after { milliseconds(*wait) } else { 0 };
    let requires = if let After::Elsewhere(requires) = after { Some(labels(requires)) } else { None };
    connection
        .prepare_cached(&format!(
            "UPDATE leases SET worker = NULL, name = NULL, host = NULL, expires_ms = 0,
                    left_behind = CASE WHEN locked = 1 THEN 0 ELSE left_behind END, locked = 0,
                    requires = coalesce(CAST(?5 AS TEXT), requires),
                    due_ms = CASE WHEN due_ms = CAST(?3 AS BIGINT) AND CAST(?4 AS BIGINT) >= 0 THEN {next}
                                  ELSE due_ms END
             WHERE run = ?1 AND epoch = ?2"
        ))?
        .execute(params![lease.run.as_str(), lease.epoch.cast_signed(), lease.due, again_ms, requires])?;
    Ok(())
}

/// Ends the lease of somebody who is known to be gone, so that others may have the run at once.
pub(crate) fn abandon(connection: &Connection, run: &str, epoch: u64) -> Result<bool, StoreError> {
    let ended = connection
        .prepare_cached(
            "UPDATE leases SET expires_ms = 0 WHERE run = ?1 AND epoch = ?2 AND worker IS NOT NULL",
        )?
        .execute(params![run, epoch.cast_signed()])?;
    Ok(ended == 1)
}

/// Says whether the holder of a lease has the run's lock on its host.
pub(crate) fn set_locked(
    connection: &Connection,
    run: &str,
    epoch: u64,
    locked: bool,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE leases SET locked = ?3 WHERE run = ?1 AND epoch = ?2")?
        .execute(params![run, epoch.cast_signed(), locked])?;
    Ok(())
}

/// Says that the files of a run are those of `home`, and whether it can go on there alone; whether the lease is still the
/// last one. It has it for another term.
pub(crate) fn set_place(
    connection: &Connection,
    lease: &Lease,
    home: &str,
    stays: Stays,
    term: Duration,
) -> Result<bool, StoreError> {
    let pinned = if stays == Stays::There { home } else { "" };
    let changed = connection
        .prepare_cached(&format!(
            "UPDATE leases SET home = ?3, pinned = ?4, expires_ms = {} + CAST(?5 AS BIGINT)
             WHERE run = ?1 AND epoch = ?2 AND worker IS NOT NULL",
            now(connection.kind())
        ))?
        .execute(params![lease.run.as_str(), lease.epoch.cast_signed(), home, pinned, milliseconds(term)])?;
    Ok(changed == 1)
}

/// Says that the files of every unfinished run are on one host, or on none in particular, and that nobody has one.
pub(crate) fn settle(connection: &Connection, host: Option<&str>) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE leases SET pinned = ?1, home = NULL, epoch = epoch + 1, worker = NULL, name = NULL, host = NULL, expires_ms = 0,
                    left_behind = 0, locked = 0",
        )?
        .execute([host.unwrap_or_default()])?;
    connection.prepare_cached("DELETE FROM workers")?.execute([])?;
    Ok(())
}

pub(crate) fn get(connection: &Connection, run: &str) -> Result<Option<LeaseRow>, StoreError> {
    let now = now(connection.kind());
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS}, {now} FROM leases WHERE run = ?1"))?
        .query_row([run], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// Every run that somebody has.
pub(crate) fn held(connection: &Connection) -> Result<Vec<LeaseRow>, StoreError> {
    let now = now(connection.kind());
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, {now} FROM leases WHERE worker IS NOT NULL ORDER BY taken_ms, run"
    ))?;
    select.query_map([], |row| Ok(read(row)))?.map(|row| row?).collect()
}

/// Runs that wait for somebody, by what they need.
pub(crate) fn queue(connection: &Connection) -> Result<Vec<Queued>, StoreError> {
    let now = now(connection.kind());
    let mut select = connection.prepare_cached(&format!(
        "SELECT pinned, requires, count(*), max({now} - ready_ms) FROM leases WHERE ready_ms <= {now}
         GROUP BY pinned, requires ORDER BY 4 DESC, 1, 2"
    ))?;
    let rows = select.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    })?;
    let mut queue = Vec::new();
    for row in rows {
        let (pinned, requires, count, longest) = row?;
        queue.push(Queued {
            pinned: Some(pinned).filter(|host| !host.is_empty()),
            requires: read_labels(&requires)?,
            count: count.cast_unsigned(),
            longest: Duration::from_millis(u64::try_from(longest).unwrap_or_default()),
        });
    }
    Ok(queue)
}

/// Runs in a repository that can go on on any host, and wait for something there.
pub(crate) fn in_repository(connection: &Connection, repository: &str) -> Result<Vec<RunId>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT run FROM leases WHERE pinned = '' AND ready_ms IS NOT NULL AND lower(repository) = lower(?1)",
    )?;
    let rows = select.query_map([repository], |row| Ok(RunId::new(row.get::<_, String>(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The first of those that wait, in the order they are taken.
pub(crate) fn waiting(connection: &Connection, limit: usize) -> Result<Vec<LeaseRow>, StoreError> {
    let now = now(connection.kind());
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, {now} FROM leases WHERE ready_ms <= {now} ORDER BY ready_ms, run LIMIT ?1"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    select.query_map([limit], |row| Ok(read(row)))?.map(|row| row?).collect()
}

/// Makes a worker known, and forgets those nobody has heard of for days.
pub(crate) fn register(connection: &Connection, by: &Claimant, runs: u32) -> Result<(), StoreError> {
    let now = now(connection.kind());
    connection
        .prepare_cached(&format!("DELETE FROM workers WHERE seen_ms < {now} - CAST(?1 AS BIGINT)"))?
        .execute([milliseconds(FORGOTTEN_AFTER)])?;
    connection
        .prepare_cached(&format!(
            "INSERT INTO workers (id, name, host, labels, runs, started_ms, seen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, {now}, {now})
             ON CONFLICT (id) DO UPDATE SET name = ?2, host = ?3, labels = ?4, runs = ?5, seen_ms = {now}"
        ))?
        .execute(params![by.worker, by.name, by.host, labels(&by.labels), runs])?;
    Ok(())
}

const FORGOTTEN_AFTER: Duration = Duration::from_secs(2 * 24 * 60 * 60);

pub(crate) fn unregister(connection: &Connection, worker: &str) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM workers WHERE id = ?1")?.execute([worker])?;
    Ok(())
}

pub(crate) fn workers(connection: &Connection) -> Result<Vec<WorkerRow>, StoreError> {
    let now = now(connection.kind());
    let mut select = connection.prepare_cached(&format!(
        "SELECT id, name, host, labels, runs, started_ms, seen_ms, {now} - seen_ms FROM workers
         ORDER BY started_ms, name, id"
    ))?;
    let rows = select.query_map([], |row| {
        Ok((|| {
            Ok(WorkerRow {
                id: row.get(0)?,
                name: row.get(1)?,
                host: row.get(2)?,
                labels: read_labels(&row.get::<_, String>(3)?)?,
                runs: row.get(4)?,
                started_at: time(row.get(5)?)?,
                seen_at: time(row.get(6)?)?,
                silent: Duration::from_millis(u64::try_from(row.get::<_, i64>(7)?).unwrap_or_default()),
            })
        })())
    })?;
    rows.map(|row| row?).collect()
}

fn read_lease(row: &Row<'_>) -> Result<Lease, StoreError> {
    Ok(Lease {
        run: RunId::new(row.get::<_, String>(0)?),
        epoch: row.get::<_, i64>(1)?.cast_unsigned(),
        due: row.get(2)?,
        left_behind: row.get(3)?,
        pinned: Some(row.get::<_, String>(4)?).filter(|host| !host.is_empty()),
        home: row.get(5)?,
    })
}

fn read(row: &Row<'_>) -> Result<LeaseRow, StoreError> {
    let worker: Option<String> = row.get(3)?;
    let now: i64 = row.get(13)?;
    let holder = match worker {
        None => None,
        Some(worker) => {
            let expires_ms: i64 = row.get(7)?;
            Some(Holder {
                worker,
                name: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
                host: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
                taken_at: time(row.get::<_, Option<i64>>(6)?.unwrap_or_default())?,
                expires_at: time(expires_ms)?,
                expired: expires_ms <= now,
                locked: row.get(8)?,
            })
        }
    };
    Ok(LeaseRow {
        run: RunId::new(row.get::<_, String>(0)?),
        epoch: row.get::<_, i64>(1)?.cast_unsigned(),
        due_at: row.get::<_, Option<i64>>(2)?.map(time).transpose()?,
        holder,
        pinned: Some(row.get::<_, String>(9)?).filter(|host| !host.is_empty()),
        requires: read_labels(&row.get::<_, String>(10)?)?,
        repository: row.get(11)?,
        home: row.get(12)?,
    })
}

fn time(ms: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(ms)
        .map_err(|error| StoreError::Damaged { reason: format!("a lease has a bad time: {error}") })
}

/// In an order of their own, so that the same labels are the same text.
fn labels(labels: &[String]) -> String {
    let mut sorted: Vec<&str> = labels.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    serde_json::to_string(&sorted).unwrap_or_else(|_| "[]".to_owned())
}

fn read_labels(text: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged { reason: format!("a lease has bad labels: {error}") })
}

/// What is longer than a clock can say is as good as endless.
fn milliseconds(duration: Duration) -> i64 {
    const ENDLESS: i64 = 100 * 365 * 24 * 60 * 60 * 1000;
    i64::try_from(duration.as_millis()).unwrap_or(ENDLESS).min(ENDLESS)
}
