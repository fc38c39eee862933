//! Principals and their tokens. Only hashes of tokens are kept.

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use jiff::Timestamp;

use crate::StoreError;
use crate::sql::{Connection, OptionalExtension, Row, params};

#[derive(Clone, Debug, PartialEq)]
pub struct TokenRow {
    /// A short public name by which it can be revoked.
    pub id: String,
    pub principal: Principal,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

pub(crate) const COLUMNS: &str =
    "tokens.id, name, kind, role, tokens.created_ms, tokens.expires_ms, revoked_ms, worker";

pub(crate) fn put(connection: &Connection, token: &TokenRow, secret: &Digest) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO tokens (id, secret, name, kind, role, created_ms, expires_ms, worker)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            token.id,
            secret.as_bytes(),
            token.principal.name,
            token.principal.kind.name(),
            token.principal.role.name(),
            token.created_at.as_millisecond(),
            token.expires_at.map(Timestamp::as_millisecond),
            token.principal.worker,
        ],
    )?;
    Ok(())
}

pub(crate) fn by_secret(connection: &Connection, secret: &Digest) -> Result<Option<TokenRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM tokens WHERE secret = ?1"))?
        .query_row(params![secret.as_bytes()], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Option<TokenRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM tokens WHERE id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

pub(crate) fn list(connection: &Connection) -> Result<Vec<TokenRow>, StoreError> {
    let mut select =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM tokens ORDER BY created_ms, id"))?;
    let rows = select.query_map([], |row| Ok(read(row)))?;
    let mut tokens = Vec::new();
    for row in rows {
        tokens.push(row??);
    }
    Ok(tokens)
}

/// Whether there was such a token; revoking twice keeps the first time.
pub(crate) fn revoke(connection: &Connection, id: &str, at: Timestamp) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?2) WHERE id = ?1",
        params![id, at.as_millisecond()],
    )?;
    Ok(changed == 1)
}

pub(crate) fn read(row: &Row<'_>) -> Result<TokenRow, StoreError> {
    let id: String = row.get(0)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("token `{id}` has a bad {what}") };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| damaged("time"));
    let (kind, role): (String, String) = (row.get(2)?, row.get(3)?);
    Ok(TokenRow {
        id: id.clone(),
        principal: Principal {
            worker: row.get(7)?,
            ..Principal::new(
                row.get::<_, String>(1)?,
                PrincipalKind::parse(&kind).ok_or_else(|| damaged("kind"))?,
                Role::parse(&role).ok_or_else(|| damaged("role"))?,
            )
        },
        created_at: time(row.get(4)?)?,
        expires_at: row.get::<_, Option<i64>>(5)?.map(time).transpose()?,
        revoked_at: row.get::<_, Option<i64>>(6)?.map(time).transpose()?,
    })
}
