//! The index in a file of SQLite, with its full-text search.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkrein_core::deliverable::Digest;

use super::{
    ChunkVector, FoundChunk, IndexState, IndexUpdate, Indexed, IndexedChunk, KnownFile, NewVector, Updated,
    in_transaction, listed, read_chunk, read_file, read_missing, read_state, read_unreadable, read_vector,
};
use crate::StoreError;
use crate::sql::{Connection, OptionalExtension, params};

/// The tables as this program knows them; an index of another version is made anew.
const VERSION: i64 = 1;
const BUSY_MAX: Duration = Duration::from_secs(30);
/// Whoever changes it waits here, and not in the middle.
const BEGIN: &str = "BEGIN IMMEDIATE";

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
        let connection = rusqlite::Connection::open(path)?;
        connection.busy_timeout(BUSY_MAX)?;
        // It can be made again: what a power failure takes of it is no loss.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;",
        )?;
        let index =
            SqliteIndex { connection: Connection::Sqlite(Box::new(connection)), path: path.to_owned() };
        index.make()?;
        Ok(index)
    }

    fn make(&self) -> Result<(), StoreError> {
        let connection = &self.connection;
        let version = || -> Result<i64, StoreError> {
            Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
        };
        if version()? == VERSION {
            return Ok(());
        }
        in_transaction(connection, BEGIN, || match version()? {
            // Somebody else was faster.
            VERSION => Ok(()),
            0 => Ok(connection.execute_batch(&format!("{TABLES} PRAGMA user_version = {VERSION}"))?),
            other => Err(StoreError::Damaged { reason: format!("an index of version {other}") }),
        })
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
        let sql = "SELECT head, phase, built_ms, generation FROM state";
        let Some(state) = connection.query_row(sql, [], read_state).optional()? else { return Ok(None) };
        let count = |sql: &str, given: &[&dyn crate::sql::ToSql]| -> Result<u64, StoreError> {
            Ok(connection.query_row(sql, given, |row| row.get::<_, i64>(0))?.cast_unsigned())
        };
        let mut select = connection.prepare_cached(
            "SELECT path, unreadable FROM files WHERE unreadable IS NOT NULL ORDER BY path LIMIT 100",
        )?;
        let unreadable = select.query_map([], read_unreadable)?;
        Ok(Some(IndexState {
            files: count("SELECT count(*) FROM files", params![])?,
            chunks: count("SELECT count(*) FROM chunks", params![])?,
            missing: count(
                "SELECT count(*) FROM chunks c
                 WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.digest = c.digest AND v.model = ?1)",
                params![model],
            )?,
            unreadable: unreadable.collect::<Result<_, _>>()?,
            ..state
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
            self.connection.prepare_cached("SELECT id, path, content, phase FROM files ORDER BY path")?;
        let rows = select.query_map([], read_file)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Makes it the index of a commit, in one step: what changed is put there, what is gone is taken out.
    pub fn update(&self, update: &IndexUpdate, before: Option<&str>) -> Result<Updated, StoreError> {
        let connection = &self.connection;
        in_transaction(connection, BEGIN, || {
            if self.head()?.as_deref() != before {
                return Ok(Updated::Overtaken);
            }
            connection.execute_batch(
                "CREATE TEMP TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY) WITHOUT ROWID; DELETE FROM seen;",
            )?;
            let mut see = connection.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            for file in &update.files {
                see.execute([&file.path])?;
                match &file.found {
                    Indexed::AsBefore => {
                        connection
                            .prepare_cached("UPDATE files SET phase = ?2 WHERE path = ?1")?
                            .execute(params![file.path, file.phase])?;
                    }
                    Indexed::Chunks(chunks) => {
                        take_out(connection, &file.path)?;
                        let id = put(connection, &file.path, &file.content, file.phase.as_deref(), None)?;
                        put_chunks(connection, id, chunks)?;
                    }
                    Indexed::Unreadable(why) => {
                        take_out(connection, &file.path)?;
                        put(connection, &file.path, &file.content, file.phase.as_deref(), Some(why))?;
                    }
                }
            }
            let mut gone = connection
                .prepare_cached("SELECT path FROM files WHERE path NOT IN (SELECT path FROM seen)")?;
            let gone: Vec<String> = gone.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for path in gone {
                take_out(connection, &path)?;
            }
            connection.execute("DELETE FROM vectors WHERE digest NOT IN (SELECT digest FROM chunks)", [])?;
            connection.execute(
                "INSERT INTO state (id, head, phase, built_ms, generation) VALUES (1, ?1, ?2, ?3, 1)
                 ON CONFLICT (id) DO UPDATE SET head = ?1, phase = ?2, built_ms = ?3, generation = generation + 1",
                params![update.head, update.phase, update.at.as_millisecond()],
            )?;
            Ok(Updated::Done)
        })
    }

    /// Texts that have no vector of a model yet: digest, and what the model is to read.
    pub fn missing(&self, model: &str, limit: usize) -> Result<Vec<(Digest, String)>, StoreError> {
        let mut select = self.connection.prepare_cached(
            "SELECT c.digest, c.heading, c.text FROM chunks c
             WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.digest = c.digest AND v.model = ?1)
             GROUP BY c.digest ORDER BY min(c.id) LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = select.query_map(params![model, limit], read_missing)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn put_vectors(&self, model: &str, vectors: &[NewVector]) -> Result<(), StoreError> {
        let connection = &self.connection;
        in_transaction(connection, BEGIN, || {
            let mut insert = connection.prepare_cached(
                "INSERT OR REPLACE INTO vectors (digest, model, vector)
                 SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM chunks WHERE digest = ?1)",
            )?;
            for vector in vectors {
                insert.execute(params![vector.digest.as_bytes(), model, vector.bytes])?;
            }
            connection.execute("UPDATE state SET generation = generation + 1", [])?;
            Ok(())
        })
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
        let mut select = self.connection.prepare_cached(
            "SELECT c.id, c.file, v.vector FROM chunks c JOIN vectors v ON v.digest = c.digest AND v.model = ?1",
        )?;
        let rows = select.query_map([model], read_vector)?;
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
            found.extend(select.query_row([id], read_chunk).optional()?);
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
    let sql = "INSERT INTO files (path, content, phase, unreadable) VALUES (?1, ?2, ?3, ?4) RETURNING id";
    Ok(connection.query_row(sql, params![path, content, phase, unreadable], |row| row.get(0))?)
}

fn put_chunks(connection: &Connection, file: i64, chunks: &[IndexedChunk]) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO chunks (file, heading, first_line, last_line, text, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         RETURNING id",
    )?;
    let mut words =
        connection.prepare_cached("INSERT INTO words (rowid, heading, text) VALUES (?1, ?2, ?3)")?;
    for chunk in chunks {
        let (first, last) = (chunk.first_line, chunk.last_line);
        let given = params![file, chunk.heading, first, last, chunk.text, chunk.digest.as_bytes()];
        let id: i64 = insert.query_row(given, |row| row.get(0))?;
        words.execute(params![id, chunk.heading, chunk.text])?;
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
        rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
        assert_eq!(SqliteIndex::open(&path).unwrap().state("m").unwrap(), None);
    }
}
