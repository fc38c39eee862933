//! Removes what was decided long ago (W19).

use jiff::Timestamp;

use crate::sql::{Connection, params};

use super::Store;
use crate::StoreError;

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub checkpoints: i64,
    pub events: i64,
    pub contents: i64,
    /// Of the contents.
    pub content_bytes: i64,
}

/// So many go in one commit, so that nobody waits long for a sweep.
const BATCH_MAX: i64 = 500;

// INVARIANT: what is pending is not in here, whatever its times say.
// What a run waited at goes with the run.
const DECIDED_BEFORE: &str = "status <> 'pending' AND coalesce(resolved_ms, created_ms) < ?1
                              AND (run IS NULL OR run NOT IN (SELECT id FROM runs))";

impl Store {
    /// Removes every checkpoint that was decided before `before`, its events, and the contents
    /// nobody else refers to. What is open stays, and so does all it refers to.
    pub async fn sweep(&self, before: Timestamp) -> Result<Swept, StoreError> {
        let before_ms = before.as_millisecond();
        let mut total = Swept::default();
        let mut after = 0;
        loop {
            let (part, next) =
                self.writer()?.run(move |connection| remove_some(connection, before_ms, after)).await?;
            total.checkpoints += part.checkpoints;
            total.events += part.events;
            total.contents += part.contents;
            total.content_bytes += part.content_bytes;
            match next {
                Some(next) => after = next,
                None => return Ok(total),
            }
        }
    }

    /// What `sweep` would remove.
    pub async fn would_sweep(&self, before: Timestamp) -> Result<Swept, StoreError> {
        self.read(|connection| {
            let one = |sql: &str| {
                connection.query_row(sql, params![before.as_millisecond()], |row| row.get::<_, i64>(0))
            };
            let contents = |what: &str| {
                one(&format!(
                    "SELECT {what} FROM contents
                     WHERE digest IN (SELECT digest FROM checkpoints WHERE {DECIDED_BEFORE})
                       AND digest NOT IN (SELECT digest FROM checkpoints WHERE NOT ({DECIDED_BEFORE}))
                       AND digest NOT IN (SELECT definition FROM runs)"
                ))
            };
            Ok(Swept {
                checkpoints: one(&format!("SELECT count(*) FROM checkpoints WHERE {DECIDED_BEFORE}"))?,
                events: one(&format!(
                    "SELECT count(*) FROM events
                     WHERE stream IN (SELECT id FROM checkpoints WHERE {DECIDED_BEFORE})"
                ))?,
                contents: contents("count(*)")?,
                content_bytes: contents("coalesce(sum(length(bytes)), 0)")?,
            })
        })
    }
}

/// One part of a sweep, and the number after which the next one begins.
fn remove_some(
    connection: &Connection,
    before_ms: i64,
    after: i64,
) -> Result<(Swept, Option<i64>), StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT number, id, digest FROM checkpoints WHERE {DECIDED_BEFORE} AND number > ?2
         ORDER BY number LIMIT {BATCH_MAX}"
    ))?;
    let rows = select.query_map(params![before_ms, after], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?))
    })?;
    let rows: Vec<(i64, String, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
    let mut swept = Swept::default();
    for (number, id, digest) in &rows {
        let removed = |sql: &str, id: &dyn crate::sql::ToSql| -> Result<i64, crate::sql::Error> {
            let count = connection.prepare_cached(sql)?.execute([id])?;
            Ok(i64::try_from(count).unwrap_or(i64::MAX))
        };
        swept.checkpoints += removed("DELETE FROM checkpoints WHERE number = ?1", number)?;
        swept.events += removed("DELETE FROM events WHERE stream = ?1", id)?;
        let lonely = "digest = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE digest = ?1)
                      AND NOT EXISTS (SELECT 1 FROM runs WHERE definition = ?1)";
        swept.content_bytes += connection
            .prepare_cached(&format!("SELECT coalesce(sum(length(bytes)), 0) FROM contents WHERE {lonely}"))?
            .query_row([digest], |row| row.get::<_, i64>(0))?;
        swept.contents += removed(&format!("DELETE FROM contents WHERE {lonely}"), digest)?;
    }
    let full = i64::try_from(rows.len()).is_ok_and(|count| count == BATCH_MAX);
    Ok((swept, rows.last().map(|(number, ..)| *number).filter(|_| full)))
}

#[cfg(test)]
mod tests {
    use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
    use checkrein_core::deliverable::Deliverable;
    use checkrein_core::event::Event;

    use super::*;
    use crate::{CheckpointFilter, Commit, Version};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    async fn add(store: &Store, id: &str, text: &str, resolved_second: Option<i64>) {
        let content = Deliverable::Text(text.to_owned()).content().unwrap();
        let pending = Checkpoint {
            id: CheckpointId::new(id).unwrap(),
            run: None,
            owner: None,
            created_by: None,
            worker: "w".into(),
            phase: String::new(),
            kind: "deliverable".into(),
            status: CheckpointStatus::Pending,
            digest: content.digest,
            moved: false,
            round: 1,
            created_at: at(0),
            expires_at: None,
            resolved_at: None,
            reason: None,
            resolved_by: None,
        };
        let commit = |expected: u64, checkpoint: &Checkpoint, event, at| Commit {
            expected: Version(expected),
            checkpoint: checkpoint.clone(),
            events: vec![event],
            at,
            content: Some(content.clone()),
        };
        store.commit(commit(0, &pending, Event::created(&pending), at(0))).await.unwrap();
        if let Some(second) = resolved_second {
            let resolved =
                Checkpoint { status: CheckpointStatus::Approved, resolved_at: Some(at(second)), ..pending };
            store.commit(commit(1, &resolved, Event::resolved(&resolved), at(second))).await.unwrap();
        }
    }

    #[tokio::test]
    async fn only_what_was_decided_before_goes() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store.db")).unwrap();
        for (id, text, resolved_second) in [
            ("before", "1", Some(99)),
            ("on time", "2", Some(100)),
            ("after", "3", Some(101)),
            ("open", "4", None),
            ("before, same as open", "4", Some(50)),
        ] {
            add(&store, id, text, resolved_second).await;
        }
        let expected = Swept { checkpoints: 2, events: 4, contents: 1, content_bytes: 1 };
        assert_eq!(store.would_sweep(at(100)).await.unwrap(), expected);
        assert_eq!(store.sweep(at(100)).await.unwrap(), expected);
        assert_eq!(store.sweep(at(100)).await.unwrap(), Swept::default());
        let left = store.checkpoints(&CheckpointFilter::default(), 0, 10).await.unwrap().items;
        let left: Vec<&str> = left.iter().map(|item| item.checkpoint.id.as_str()).collect();
        assert_eq!(left, ["on time", "after", "open"]);
        assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_takes_several_parts_is_swept_exported_and_imported_whole() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store.db")).unwrap();
        // At the same time, so that they share commits.
        let mut adding = tokio::task::JoinSet::new();
        for number in 0..1203 {
            let (store, resolved_second) = (store.clone(), (number % 3 != 0).then_some(9));
            adding.spawn(async move {
                add(&store, &format!("c{number}"), &format!("{}", number % 7), resolved_second).await;
            });
        }
        adding.join_all().await;
        let mut export = Vec::new();
        store.export(&mut export, at(0)).await.unwrap();
        let other = Store::open(&directory.path().join("other.db")).unwrap();
        let imported = other.import(std::io::Cursor::new(export)).await.unwrap();
        assert_eq!((imported.checkpoints, imported.events, imported.contents), (1203, 2005, 7));
        let all = |store: &Store| {
            let store = store.clone();
            async move { store.checkpoints(&CheckpointFilter::default(), 0, 5000).await.unwrap().items }
        };
        assert_eq!(all(&other).await, all(&store).await);

        let swept = other.sweep(at(10)).await.unwrap();
        assert_eq!((swept.checkpoints, swept.events, swept.contents), (802, 1604, 0));
        assert_eq!(all(&other).await.len(), 401);
        assert_eq!(other.check().await.unwrap().problems, Vec::<String>::new());
    }
}
