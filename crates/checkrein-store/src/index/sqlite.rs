//! The index in a file of SQLite, with its full-text search.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{
    ChunkVector, FoundChunk, IndexState, IndexUpdate, Indexed, IndexedChunk, KnownFile, NewVector, digest_of,
    listed, read_by_model,
};
use crate::StoreError;

/// The tables as this program knows them; an index of another version is made anew.
const VERSION: i64 = 1;
const BUSY_MAX: Duration = Duration::from_secs(30);

const TABLES: &str = "
    CREATE TABLE state (
        id         INTEGER PRIMARY KEY CHECK (id = 1),
        head       TEXT NOT NULL,
        phase      TEXT NOT NULL,
        built_ms   INTEGER NOT NULL,
        generation INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE files (
        id         INTEGER PRIMARY KEY,
        path       TEXT NOT NULL UNIQUE,
        content    TEXT NOT NULL,
        phase      TEXT,
        unreadable TEXT
    ) STRICT;
    CREATE TABLE chunks (
        id         INTEGER PRIMARY KEY,
        file       INTEGER NOT NULL,
        heading    TEXT NOT NULL,
        first_line INTEGER NOT NULL,
        last_line  INTEGER NOT NULL,
        text       TEXT NOT NULL,
        digest     BLOB NOT NULL
    ) STRICT;
    CREATE INDEX chunks_of_file ON chunks (file);
    CREATE INDEX chunks_of_digest ON chunks (digest);
    CREATE TABLE vectors (
        digest BLOB NOT NULL,
        model  TEXT NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (digest, model)
    ) STRICT, WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5(
        heading, text, content='chunks', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
    );";

#[derive(Debug)]
pub(super) struct SqliteIndex {
    connection: Connection,
    path: PathBuf,
}

impl SqliteIndex {
    /// The index at a place, made if it is not there. One that cannot be used is made anew.
    pub fn open(path: &Path) -> Result<SqliteIndex, StoreError> {
        match SqliteIndex::open_or_make(path) {
            Err(StoreError::Damaged { .. } | StoreError::NotAStore { .. }) => {
                SqliteIndex::remove(path);
                SqliteIndex::open_or_make(path)
            }
            opened => opened,
        }
    }

    /// The index at a place, if there is one that can be used.
    pub fn open_existing(path: &Path) -> Result<Option<SqliteIndex>, StoreError> {
        if !path.is_file() {
            return Ok(None);
        }
        SqliteIndex::open(path).map(Some)
    }

    fn open_or_make(path: &Path) -> Result<SqliteIndex, StoreError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_MAX)?;
        // It can be made again: what a power failure takes of it is no loss.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;",
        )?;
        let mut index = SqliteIndex { connection, path: path.to_owned() };
        index.make()?;
        Ok(index)
    }

    fn make(&mut self) -> Result<(), StoreError> {
        let version = |connection: &Connection| -> Result<i64, StoreError> {
            Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
        };
        if version(&self.connection)? == VERSION {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match version(&transaction)? {
            // Somebody else was faster.
            VERSION => return Ok(()),
            0 => {}
            other => {
                return Err(StoreError::Damaged { reason: format!("an index of version {other}") });
            }
        }
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
        transaction.commit()?;
        Ok(())
    }

    /// Takes an index away with all that lies beside it.
    pub fn remove(path: &Path) {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            let _ = std::fs::remove_file(PathBuf::from(name));
        }
    }

    /// Tells this file from one that took its place.
    pub fn identity(&self) -> Result<(u64, u64), StoreError> {
        let found = std::fs::metadata(&self.path);
        Ok(found.map_or((0, 0), |found| (found.dev(), found.ino())))
    }

    /// What it is of; none before anything was put there.
    pub fn state(&self, model: &str) -> Result<Option<IndexState>, StoreError> {
        let connection = &self.connection;
        let row = connection
            .query_row("SELECT head, phase, built_ms, generation FROM state", [], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, i64>(3)?,
                ))
            })
            .optional()?;
        let Some((head, phase, built_ms, generation)) = row else { return Ok(None) };
        let count = |sql: &str| -> Result<u64, StoreError> {
            Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?.cast_unsigned())
        };
        let missing: i64 = connection.query_row(
            "SELECT count(*) FROM chunks c
             WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.digest = c.digest AND v.model = ?1)",
            [model],
            |row| row.get(0),
        )?;
        let mut select = connection.prepare(
            "SELECT path, unreadable FROM files WHERE unreadable IS NOT NULL ORDER BY path LIMIT 100",
        )?;
        let unreadable = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Some(IndexState {
            head,
            phase,
            built_at: Timestamp::from_millisecond(built_ms).unwrap_or(Timestamp::UNIX_EPOCH),
            generation: generation.cast_unsigned(),
            files: count("SELECT count(*) FROM files")?,
            chunks: count("SELECT count(*) FROM chunks")?,
            missing: missing.cast_unsigned(),
            unreadable: unreadable.collect::<Result<_, _>>()?,
        }))
    }

    pub fn head(&self) -> Result<Option<String>, StoreError> {
        Ok(self.connection.query_row("SELECT head FROM state", [], |row| row.get(0)).optional()?)
    }

    /// Changes whenever anything in it does; 0 before anything was put there.
    pub fn generation(&self) -> Result<u64, StoreError> {
        let found = self.connection.query_row("SELECT generation FROM state", [], |row| row.get::<_, i64>(0));
        Ok(found.optional()?.unwrap_or(0).cast_unsigned())
    }

    pub fn files(&self) -> Result<Vec<KnownFile>, StoreError> {
        let mut select =
            self.connection.prepare("SELECT id, path, content, phase FROM files ORDER BY path")?;
        let rows = select.query_map([], |row| {
            Ok(KnownFile { id: row.get(0)?, path: row.get(1)?, content: row.get(2)?, phase: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Makes it the index of a commit, in one step: what changed is put there, what is gone is taken out.
    pub fn update(&mut self, update: &IndexUpdate) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            transaction.execute_batch(
                "CREATE TEMP TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY) WITHOUT ROWID; DELETE FROM seen;",
            )?;
            let mut see = transaction.prepare("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            for file in &update.files {
                see.execute([&file.path])?;
                match &file.found {
                    Indexed::AsBefore => {
                        transaction
                            .prepare_cached("UPDATE files SET phase = ?2 WHERE path = ?1")?
                            .execute(params![file.path, file.phase])?;
                    }
                    Indexed::Chunks(chunks) => {
                        take_out(&transaction, &file.path)?;
                        let id = put(&transaction, &file.path, &file.content, file.phase.as_deref(), None)?;
                        put_chunks(&transaction, id, chunks)?;
                    }
                    Indexed::Unreadable(why) => {
                        take_out(&transaction, &file.path)?;
                        put(&transaction, &file.path, &file.content, file.phase.as_deref(), Some(why))?;
                    }
                }
            }
            let mut gone =
                transaction.prepare("SELECT path FROM files WHERE path NOT IN (SELECT path FROM seen)")?;
            let gone: Vec<String> = gone.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for path in gone {
                take_out(&transaction, &path)?;
            }
            transaction.execute("DELETE FROM vectors WHERE digest NOT IN (SELECT digest FROM chunks)", [])?;
            transaction.execute(
                "INSERT INTO state (id, head, phase, built_ms, generation) VALUES (1, ?1, ?2, ?3, 1)
                 ON CONFLICT (id) DO UPDATE SET head = ?1, phase = ?2, built_ms = ?3, generation = generation + 1",
                params![update.head, update.phase, update.at.as_millisecond()],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Texts that have no vector of a model yet: digest, and what the model is to read.
    pub fn missing(&self, model: &str, limit: usize) -> Result<Vec<(Digest, String)>, StoreError> {
        let mut select = self.connection.prepare_cached(
            "SELECT c.digest, c.heading, c.text FROM chunks c
             WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.digest = c.digest AND v.model = ?1)
             GROUP BY c.digest ORDER BY min(c.id) LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = select.query_map(params![model, limit], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        let mut missing = Vec::new();
        for row in rows {
            let (digest, heading, text) = row?;
            missing.push((digest_of(&digest)?, read_by_model(&heading, text)));
        }
        Ok(missing)
    }

    pub fn put_vectors(&mut self, model: &str, vectors: &[NewVector]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for vector in vectors {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO vectors (digest, model, vector)
                     SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM chunks WHERE digest = ?1)",
                )?
                .execute(params![vector.digest.as_bytes(), model, vector.bytes])?;
        }
        transaction.execute("UPDATE state SET generation = generation + 1", [])?;
        transaction.commit()?;
        Ok(())
    }

    /// Chunks with any of the words, best first, in some files or in all.
    pub fn by_words(
        &self,
        words: &[String],
        files: Option<&[i64]>,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
        let mut select = self.connection.prepare_cached(
            "SELECT words.rowid FROM words
             WHERE words MATCH ?1 AND (?2 IS NULL OR words.rowid IN (
                 SELECT id FROM chunks WHERE file IN (SELECT value FROM json_each(?2))))
             ORDER BY bm25(words, 1.5, 1.0), words.rowid LIMIT ?3",
        )?;
        let files = files.map(listed);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = select.query_map(params![quoted.join(" OR "), files, limit], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Every vector of a model.
    pub fn vectors(&self, model: &str) -> Result<Vec<ChunkVector>, StoreError> {
        let mut select = self.connection.prepare(
            "SELECT c.id, c.file, v.vector FROM chunks c JOIN vectors v ON v.digest = c.digest AND v.model = ?1",
        )?;
        let rows = select.query_map([model], |row| {
            Ok(ChunkVector { chunk: row.get(0)?, file: row.get(1)?, vector: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Chunks by their numbers, in that order; those that are gone meanwhile are left out.
    pub fn chunks(&self, ids: &[i64]) -> Result<Vec<FoundChunk>, StoreError> {
        let mut select = self.connection.prepare_cached(
            "SELECT c.id, f.path, f.phase, c.heading, c.first_line, c.last_line, c.text
             FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?1",
        )?;
        let mut found = Vec::new();
        for id in ids {
            let row = select
                .query_row([id], |row| {
                    Ok(FoundChunk {
                        id: row.get(0)?,
                        path: row.get(1)?,
                        phase: row.get(2)?,
                        heading: row.get(3)?,
                        first_line: row.get(4)?,
                        last_line: row.get(5)?,
                        text: row.get(6)?,
                    })
                })
                .optional()?;
            found.extend(row);
        }
        Ok(found)
    }
}

fn put(
    connection: &Connection,
    path: &str,
    content: &str,
    phase: Option<&str>,
    unreadable: Option<&str>,
) -> Result<i64, StoreError> {
    connection
        .prepare_cached("INSERT INTO files (path, content, phase, unreadable) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![path, content, phase, unreadable])?;
    Ok(connection.last_insert_rowid())
}

fn put_chunks(connection: &Connection, file: i64, chunks: &[IndexedChunk]) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO chunks (file, heading, first_line, last_line, text, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut words =
        connection.prepare_cached("INSERT INTO words (rowid, heading, text) VALUES (?1, ?2, ?3)")?;
    for chunk in chunks {
        let (first, last) = (chunk.first_line, chunk.last_line);
        insert.execute(params![file, chunk.heading, first, last, chunk.text, chunk.digest.as_bytes()])?;
        words.execute(params![connection.last_insert_rowid(), chunk.heading, chunk.text])?;
    }
    Ok(())
}

/// Forgets a file. What is in the full-text search has to be named to be taken out.
fn take_out(connection: &Connection, path: &str) -> Result<(), StoreError> {
    let mut find = connection.prepare_cached("SELECT id FROM files WHERE path = ?1")?;
    let Some(file) = find.query_row([path], |row| row.get::<_, i64>(0)).optional()? else { return Ok(()) };
    connection
        .prepare_cached(
            "INSERT INTO words (words, rowid, heading, text)
             SELECT 'delete', id, heading, text FROM chunks WHERE file = ?1",
        )?
        .execute([file])?;
    connection.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([file])?;
    connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_cannot_be_used_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index.db");
        std::fs::write(&path, "not a database at all, and longer than a header would be".repeat(20)).unwrap();
        let index = SqliteIndex::open(&path).unwrap();
        assert_eq!(index.state("m").unwrap(), None);
        drop(index);
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
        assert_eq!(SqliteIndex::open(&path).unwrap().state("m").unwrap(), None);
    }
}
