//! Browsers that are signed in. Only hashes of what they show are kept.

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{Page, StoreError, TokenRow, principal};

#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    pub number: i64,
    /// A short public name by which it can be ended.
    pub id: String,
    /// The token it lives by: where that is worthless, so is this.
    pub token: String,
    /// Whether that token was made for the session alone, and ends with it.
    pub owns_token: bool,
    /// What a change has to show beside the cookie.
    pub for_changes: Digest,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// A session, and the token it lives by.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedIn {
    pub session: SessionRow,
    pub token: TokenRow,
}

/// The token comes first: its columns are read by their places.
fn select(rest: &str) -> String {
    format!(
        "SELECT {}, number, sessions.id, token, owns_token, for_changes, sessions.created_ms,
                sessions.expires_ms, ended_ms
         FROM sessions JOIN tokens ON tokens.id = sessions.token {rest}",
        principal::COLUMNS
    )
}

/// Adds one; its number is given here. What was over before `old_before` is forgotten.
pub(crate) fn put(
    connection: &Connection,
    session: &SessionRow,
    secret: &Digest,
    old_before: Timestamp,
) -> Result<(), StoreError> {
    connection.execute("DELETE FROM sessions WHERE expires_ms < ?1", [old_before.as_millisecond()])?;
    connection.execute(
        "INSERT INTO sessions (id, secret, for_changes, token, owns_token, created_ms, expires_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            session.id,
            secret.as_bytes(),
            session.for_changes.as_bytes(),
            session.token,
            session.owns_token,
            session.created_at.as_millisecond(),
            session.expires_at.as_millisecond(),
        ],
    )?;
    Ok(())
}

pub(crate) fn by_secret(connection: &Connection, secret: &Digest) -> Result<Option<SignedIn>, StoreError> {
    let row = connection
        .prepare_cached(&select("WHERE sessions.secret = ?1"))?
        .query_row([secret.as_bytes()], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Option<SignedIn>, StoreError> {
    let row = connection
        .prepare_cached(&select("WHERE sessions.id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// Those that are not over at a time, in the order they began, after the one numbered `after`; of one
/// name or of all.
pub(crate) fn list(
    connection: &Connection,
    of: Option<&str>,
    at: Timestamp,
    after: i64,
    limit: usize,
) -> Result<Page<SignedIn>, StoreError> {
    let mut select = connection.prepare_cached(&select(
        "WHERE number > ?1 AND (?2 IS NULL OR name = ?2) AND ended_ms IS NULL AND revoked_ms IS NULL
           AND sessions.expires_ms > ?3 AND (tokens.expires_ms IS NULL OR tokens.expires_ms > ?3)
         ORDER BY number LIMIT ?4",
    ))?;
    let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = select.query_map(params![after, of, at.as_millisecond(), more], |row| Ok(read(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(Page::of(items, limit, |item| item.session.number))
}

/// Whether there was such a session; ending it twice keeps the first time. A token that was made for it
/// ends with it.
pub(crate) fn end(connection: &Connection, id: &str, at: Timestamp) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE sessions SET ended_ms = coalesce(ended_ms, ?2) WHERE id = ?1",
        params![id, at.as_millisecond()],
    )?;
    connection.execute(
        "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?2)
         WHERE id IN (SELECT token FROM sessions WHERE id = ?1 AND owns_token <> 0)",
        params![id, at.as_millisecond()],
    )?;
    Ok(changed == 1)
}

fn read(row: &Row<'_>) -> Result<SignedIn, StoreError> {
    let token = principal::read(row)?;
    let id: String = row.get(9)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("session `{id}` has a bad {what}") };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| damaged("time"));
    let session = SessionRow {
        number: row.get(8)?,
        id: id.clone(),
        token: row.get(10)?,
        owns_token: row.get(11)?,
        for_changes: Digest::from_bytes(&row.get::<_, Vec<u8>>(12)?).ok_or_else(|| damaged("secret"))?,
        created_at: time(row.get(13)?)?,
        expires_at: time(row.get(14)?)?,
        ended_at: row.get::<_, Option<i64>>(15)?.map(time).transpose()?,
    };
    Ok(SignedIn { session, token })
}
