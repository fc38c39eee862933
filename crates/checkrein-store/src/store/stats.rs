//! How much is in the store.

use checkrein_core::checkpoint::CheckpointStatus;
use jiff::Timestamp;

use super::{Backend, Store};
use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub bytes: u64,
    /// Of the write-ahead log beside it: saved, and not yet moved into the file.
    pub wal_bytes: u64,
    /// Of the events alone.
    pub event_bytes: i64,
    pub schema: i64,
    pub checkpoints: i64,
    pub pending: i64,
    /// Every status that occurs.
    pub by_status: Vec<(CheckpointStatus, i64)>,
    /// When the one that waits longest was asked for.
    pub oldest_pending: Option<Timestamp>,
    pub events: i64,
    /// When the latest event happened, by the clock of whoever wrote it.
    pub newest_event: Option<Timestamp>,
    pub contents: i64,
    pub content_bytes: i64,
    pub tokens: i64,
    pub runs: i64,
    /// Neither over nor failed.
    pub unfinished_runs: i64,
    pub frame_sessions: i64,
    pub frames: i64,
}

impl Store {
    /// What the store holds.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        let (bytes, wal_bytes) = self.bytes()?;
        let schema = self.schema_version();
        self.read(|connection| {
            connection.at_one_moment(|connection| {
                let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
                let time = |sql: &str| -> Result<Option<Timestamp>, StoreError> {
                    let found: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
                    Ok(found.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
                };
                let mut by_status = Vec::new();
                let mut select =
                    connection.prepare_cached("SELECT status, count(*) FROM checkpoints GROUP BY status")?;
                let rows =
                    select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
                for row in rows {
                    let (status, count) = row?;
                    if let Some(status) = CheckpointStatus::parse(&status) {
                        by_status.push((status, count));
                    }
                }
                let place =
                    |status: CheckpointStatus| CheckpointStatus::ALL.iter().position(|own| *own == status);
                by_status.sort_by_key(|(status, _)| place(*status));
                Ok(Stats {
                    bytes,
                    wal_bytes,
                    event_bytes: count("SELECT coalesce(sum(length(body)), 0) FROM events")?,
                    schema,
                    checkpoints: count("SELECT count(*) FROM checkpoints")?,
                    pending: count("SELECT count(*) FROM checkpoints WHERE status = 'pending'")?,
                    by_status,
                    oldest_pending: time("SELECT min(created_ms) FROM checkpoints WHERE status = 'pending'")?,
                    events: count("SELECT count(*) FROM events")?,
                    newest_event: time("SELECT max(at_ms) FROM events")?,
                    contents: count("SELECT count(*) FROM contents")?,
                    content_bytes: count("SELECT coalesce(sum(length(bytes)), 0) FROM contents")?,
                    tokens: count("SELECT count(*) FROM tokens")?,
                    runs: count("SELECT count(*) FROM runs")?,
                    unfinished_runs: count(
                        "SELECT count(*) FROM runs WHERE status IN ('created', 'running', 'held', 'paused')",
                    )?,
                    frame_sessions: count("SELECT count(*) FROM frame_sessions")?,
                    frames: count("SELECT count(*) FROM frames")?,
                })
            })
        })
    }

    /// How much room it takes, and how much of the log beside it.
    pub(super) fn bytes(&self) -> Result<(u64, u64), StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => Ok(sqlite.bytes()),
            Backend::Postgres(_) => self.read(|connection| {
                let sql = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
                           WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
                let bytes: i64 = connection.query_row(sql, [], |row| row.get(0))?;
                Ok((bytes.cast_unsigned(), 0))
            }),
        }
    }

    /// The version of its tables that this program knows.
    fn schema_version(&self) -> i64 {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.schema_version(),
            Backend::Postgres(postgres) => postgres.schema_version(),
        }
    }
}
