//! The tables, version by version. A released version is never edited, only followed by another.

use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;

/// "chkr": tells a store from any other SQLite file.
pub(super) const APPLICATION_ID: i64 = 0x6368_6b72;

pub(crate) const VERSIONS: &[&str] = &[
    // 1: checkpoints, their events and contents, tokens
    "CREATE TABLE events (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        stream   TEXT NOT NULL,
        seq      INTEGER NOT NULL,
        at_ms    INTEGER NOT NULL,
        body     TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX events_of_stream ON events (stream, seq);

    CREATE TABLE checkpoints (
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        id          TEXT NOT NULL UNIQUE,
        version     INTEGER NOT NULL,
        worker      TEXT NOT NULL,
        phase       TEXT NOT NULL,
        type        TEXT NOT NULL,
        status      TEXT NOT NULL,
        round       INTEGER NOT NULL,
        digest      BLOB NOT NULL,
        created_ms  INTEGER NOT NULL,
        resolved_ms INTEGER,
        reason      TEXT,
        resolved_by TEXT
    ) STRICT;
    CREATE INDEX checkpoints_pending ON checkpoints (number) WHERE status = 'pending';
    CREATE INDEX checkpoints_of_content ON checkpoints (digest);

    CREATE TABLE contents (
        digest   BLOB PRIMARY KEY,
        encoding INTEGER NOT NULL,
        bytes    BLOB NOT NULL
    ) STRICT;

    CREATE TABLE tokens (
        id         TEXT PRIMARY KEY,
        secret     BLOB NOT NULL UNIQUE,
        name       TEXT NOT NULL,
        kind       TEXT NOT NULL,
        role       TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER,
        revoked_ms INTEGER
    ) STRICT;",
    // 2: runs, and the checkpoints they wait at
    "CREATE TABLE runs (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT NOT NULL UNIQUE,
        version    INTEGER NOT NULL,
        workflow   TEXT NOT NULL,
        target     TEXT,
        work_id    TEXT,
        rerun_of   TEXT,
        definition BLOB NOT NULL,
        status     TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        trimmed    INTEGER NOT NULL DEFAULT 0,
        state      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_definition ON runs (definition);
    CREATE INDEX runs_unfinished ON runs (status, number)
        WHERE status NOT IN ('completed', 'completed_with_warnings', 'cancelled');

    ALTER TABLE checkpoints ADD COLUMN run TEXT;
    CREATE INDEX checkpoints_of_run ON checkpoints (run, number) WHERE run IS NOT NULL;",
    // 3: checkpoints whose content moves
    "ALTER TABLE checkpoints ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;",
    // 4: what belongs to an agent
    "ALTER TABLE checkpoints ADD COLUMN owner TEXT;
    CREATE INDEX checkpoints_of_owner ON checkpoints (owner, number) WHERE owner IS NOT NULL;
    ALTER TABLE runs ADD COLUMN owner TEXT;
    CREATE INDEX runs_of_owner ON runs (owner, number) WHERE owner IS NOT NULL;",
    // 5: requests with a key, and how they were answered
    "CREATE TABLE answered (
        by      TEXT NOT NULL,
        key     TEXT NOT NULL,
        digest  BLOB NOT NULL,
        nonce   BLOB NOT NULL,
        at_ms   INTEGER NOT NULL,
        status  INTEGER,
        headers TEXT,
        body    BLOB,
        PRIMARY KEY (by, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX answered_by_age ON answered (at_ms);",
    // 6: webhooks, and what is on its way to them
    "CREATE TABLE webhooks (
        number        INTEGER PRIMARY KEY AUTOINCREMENT,
        id            TEXT NOT NULL UNIQUE,
        name          TEXT NOT NULL,
        kind          TEXT NOT NULL,
        url           TEXT NOT NULL,
        types         TEXT NOT NULL,
        private       INTEGER NOT NULL,
        secret        TEXT,
        old_secret    TEXT,
        old_until_ms  INTEGER,
        position      INTEGER NOT NULL,
        created_ms    INTEGER NOT NULL,
        failing_ms    INTEGER,
        disabled_ms   INTEGER,
        disabled_why  TEXT
    ) STRICT;

    CREATE TABLE deliveries (
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        id          TEXT NOT NULL UNIQUE,
        webhook     TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
        type        TEXT NOT NULL,
        subject     TEXT NOT NULL,
        body        TEXT NOT NULL,
        status      TEXT NOT NULL,
        attempts    INTEGER NOT NULL,
        created_ms  INTEGER NOT NULL,
        next_ms     INTEGER,
        finished_ms INTEGER,
        lease       TEXT,
        answer      TEXT
    ) STRICT;
    CREATE INDEX deliveries_of_webhook ON deliveries (webhook, number);
    CREATE INDEX deliveries_waiting ON deliveries (webhook, next_ms) WHERE status = 'waiting';
    CREATE INDEX deliveries_finished ON deliveries (finished_ms) WHERE finished_ms IS NOT NULL;",
    // 7: browsers that are signed in
    "CREATE TABLE sessions (
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        id          TEXT NOT NULL UNIQUE,
        secret      BLOB NOT NULL UNIQUE,
        for_changes BLOB NOT NULL,
        token       TEXT NOT NULL,
        owns_token  INTEGER NOT NULL,
        created_ms  INTEGER NOT NULL,
        expires_ms  INTEGER NOT NULL,
        ended_ms    INTEGER
    ) STRICT;
    CREATE INDEX sessions_by_end ON sessions (expires_ms);",
    // 8: tokens of one worker
    "ALTER TABLE tokens ADD COLUMN worker TEXT;",
    // 9: sessions of frames, and what is suggested in them
    "CREATE TABLE frame_sessions (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT NOT NULL UNIQUE,
        version    INTEGER NOT NULL,
        owner      TEXT,
        directory  TEXT,
        client     TEXT,
        goal       TEXT,
        current    TEXT,
        state      TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX frame_sessions_by_age ON frame_sessions (updated_ms);
    CREATE INDEX frame_sessions_of_directory ON frame_sessions (directory, updated_ms);

    CREATE TABLE frames (
        session  TEXT NOT NULL REFERENCES frame_sessions (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        id       TEXT NOT NULL,
        body     TEXT NOT NULL,
        PRIMARY KEY (session, position),
        UNIQUE (session, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE suggestions (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        id      TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL REFERENCES frame_sessions (id) ON DELETE CASCADE,
        status  TEXT NOT NULL,
        body    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX suggestions_of_session ON suggestions (session, number);
    CREATE INDEX suggestions_pending ON suggestions (session) WHERE status = 'pending';",
    // 10: conversations about jobs, and what is proposed in them
    "CREATE TABLE chats (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT NOT NULL UNIQUE,
        run        TEXT UNIQUE,
        begun_by   TEXT NOT NULL,
        draft      TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX chats_without_job ON chats (updated_ms) WHERE run IS NULL;

    CREATE TABLE chat_messages (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT NOT NULL UNIQUE,
        chat       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        person     TEXT,
        status     TEXT NOT NULL,
        stage      TEXT NOT NULL,
        text       TEXT NOT NULL,
        uses       TEXT NOT NULL,
        note       TEXT,
        tokens     INTEGER NOT NULL,
        said_ms    INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX chat_messages_of_chat ON chat_messages (chat, number);
    CREATE INDEX chat_messages_writing ON chat_messages (chat) WHERE status = 'writing';

    CREATE TABLE chat_proposals (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        chat       TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        id         TEXT NOT NULL,
        message    TEXT NOT NULL,
        asked_by   TEXT NOT NULL,
        body       TEXT NOT NULL,
        status     TEXT NOT NULL,
        made_ms    INTEGER NOT NULL,
        settled_by TEXT,
        settled_ms INTEGER,
        outcome    TEXT,
        UNIQUE (chat, id)
    ) STRICT;",
    // 11: who goes on with which run; runs by their status
    "CREATE TABLE leases (
        run         TEXT PRIMARY KEY,
        epoch       INTEGER NOT NULL,
        due_ms      INTEGER,
        held        INTEGER NOT NULL DEFAULT 0,
        worker      TEXT,
        name        TEXT,
        host        TEXT,
        locked      INTEGER NOT NULL DEFAULT 0,
        left_behind INTEGER NOT NULL DEFAULT 0,
        taken_ms    INTEGER,
        expires_ms  INTEGER NOT NULL DEFAULT 0,
        pinned      TEXT NOT NULL DEFAULT '',
        requires    TEXT NOT NULL DEFAULT '[]',
        repository  TEXT,
        ready_ms    INTEGER GENERATED ALWAYS AS (CASE WHEN due_ms IS NULL THEN NULL
                        WHEN due_ms > expires_ms THEN due_ms ELSE expires_ms END) STORED
    ) STRICT;
    CREATE INDEX leases_ready ON leases (pinned, ready_ms, run) WHERE ready_ms IS NOT NULL;
    CREATE INDEX leases_of_worker ON leases (worker) WHERE worker IS NOT NULL;
    CREATE INDEX leases_of_repository ON leases (repository) WHERE worker IS NOT NULL;
    INSERT INTO leases (run, epoch, due_ms, held)
        SELECT id, 0, CASE WHEN status IN ('created', 'running', 'held') THEN updated_ms END,
               CASE WHEN status = 'held' THEN 1 ELSE 0 END FROM runs;

    CREATE TABLE workers (
        id         TEXT PRIMARY KEY,
        name       TEXT NOT NULL,
        host       TEXT NOT NULL,
        labels     TEXT NOT NULL,
        runs       INTEGER NOT NULL,
        started_ms INTEGER NOT NULL,
        seen_ms    INTEGER NOT NULL
    ) STRICT;

    CREATE INDEX runs_of_status ON runs (status, number);
    DROP INDEX runs_unfinished;",
    // 12: the host whose files of a run are the last ones, where it can go on elsewhere
    "ALTER TABLE leases ADD COLUMN home TEXT;",
    // 13: who made a checkpoint, and when it counts as rejected
    "ALTER TABLE checkpoints ADD COLUMN created_by TEXT;
    ALTER TABLE checkpoints ADD COLUMN expires_ms INTEGER;
    CREATE INDEX checkpoints_expiring ON checkpoints (expires_ms)
        WHERE status = 'pending' AND expires_ms IS NOT NULL;",
];

pub(crate) fn known_version() -> i64 {
    i64::try_from(VERSIONS.len()).unwrap_or(i64::MAX)
}

/// Refuses what is not a store of a version this program knows. Reads alone.
pub(super) fn guard(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let looked = (|| -> Result<(i64, i64, i64), rusqlite::Error> {
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((tables, pragma(connection, "application_id")?, pragma(connection, "user_version")?))
    })();
    let (tables, application, found) = looked.map_err(|error| super::opening(error, path))?;
    if application != APPLICATION_ID && (tables > 0 || application != 0) {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found > known_version() {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known: known_version() });
    }
    Ok(())
}

/// Whether it holds the tables of a store, of any version.
pub(super) fn is_made(connection: &Connection) -> Result<bool, StoreError> {
    Ok(pragma(connection, "application_id")? == APPLICATION_ID && pragma(connection, "user_version")? > 0)
}

/// Whether nothing is to be done to its tables.
pub(super) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    Ok(pragma(connection, "user_version")? == known_version()
        && pragma(connection, "application_id")? == APPLICATION_ID)
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Brings the tables to the version this program knows; a newer store is refused untouched.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if is_current(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Again, since another process may have been faster.
    guard(&transaction, path)?;
    let found = pragma(&transaction, "user_version")?;
    let done = usize::try_from(found).unwrap_or(0);
    for statements in VERSIONS.iter().skip(done) {
        transaction.execute_batch(statements)?;
    }
    transaction.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
        known_version()
    ))?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_store_without_leases_are_taken_up() {
        let mut connection = Connection::open_in_memory().unwrap();
        for statements in VERSIONS.iter().take(10) {
            connection.execute_batch(statements).unwrap();
        }
        for (id, status) in
            [("a", "created"), ("b", "running"), ("c", "held"), ("d", "completed"), ("e", "paused")]
        {
            let insert =
                "INSERT INTO runs (id, version, workflow, definition, status, created_ms, updated_ms, state)
                          VALUES (?1, 1, 'w', x'00', ?2, 1, 7, '{}')";
            connection.execute(insert, (id, status)).unwrap();
        }
        let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 10;");
        connection.execute_batch(&mark).unwrap();
        migrate(&mut connection, Path::new("store.db")).unwrap();
        let mut select =
            connection.prepare("SELECT run, ready_ms, held, epoch FROM leases ORDER BY run").unwrap();
        let rows =
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        let rows: Vec<(String, Option<i64>, i64, i64)> = rows.map(Result::unwrap).collect();
        let expected =
            [("a", Some(7), 0), ("b", Some(7), 0), ("c", Some(7), 1), ("d", None, 0), ("e", None, 0)];
        assert_eq!(rows, expected.map(|(run, ready, held)| (run.to_owned(), ready, held, 0)));
    }
}
