//! The log: events in the order they were committed.

use checkrein_core::event::Event;
use jiff::Timestamp;

use crate::sql::{Connection, Rows, params};
use crate::{Commit, StoreError, Version};

/// A place in the log. Positions follow commit order: a reader that goes on after one misses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub i64);

#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    pub position: Position,
    pub stream: String,
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// The events of a commit as they will be stored. Made by whoever commits, since the writer has
/// enough to do.
pub(crate) fn bodies(commit: &Commit) -> Result<Vec<String>, StoreError> {
    let written: Result<Vec<String>, _> = commit.events.iter().map(serde_json::to_string).collect();
    written.map_err(|error| StoreError::Other { reason: error.to_string() })
}

/// Appends events to a stream, behind the version it is expected at.
pub(crate) fn append(
    connection: &Connection,
    stream: &str,
    expected: Version,
    at: Timestamp,
    bodies: &[String],
) -> Result<(), StoreError> {
    let mut insert =
        connection.prepare_cached("INSERT INTO events (stream, seq, at_ms, body) VALUES (?1, ?2, ?3, ?4)")?;
    for (seq, body) in (expected.0 + 1..).zip(bodies) {
        insert.execute(params![stream, seq.cast_signed(), at.as_millisecond(), body])?;
    }
    Ok(())
}

/// Events after `after`, of one stream or of all.
pub(crate) fn after(
    connection: &Connection,
    after: Position,
    stream: Option<&str>,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT position, stream, seq, at_ms, body FROM events
         WHERE position > ?1 AND (?2 IS NULL OR stream = ?2) ORDER BY position LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![after.0, stream, limit])?)
}

/// Events after `after` of a run and the checkpoints it waited at.
pub(crate) fn of_run(
    connection: &Connection,
    after: Position,
    run: &str,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT position, stream, seq, at_ms, body FROM events
         WHERE position > ?1 AND (stream = ?2 OR stream IN (SELECT id FROM checkpoints WHERE run = ?2))
         ORDER BY position LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![after.0, run, limit])?)
}

/// Events after `after` of what belongs to an agent.
pub(crate) fn of_owner(
    connection: &Connection,
    after: Position,
    owner: &str,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT position, stream, seq, at_ms, body FROM events
         WHERE position > ?1 AND (stream IN (SELECT id FROM runs WHERE owner = ?2)
            OR stream IN (SELECT id FROM checkpoints WHERE owner = ?2)
            OR stream IN (SELECT id FROM checkpoints WHERE run IN (SELECT id FROM runs WHERE owner = ?2)))
         ORDER BY position LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![after.0, owner, limit])?)
}

/// Whether a run or checkpoint belongs to an agent.
pub(crate) fn is_of_owner(connection: &Connection, stream: &str, owner: &str) -> Result<bool, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND owner = ?2)
             OR EXISTS (SELECT 1 FROM checkpoints WHERE id = ?1
                        AND (owner = ?2 OR run IN (SELECT id FROM runs WHERE owner = ?2)))",
    )?;
    Ok(select.query_row(params![stream, owner], |row| row.get(0))?)
}

/// The position of what was committed last.
pub(crate) fn last(connection: &Connection) -> Result<Position, StoreError> {
    let last = connection
        .prepare_cached("SELECT coalesce(max(position), 0) FROM events")?
        .query_row([], |row| row.get(0))?;
    Ok(Position(last))
}

/// Every event of one stream, found without looking at the others.
pub(crate) fn of_stream(connection: &Connection, stream: &str) -> Result<Vec<StoredEvent>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT position, stream, seq, at_ms, body FROM events WHERE stream = ?1 ORDER BY seq",
    )?;
    read(&mut select.query([stream])?)
}

fn read(rows: &mut Rows<'_>) -> Result<Vec<StoredEvent>, StoreError> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        let body: String = row.get(4)?;
        let damaged = |reason: String| StoreError::Damaged { reason: format!("event {position}: {reason}") };
        events.push(StoredEvent {
            position: Position(position),
            stream: row.get(1)?,
            seq: row.get::<_, i64>(2)?.cast_unsigned(),
            at: Timestamp::from_millisecond(row.get(3)?).map_err(|error| damaged(error.to_string()))?,
            event: serde_json::from_str(&body).map_err(|error| damaged(error.to_string()))?,
        });
    }
    Ok(events)
}
