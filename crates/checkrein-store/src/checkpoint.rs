//! Checkpoints as rows.

use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, Row, ToSql, params};
use crate::{Commit, CommitError, StoreError, Version, content, event, lease};

/// A checkpoint and the version it was loaded at.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCheckpoint {
    pub checkpoint: Checkpoint,
    pub version: Version,
    /// Its place in creation order.
    pub number: i64,
}

/// Which checkpoints to list; everything by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointFilter {
    pub status: Option<CheckpointStatus>,
    pub worker: Option<String>,
    pub phase: Option<String>,
    pub kind: Option<String>,
    pub run: Option<String>,
    /// Only those of this agent and of its runs.
    pub owner: Option<String>,
    /// When it is asked: what has timed out by then counts as rejected, recorded or not.
    pub now: Option<Timestamp>,
}

/// Part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Pass it as `after`; none when this was the last part.
    pub next: Option<i64>,
}

impl<T> Page<T> {
    /// Of one item more than were wanted, where there is one.
    pub(crate) fn of(mut items: Vec<T>, limit: usize, number: impl Fn(&T) -> i64) -> Page<T> {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(number) } else { None };
        Page { items, next }
    }
}

const COLUMNS: &str = "number, id, version, worker, phase, type, status, round, digest, created_ms, resolved_ms, \
                       reason, resolved_by, run, moved, owner, created_by, expires_ms";

/// Everything of a commit.
pub(crate) fn commit(connection: &Connection, commit: &Commit, bodies: &[String]) -> Result<(), CommitError> {
    put(connection, commit)?;
    event::append(connection, commit.checkpoint.id.as_str(), commit.expected, commit.at, bodies)?;
    if let Some(new) = &commit.content {
        content::put(connection, new)?;
    }
    // A run that waited for this answer can go on.
    if let Some(run) = commit.checkpoint.run.as_deref().filter(|_| commit.checkpoint.resolved_at.is_some()) {
        lease::wake(connection, run)?;
    }
    Ok(())
}

/// Writes the state of a commit, if the stream is at the version it was decided on.
pub(crate) fn put(connection: &Connection, commit: &Commit) -> Result<(), CommitError> {
    put_at(connection, commit, Version(commit.expected.0 + commit.events.len() as u64))
}

/// The same where the events are written by another hand: `version` is how many there are.
pub(crate) fn put_at(connection: &Connection, commit: &Commit, version: Version) -> Result<(), CommitError> {
    let c = &commit.checkpoint;
    let version = version.0.cast_signed();
    let resolved_ms = c.resolved_at.map(Timestamp::as_millisecond);
    let changed = if commit.expected == Version(0) {
        connection
            .prepare_cached(
                "INSERT INTO checkpoints (id, version, worker, phase, type, status, round, digest, created_ms,
                                          resolved_ms, reason, resolved_by, run, moved, owner, created_by,
                                          expires_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                c.id.as_str(),
                version,
                c.worker,
                c.phase,
                c.kind,
                c.status.name(),
                c.round,
                c.digest.as_bytes(),
                c.created_at.as_millisecond(),
                resolved_ms,
                c.reason,
                c.resolved_by,
                c.run,
                c.moved,
                c.owner,
                c.created_by,
                c.expires_at.map(Timestamp::as_millisecond),
            ])?
    } else if c.moved {
        connection
            .prepare_cached(
                "UPDATE checkpoints SET version = ?3, status = ?4, resolved_ms = ?5, reason = ?6, resolved_by = ?7,
                                        digest = ?8, moved = 1
                 WHERE id = ?1 AND version = ?2",
            )?
            .execute(params![
                c.id.as_str(),
                commit.expected.0.cast_signed(),
                version,
                c.status.name(),
                resolved_ms,
                c.reason,
                c.resolved_by,
                c.digest.as_bytes(),
            ])?
    } else {
        // INVARIANT: one that was not moved asks about what it was made with. Setting its digest again
        // would move its entry in the index for nothing.
        connection
            .prepare_cached(
                "UPDATE checkpoints SET version = ?3, status = ?4, resolved_ms = ?5, reason = ?6, resolved_by = ?7
                 WHERE id = ?1 AND version = ?2",
            )?
            .execute(params![
                c.id.as_str(),
                commit.expected.0.cast_signed(),
                version,
                c.status.name(),
                resolved_ms,
                c.reason,
                c.resolved_by,
            ])?
    };
    if changed == 1 { Ok(()) } else { Err(CommitError::Conflict) }
}

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<StoredCheckpoint>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM checkpoints WHERE id = ?1"))?
        .query_row(params![id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// In creation order, after the checkpoint numbered `after`.
pub(crate) fn list(
    connection: &Connection,
    filter: &CheckpointFilter,
    after: i64,
    limit: usize,
) -> Result<Page<StoredCheckpoint>, StoreError> {
    // The words stand in the statement so that the index of pending ones can be used.
    let status = match filter.status {
        None => String::new(),
        Some(CheckpointStatus::Pending) => format!("AND {WAITING}"),
        Some(CheckpointStatus::Rejected) => {
            "AND (status = 'rejected' OR status = 'pending' AND expires_ms <= ?8)".to_owned()
        }
        Some(status) => format!("AND status = '{}'", status.name()),
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM checkpoints
         WHERE number > ?1 {status} AND (?2 IS NULL OR worker = ?2) AND (?3 IS NULL OR phase = ?3)
           AND (?4 IS NULL OR type = ?4) AND (?5 IS NULL OR run = ?5)
           AND (?6 IS NULL OR owner = ?6 OR run IN (SELECT id FROM runs WHERE owner = ?6))
         ORDER BY number LIMIT ?7"
    ))?;
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX - 1).saturating_add(1);
    let now_ms = filter.now.map(Timestamp::as_millisecond);
    let CheckpointFilter { worker, phase, kind, run, owner, .. } = filter;
    let mut values: Vec<&dyn ToSql> = vec![&after, worker, phase, kind, run, owner, &wanted];
    if matches!(filter.status, Some(CheckpointStatus::Pending | CheckpointStatus::Rejected)) {
        values.push(&now_ms);
    }
    let rows = select.query_map(values.as_slice(), |row| Ok(read(row)))?;
    let mut items: Vec<StoredCheckpoint> = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(Page::of(items, limit, |item| item.number))
}

/// Pending, and at `?8` still in time.
const WAITING: &str = "status = 'pending' AND (expires_ms <= ?8) IS NOT TRUE";

/// How many wait for somebody at a moment.
pub(crate) fn count_pending(connection: &Connection, now: Timestamp) -> Result<u64, StoreError> {
    let count = connection
        .prepare_cached(&format!("SELECT count(*) FROM checkpoints WHERE {}", WAITING.replace("?8", "?1")))?
        .query_row(params![now.as_millisecond()], |row| row.get::<_, i64>(0))?;
    Ok(count.cast_unsigned())
}

/// What has timed out by a moment and is not recorded as rejected yet, the oldest first.
pub(crate) fn overdue(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<StoredCheckpoint>, StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM checkpoints WHERE status = 'pending' AND expires_ms <= ?1
         ORDER BY expires_ms, number LIMIT ?2"
    ))?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![now.as_millisecond(), most], |row| Ok(read(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(items)
}

pub(crate) fn clear(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(
        "DELETE FROM events WHERE stream IN (SELECT id FROM checkpoints);
         DELETE FROM contents WHERE digest NOT IN (SELECT definition FROM runs);
         DELETE FROM checkpoints;",
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<StoredCheckpoint, StoreError> {
    let id: String = row.get(1)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("checkpoint `{id}` has a bad {what}") };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| damaged("time"));
    let status: String = row.get(6)?;
    let digest: Vec<u8> = row.get(8)?;
    Ok(StoredCheckpoint {
        number: row.get(0)?,
        version: Version(row.get::<_, i64>(2)?.cast_unsigned()),
        checkpoint: Checkpoint {
            id: CheckpointId::stored(id.clone()).ok_or_else(|| damaged("id"))?,
            worker: row.get(3)?,
            phase: row.get(4)?,
            kind: row.get(5)?,
            status: CheckpointStatus::parse(&status).ok_or_else(|| damaged("status"))?,
            round: row.get(7)?,
            digest: Digest::from_bytes(&digest).ok_or_else(|| damaged("digest"))?,
            created_at: time(row.get(9)?)?,
            resolved_at: row.get::<_, Option<i64>>(10)?.map(time).transpose()?,
            reason: row.get(11)?,
            resolved_by: row.get(12)?,
            run: row.get(13)?,
            moved: row.get(14)?,
            owner: row.get(15)?,
            created_by: row.get(16)?,
            expires_at: row.get::<_, Option<i64>>(17)?.map(time).transpose()?,
        },
    })
}
