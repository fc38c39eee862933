//! The index in tables of PostgreSQL, with its text search, and its vectors where the server has pgvector.
//!
//! The tables are no part of the store's schema: what is in them is made again where it is missing, and a copy of the
//! store leaves them behind.

use serde_json::json;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::{
    ChunkVector, FoundChunk, IndexState, IndexUpdate, Indexed, KnownFile, NewVector, Updated, in_transaction,
    listed, read_chunk, read_file, read_missing, read_state, read_unreadable, read_vector,
};
use crate::sql::{Connection, OptionalExtension, params};
use crate::{Store, StoreError};

/// The tables as this program knows them; those of an older one are made anew.
const VERSION: i64 = 1;

const MAKE: &str = r#"
    CREATE TABLE checkrein_index_state (
        job        TEXT COLLATE "C" PRIMARY KEY,
        made       BIGINT GENERATED ALWAYS AS IDENTITY,
        head       TEXT NOT NULL,
        phase      TEXT NOT NULL,
        built_ms   BIGINT NOT NULL,
        generation BIGINT NOT NULL
    );
    CREATE TABLE checkrein_index_files (
        id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        job        TEXT COLLATE "C" NOT NULL REFERENCES checkrein_index_state (job) ON DELETE CASCADE,
        path       TEXT COLLATE "C" NOT NULL,
        content    TEXT NOT NULL,
        phase      TEXT,
        unreadable TEXT,
        UNIQUE (job, path)
    );
    CREATE TABLE checkrein_index_chunks (
        id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        job        TEXT COLLATE "C" NOT NULL,
        file       BIGINT NOT NULL REFERENCES checkrein_index_files (id) ON DELETE CASCADE,
        heading    TEXT NOT NULL,
        first_line BIGINT NOT NULL,
        last_line  BIGINT NOT NULL,
        text       TEXT NOT NULL,
        digest     BYTEA NOT NULL,
        length     BIGINT NOT NULL,
        words      TSVECTOR NOT NULL
    );
    CREATE INDEX checkrein_index_chunks_of_file ON checkrein_index_chunks (file);
    CREATE INDEX checkrein_index_chunks_of_digest ON checkrein_index_chunks (job, digest);
    CREATE INDEX checkrein_index_chunks_words ON checkrein_index_chunks USING gin (words);
    CREATE TABLE checkrein_index_vectors (
        job    TEXT COLLATE "C" NOT NULL REFERENCES checkrein_index_state (job) ON DELETE CASCADE,
        digest BYTEA NOT NULL,
        model  TEXT COLLATE "C" NOT NULL,
        vector BYTEA NOT NULL,
        PRIMARY KEY (job, model, digest)
    );"#;

/// What the server has for the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Whether it compares vectors itself.
    compares: bool,
}

impl Tables {
    /// Looks at the tables, and makes them the first time.
    pub(crate) fn make(connection: &Connection, lock: i64) -> Result<Tables, StoreError> {
        let made = "SELECT to_regclass('checkrein_index') IS NOT NULL";
        let is_made =
            || -> Result<bool, StoreError> { Ok(connection.query_row(made, [], |row| row.get(0))?) };
        let version = || -> Result<i64, StoreError> {
            Ok(connection.query_row("SELECT version FROM checkrein_index", [], |row| row.get(0))?)
        };
        if !is_made()? || version()? < VERSION {
            // Whoever else makes them waits here. It is not the lock of those who write.
            let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({})", lock.wrapping_add(1));
            in_transaction(connection, &begin, || {
                if is_made()? && version()? >= VERSION {
                    return Ok(());
                }
                Ok(connection.execute_batch(&format!(
                    "DROP TABLE IF EXISTS checkrein_index, checkrein_index_vectors, checkrein_index_chunks,
                         checkrein_index_files, checkrein_index_state;
                     CREATE TABLE checkrein_index (
                         one BOOLEAN PRIMARY KEY DEFAULT true CHECK (one), version BIGINT NOT NULL);
                     INSERT INTO checkrein_index (version) VALUES ({VERSION});
                     {MAKE}"
                ))?)
            })?;
        }
        Ok(Tables { compares: compares(connection)? })
    }
}

/// Has the server compare vectors, if it can and we may.
fn compares(connection: &Connection) -> Result<bool, StoreError> {
    let known = "SELECT to_regtype('vector') IS NOT NULL";
    let is_known = || -> Result<bool, StoreError> { Ok(connection.query_row(known, [], |row| row.get(0))?) };
    if !is_known()? {
        let sql = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'";
        let there: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        // Not everybody may; without it vectors are compared here.
        let made = there > 0 && connection.execute_batch("CREATE EXTENSION IF NOT EXISTS vector").is_ok();
        if !made || !is_known()? {
            return Ok(false);
        }
    }
    let add = "ALTER TABLE checkrein_index_vectors ADD COLUMN IF NOT EXISTS embedding vector";
    Ok(connection.execute_batch(add).is_ok())
}

/// So many chunks go to the server at once.
const CHUNKS_AT_ONCE: usize = 500;

#[derive(Clone, Debug)]
pub(super) struct PostgresIndex {
    store: Store,
    job: String,
}

impl PostgresIndex {
    pub fn of(store: &Store, job: &str) -> PostgresIndex {
        PostgresIndex { store: store.clone(), job: job.to_owned() }
    }

    pub fn is_there(&self) -> Result<bool, StoreError> {
        self.read(|connection| {
            let mut select =
                connection.prepare_cached("SELECT 1::bigint FROM checkrein_index_state WHERE job = ?1")?;
            Ok(select.exists([&self.job])?)
        })
    }

    pub fn remove(&self) -> Result<(), StoreError> {
        self.read(|connection| {
            connection.execute("DELETE FROM checkrein_index_state WHERE job = ?1", [&self.job])?;
            Ok(())
        })
    }

    pub fn identity(&self) -> Result<(u64, u64), StoreError> {
        self.read(|connection| {
            let made: Option<i64> = connection
                .query_row("SELECT made FROM checkrein_index_state WHERE job = ?1", [&self.job], |row| {
                    row.get(0)
                })
                .optional()?;
            Ok((u64::MAX, made.unwrap_or(0).cast_unsigned()))
        })
    }

    pub fn state(&self, model: &str) -> Result<Option<IndexState>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT head, phase, built_ms, generation FROM checkrein_index_state WHERE job = ?1";
            let state = connection.query_row(sql, [&self.job], read_state).optional()?;
            let Some(state) = state else { return Ok(None) };
            let count = |sql: &str, given: &[&dyn crate::sql::ToSql]| -> Result<u64, StoreError> {
                Ok(connection.query_row(sql, given, |row| row.get::<_, i64>(0))?.cast_unsigned())
            };
            let mut select = connection.prepare_cached(
                "SELECT path, unreadable FROM checkrein_index_files
                 WHERE job = ?1 AND unreadable IS NOT NULL ORDER BY path LIMIT 100",
            )?;
            let unreadable = select.query_map([&self.job], read_unreadable)?;
            Ok(Some(IndexState {
                files: count("SELECT count(*) FROM checkrein_index_files WHERE job = ?1", params![self.job])?,
                chunks: count(
                    "SELECT count(*) FROM checkrein_index_chunks WHERE job = ?1",
                    params![self.job],
                )?,
                missing: count(
                    "SELECT count(*) FROM checkrein_index_chunks AS c WHERE c.job = ?1 AND NOT EXISTS (
                         SELECT 1 FROM checkrein_index_vectors AS v
                         WHERE v.job = c.job AND v.model = ?2 AND v.digest = c.digest)",
                    params![self.job, model],
                )?,
                unreadable: unreadable.collect::<Result<_, _>>()?,
                ..state
            }))
        })
    }

    pub fn head(&self) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT head FROM checkrein_index_state WHERE job = ?1";
            Ok(connection.query_row(sql, [&self.job], |row| row.get(0)).optional()?)
        })
    }

    pub fn generation(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let sql = "SELECT generation FROM checkrein_index_state WHERE job = ?1";
            let found: Option<i64> = connection.query_row(sql, [&self.job], |row| row.get(0)).optional()?;
            Ok(found.unwrap_or(0).cast_unsigned())
        })
    }

    pub fn files(&self) -> Result<Vec<KnownFile>, StoreError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT id, path, content, phase FROM checkrein_index_files WHERE job = ?1 ORDER BY path",
            )?;
            let rows = select.query_map([&self.job], read_file)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn update(&self, update: &IndexUpdate, before: Option<&str>) -> Result<Updated, StoreError> {
        let seen: Vec<&str> = update.files.iter().map(|file| file.path.as_str()).collect();
        let (mut same, mut files, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        for file in &update.files {
            let unreadable = match &file.found {
                Indexed::AsBefore => {
                    same.push(json!({"path": file.path, "phase": file.phase}));
                    continue;
                }
                Indexed::Chunks(_) => None,
                Indexed::Unreadable(why) => Some(why),
            };
            files.push(json!({"path": file.path, "content": file.content, "phase": file.phase,
                              "unreadable": unreadable}));
            let Indexed::Chunks(found) = &file.found else { continue };
            for chunk in found {
                let (heading, text) = (plain(&chunk.heading), plain(&chunk.text));
                let length =
                    heading.split(' ').chain(text.split(' ')).filter(|word| !word.is_empty()).count();
                let digest: String =
                    chunk.digest.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                chunks.push(json!({
                    "path": file.path, "heading": without_nul(&chunk.heading), "first_line": chunk.first_line,
                    "last_line": chunk.last_line, "text": without_nul(&chunk.text), "digest": digest,
                    "plain_heading": heading, "plain_text": text, "length": length,
                }));
            }
        }
        let parts: Vec<String> = chunks
            .chunks(CHUNKS_AT_ONCE)
            .map(|part| serde_json::Value::from(part.to_vec()).to_string())
            .collect();
        let (seen, same, files) =
            (json!(seen).to_string(), json!(same).to_string(), json!(files).to_string());
        self.write(|connection, _| {
            // Whoever changes the same index waits at this row.
            let at_ms = update.at.as_millisecond();
            let changed = match before {
                None => connection.execute(
                    "INSERT INTO checkrein_index_state (job, head, phase, built_ms, generation)
                     VALUES (?1, ?2, ?3, ?4, 1) ON CONFLICT DO NOTHING",
                    params![self.job, update.head, update.phase, at_ms],
                )?,
                Some(before) => connection.execute(
                    "UPDATE checkrein_index_state SET head = ?2, phase = ?3, built_ms = ?4, generation = generation + 1
                     WHERE job = ?1 AND head = ?5",
                    params![self.job, update.head, update.phase, at_ms, before],
                )?,
            };
            if changed == 0 {
                return Ok(Updated::Overtaken);
            }
            connection.execute(
                "DELETE FROM checkrein_index_files AS f WHERE f.job = ?1 AND (
                     NOT EXISTS (SELECT 1 FROM json_array_elements_text(CAST(CAST(?2 AS text) AS json)) AS s (path)
                                 WHERE s.path = f.path)
                     OR EXISTS (SELECT 1 FROM json_to_recordset(CAST(CAST(?3 AS text) AS json)) AS n (path text)
                                WHERE n.path = f.path))",
                params![self.job, seen, files],
            )?;
            connection.execute(
                "UPDATE checkrein_index_files AS f SET phase = b.phase
                 FROM json_to_recordset(CAST(CAST(?2 AS text) AS json)) AS b (path text, phase text)
                 WHERE f.job = ?1 AND f.path = b.path",
                params![self.job, same],
            )?;
            connection.execute(
                "INSERT INTO checkrein_index_files (job, path, content, phase, unreadable)
                 SELECT ?1, n.path, n.content, n.phase, n.unreadable
                 FROM json_to_recordset(CAST(CAST(?2 AS text) AS json))
                     AS n (path text, content text, phase text, unreadable text)
                 ON CONFLICT DO NOTHING",
                params![self.job, files],
            )?;
            for part in &parts {
                connection.execute(
                    "INSERT INTO checkrein_index_chunks
                         (job, file, heading, first_line, last_line, text, digest, length, words)
                     SELECT f.job, f.id, n.heading, n.first_line, n.last_line, n.text, decode(n.digest, 'hex'), n.length,
                            setweight(to_tsvector('english', n.plain_heading), 'A')
                                || setweight(to_tsvector('english', n.plain_text), 'B')
                     FROM json_to_recordset(CAST(CAST(?2 AS text) AS json))
                         AS n (path text, heading text, first_line bigint, last_line bigint, text text, digest text,
                               plain_heading text, plain_text text, length bigint)
                     JOIN checkrein_index_files AS f ON f.job = ?1 AND f.path = n.path",
                    params![self.job, part],
                )?;
            }
            connection.execute(
                "DELETE FROM checkrein_index_vectors AS v WHERE v.job = ?1 AND NOT EXISTS (
                     SELECT 1 FROM checkrein_index_chunks AS c WHERE c.job = v.job AND c.digest = v.digest)",
                [&self.job],
            )?;
            Ok(Updated::Done)
        })
    }

    pub fn missing(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<(checkrein_core::deliverable::Digest, String)>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT c.digest, min(c.heading), min(c.text) FROM checkrein_index_chunks AS c
                 WHERE c.job = ?1 AND NOT EXISTS (
                     SELECT 1 FROM checkrein_index_vectors AS v
                     WHERE v.job = c.job AND v.model = ?2 AND v.digest = c.digest)
                 GROUP BY c.digest ORDER BY min(c.id) LIMIT ?3",
            )?;
            let rows = select.query_map(params![self.job, model, limit], read_missing)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn put_vectors(&self, model: &str, vectors: &[NewVector]) -> Result<(), StoreError> {
        self.write(|connection, tables| {
            for vector in vectors {
                let (embedding, names, values) = match tables.compares {
                    true => {
                        (Some(written(&vector.numbers)), ", embedding", ", CAST(CAST(?5 AS text) AS vector)")
                    }
                    false => (None, "", ""),
                };
                let sql = format!(
                    "INSERT INTO checkrein_index_vectors (job, model, digest, vector{names})
                     SELECT ?1, ?2, ?3, CAST(?4 AS bytea){values} WHERE EXISTS (
                         SELECT 1 FROM checkrein_index_chunks WHERE job = ?1 AND digest = ?3)
                     ON CONFLICT (job, model, digest) DO UPDATE SET vector = excluded.vector"
                );
                let digest = vector.digest.as_bytes();
                match &embedding {
                    Some(text) => {
                        connection.execute(&sql, params![self.job, model, digest, vector.bytes, text])?
                    }
                    None => connection.execute(&sql, params![self.job, model, digest, vector.bytes])?,
                };
            }
            let sql = "UPDATE checkrein_index_state SET generation = generation + 1 WHERE job = ?1";
            connection.execute(sql, [&self.job])?;
            Ok(())
        })
    }

    /// Ranked as SQLite ranks: BM25, in which a word of a heading counts half as much again.
    pub fn by_words(
        &self,
        words: &[String],
        files: Option<&[i64]>,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let words: Vec<String> = words
            .iter()
            .flat_map(|word| plain(word).split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|word| !word.is_empty())
            .collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let (each, any) = (words.join(" "), words.join(" | "));
        let (files, limit) = (files.map(listed), i64::try_from(limit).unwrap_or(i64::MAX));
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "WITH asked AS (SELECT lexeme FROM unnest(to_tsvector('english', CAST(?2 AS text)))),
                      all_chunks AS (
                          SELECT count(*)::float8 AS number, greatest(avg(length), 1)::float8 AS length
                          FROM checkrein_index_chunks WHERE job = ?1),
                      hits AS MATERIALIZED (
                          SELECT c.id, c.file, c.length::float8 AS length, w.lexeme,
                                 (SELECT sum(CASE weight WHEN 'A' THEN 1.5 ELSE 1.0 END)::float8
                                  FROM unnest(w.weights) AS weight) AS often
                          FROM checkrein_index_chunks AS c CROSS JOIN LATERAL unnest(c.words) AS w
                          JOIN asked ON asked.lexeme = w.lexeme
                          WHERE c.job = ?1 AND c.words @@ to_tsquery('english', CAST(?3 AS text))),
                      rare AS (
                          SELECT lexeme, greatest(ln((max(number) - count(*) + 0.5) / (count(*) + 0.5)), 1e-6) AS weight
                          FROM hits, all_chunks GROUP BY lexeme)
                 SELECT h.id FROM hits AS h JOIN rare USING (lexeme), all_chunks AS a
                 WHERE (h.file IN (SELECT value::bigint FROM json_array_elements_text(CAST(CAST(?4 AS text) AS json)) AS f (value))
                        OR CAST(?4 AS text) IS NULL)
                 GROUP BY h.id
                 ORDER BY sum(rare.weight * h.often * 2.2 / (h.often + 1.2 * (0.25 + 0.75 * h.length / a.length))) DESC, h.id
                 LIMIT ?5",
            )?;
            let rows = select.query_map(params![self.job, each, any, files, limit], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn nearest(
        &self,
        model: &str,
        to: &[f32],
        files: Option<&[i64]>,
        limit: usize,
    ) -> Result<Option<Vec<i64>>, StoreError> {
        let (to, files) = (written(to), files.map(listed));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.store.with_index(|connection, tables| {
            if !tables.compares {
                return Ok(None);
            }
            // Some may be of a time when the server could not.
            let mut without = connection.prepare_cached(
                "SELECT 1::bigint FROM checkrein_index_vectors WHERE job = ?1 AND model = ?2 AND embedding IS NULL LIMIT 1",
            )?;
            if without.exists(params![self.job, model])? {
                return Ok(None);
            }
            let mut select = connection.prepare_cached(
                "SELECT c.id FROM checkrein_index_chunks AS c JOIN checkrein_index_vectors AS v
                     ON v.job = c.job AND v.model = ?2 AND v.digest = c.digest
                 WHERE c.job = ?1
                   AND vector_dims(v.embedding) = vector_dims(CAST(CAST(?3 AS text) AS vector))
                   AND (c.file IN (SELECT value::bigint FROM json_array_elements_text(CAST(CAST(?4 AS text) AS json)) AS f (value))
                        OR CAST(?4 AS text) IS NULL)
                 ORDER BY v.embedding <#> CAST(CAST(?3 AS text) AS vector), c.id LIMIT ?5",
            )?;
            let rows = select.query_map(params![self.job, model, to, files, limit], |row| row.get(0))?;
            Ok(Some(rows.collect::<Result<_, _>>()?))
        })
    }

    pub fn vectors(&self, model: &str) -> Result<Vec<ChunkVector>, StoreError> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT c.id, c.file, v.vector FROM checkrein_index_chunks AS c JOIN checkrein_index_vectors AS v
                     ON v.job = c.job AND v.model = ?2 AND v.digest = c.digest
                 WHERE c.job = ?1",
            )?;
            let rows = select.query_map(params![self.job, model], read_vector)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn chunks(&self, ids: &[i64]) -> Result<Vec<FoundChunk>, StoreError> {
        let ids = listed(ids);
        self.read(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT c.id, f.path, f.phase, c.heading, c.first_line, c.last_line, c.text
                 FROM json_array_elements_text(CAST(CAST(?2 AS text) AS json)) WITH ORDINALITY AS wanted (id, place)
                 JOIN checkrein_index_chunks AS c ON c.id = wanted.id::bigint AND c.job = ?1
                 JOIN checkrein_index_files AS f ON f.id = c.file
                 ORDER BY wanted.place",
            )?;
            let rows = select.query_map(params![self.job, ids], read_chunk)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn read<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.store.with_index(|connection, _| work(connection))
    }

    /// Everything in `work` is there afterwards, or nothing. It may be done twice.
    fn write<T>(&self, work: impl Fn(&Connection, Tables) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.store
            .with_index(|connection, tables| in_transaction(connection, "BEGIN", || work(connection, tables)))
    }
}

/// A text as words between spaces, in small letters without marks: what stands between words is the same for
/// both back ends then.
fn plain(text: &str) -> String {
    let kept = text.nfd().filter(|character| !is_combining_mark(*character)).flat_map(char::to_lowercase);
    kept.map(|character| if character.is_alphanumeric() { character } else { ' ' }).collect()
}

/// Text of PostgreSQL has none.
fn without_nul(text: &str) -> String {
    text.replace('\0', " ")
}

/// Numbers as pgvector reads them.
fn written(numbers: &[f32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:.6}")).collect();
    format!("[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_stands_between_everything_else() {
        for (text, expected) in [
            ("docs/Plan-2.md", "docs plan 2 md"),
            ("Zürich, café\u{301}", "zurich  cafe"),
            ("a\0b", "a b"),
            ("x' | (y)", "x     y "),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }
}
