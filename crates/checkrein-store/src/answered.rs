//! Requests that were sent with a key of their own: begun once, and answered again as they were.

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

use crate::StoreError;
use crate::sql::{Connection, OptionalExtension, params};

/// A request under the key it was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRequest {
    /// Whose key it is; keys of others say nothing.
    pub by: String,
    pub key: String,
    /// Of everything that makes it the same request.
    pub digest: Digest,
    /// What ids of new things are made of, so that doing it again makes nothing new.
    pub nonce: [u8; 16],
    pub at: Timestamp,
}

/// An answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub status: u16,
    /// Lines of names and values.
    pub headers: String,
    pub body: Vec<u8>,
}

/// A request that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRequest {
    pub request: KeyedRequest,
    /// None while it is not answered, and for ever where whoever did it died.
    pub answer: Option<KeptAnswer>,
}

/// Begins a request, unless its key is taken: then what is there.
pub(crate) fn begin(
    connection: &Connection,
    request: &KeyedRequest,
    old_before: Timestamp,
) -> Result<Option<KnownRequest>, StoreError> {
    connection
        .prepare_cached("DELETE FROM answered WHERE at_ms < ?1")?
        .execute([old_before.as_millisecond()])?;
    let added = connection
        .prepare_cached(
            "INSERT INTO answered (by, key, digest, nonce, at_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            request.by,
            request.key,
            request.digest.as_bytes(),
            request.nonce,
            request.at.as_millisecond()
        ])?;
    if added == 1 { Ok(None) } else { get(connection, &request.by, &request.key) }
}

/// Keeps the answer of a request that was begun.
pub(crate) fn finish(
    connection: &Connection,
    (by, key): (&str, &str),
    answer: &KeptAnswer,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE answered SET status = ?3, headers = ?4, body = ?5 WHERE by = ?1 AND key = ?2",
        )?
        .execute(params![by, key, answer.status, answer.headers, answer.body])?;
    Ok(())
}

/// Forgets a request that was refused: it may be mended and sent again.
pub(crate) fn forget(connection: &Connection, by: &str, key: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM answered WHERE by = ?1 AND key = ?2 AND status IS NULL")?
        .execute([by, key])?;
    Ok(())
}

fn get(connection: &Connection, by: &str, key: &str) -> Result<Option<KnownRequest>, StoreError> {
    let damaged = |what: &str| StoreError::Damaged { reason: format!("key `{key}` has a bad {what}") };
    let row = connection
        .prepare_cached(
            "SELECT digest, nonce, at_ms, status, headers, body FROM answered WHERE by = ?1 AND key = ?2",
        )?
        .query_row([by, key], |row| {
            let answer = match row.get::<_, Option<u16>>(3)? {
                Some(status) => Some(KeptAnswer { status, headers: row.get(4)?, body: row.get(5)? }),
                None => None,
            };
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, [u8; 16]>(1)?, row.get::<_, i64>(2)?, answer))
        })
        .optional()?;
    let Some((digest, nonce, at_ms, answer)) = row else { return Ok(None) };
    let request = KeyedRequest {
        by: by.to_owned(),
        key: key.to_owned(),
        digest: Digest::from_bytes(&digest).ok_or_else(|| damaged("digest"))?,
        nonce,
        at: Timestamp::from_millisecond(at_ms).map_err(|_| damaged("time"))?,
    };
    Ok(Some(KnownRequest { request, answer }))
}
