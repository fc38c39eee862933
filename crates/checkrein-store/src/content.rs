//! Content by its digest, kept once however often it is referred to.

use checkrein_core::deliverable::{Content, Digest, Encoding};

use crate::StoreError;
use crate::sql::{Connection, OptionalExtension, params};

/// Whether it was new.
pub(crate) fn put(connection: &Connection, content: &Content) -> Result<bool, StoreError> {
    let added = connection
        .prepare_cached(
            "INSERT INTO contents (digest, encoding, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![content.digest.as_bytes(), code(content.encoding), content.bytes])?;
    Ok(added == 1)
}

pub(crate) fn get(connection: &Connection, digest: &Digest) -> Result<Option<Content>, StoreError> {
    let row = connection
        .prepare_cached("SELECT encoding, bytes FROM contents WHERE digest = ?1")?
        .query_row(params![digest.as_bytes()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .optional()?;
    let Some((encoding, bytes)) = row else { return Ok(None) };
    if Digest::of(&bytes) != *digest {
        return Err(StoreError::Damaged { reason: format!("content {digest} is not what it was") });
    }
    Ok(Some(Content { digest: *digest, encoding: decode(encoding), bytes }))
}

const fn code(encoding: Encoding) -> i64 {
    match encoding {
        Encoding::Text => 0,
        Encoding::Bytes => 1,
        Encoding::Json => 2,
    }
}

const fn decode(code: i64) -> Encoding {
    match code {
        0 => Encoding::Text,
        2 => Encoding::Json,
        _ => Encoding::Bytes,
    }
}
