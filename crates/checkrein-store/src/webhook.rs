//! Webhooks: where notifications go, and how far each has been told.

use checkrein_core::notification::{NotificationType, WebhookKind, WebhookSecret, WebhookUrl};
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{NewDelivery, Position, StoreError, delivery};

#[derive(Clone, Debug, PartialEq)]
pub struct WebhookRow {
    pub id: String,
    /// What people call it; may be empty.
    pub name: String,
    pub kind: WebhookKind,
    pub url: WebhookUrl,
    pub types: Vec<NotificationType>,
    /// Whether it may be in a private network, or on this machine.
    pub allow_private: bool,
    /// Those that take a signature have one.
    pub secret: Option<WebhookSecret>,
    /// The one before, and until when it signs as well.
    pub old_secret: Option<(WebhookSecret, Timestamp)>,
    /// Everything up to here became deliveries.
    pub position: Position,
    pub created_at: Timestamp,
    /// When it began to fail, if nothing arrived since.
    pub failing_since: Option<Timestamp>,
    /// When and why it is sent nothing any more.
    pub disabled: Option<(Timestamp, String)>,
}

/// What a webhook has not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub waiting: u64,
    pub dead: u64,
}

const COLUMNS: &str = "id, name, kind, url, types, private, secret, old_secret, old_until_ms, position, created_ms, \
                       failing_ms, disabled_ms, disabled_why";

/// Adds a webhook that is told of what happens from now on.
pub(crate) fn put(connection: &Connection, row: &WebhookRow) -> Result<(), StoreError> {
    let types: Vec<&str> = row.types.iter().map(|kind| kind.name()).collect();
    connection
        .prepare_cached(
            "INSERT INTO webhooks (id, name, kind, url, types, private, secret, position, created_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(position), 0) FROM events), ?8)",
        )?
        .execute(params![
            row.id,
            row.name,
            row.kind.name(),
            row.url.reveal(),
            types.join(" "),
            row.allow_private,
            row.secret.as_ref().map(WebhookSecret::reveal),
            row.created_at.as_millisecond(),
        ])?;
    Ok(())
}

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<WebhookRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM webhooks WHERE id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

pub(crate) fn list(connection: &Connection) -> Result<Vec<WebhookRow>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM webhooks ORDER BY number"))?;
    let rows = select.query_map([], |row| Ok(read(row)))?;
    let mut webhooks = Vec::new();
    for row in rows {
        webhooks.push(row??);
    }
    Ok(webhooks)
}

/// Whether there was one; what was on its way to it is gone with it.
pub(crate) fn remove(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    connection.execute("DELETE FROM deliveries WHERE webhook = ?1", [id])?;
    Ok(connection.execute("DELETE FROM webhooks WHERE id = ?1", [id])? == 1)
}

/// Gives it a new secret; the one it had signs as well for a while.
pub(crate) fn rotate(
    connection: &Connection,
    id: &str,
    secret: &WebhookSecret,
    old_until: Timestamp,
) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE webhooks SET old_secret = secret, old_until_ms = ?3, secret = ?2 WHERE id = ?1",
        params![id, secret.reveal(), old_until.as_millisecond()],
    )?;
    Ok(changed == 1)
}

/// Sends to it again, what happens from now on and what was waiting.
pub(crate) fn enable(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE webhooks SET disabled_ms = NULL, disabled_why = NULL, failing_ms = NULL,
             position = (SELECT coalesce(max(position), 0) FROM events)
         WHERE id = ?1 AND disabled_ms IS NOT NULL",
        [id],
    )?;
    Ok(changed == 1)
}

/// Notes that a webhook was told of everything up to `next`, with what came of it. False where somebody
/// else was faster, or it is sent nothing any more; then nothing is changed.
pub(crate) fn advance(
    connection: &Connection,
    id: &str,
    (expected, next): (Position, Position),
    deliveries: &[NewDelivery],
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE webhooks SET position = ?3 WHERE id = ?1 AND position = ?2 AND disabled_ms IS NULL",
        )?
        .execute(params![id, expected.0, next.0])?;
    if changed == 0 {
        return Ok(false);
    }
    for new in deliveries {
        delivery::put(connection, id, new)?;
    }
    Ok(true)
}

pub(crate) fn backlog(connection: &Connection, id: &str) -> Result<Backlog, StoreError> {
    let count = |status: &str| -> Result<u64, StoreError> {
        let count: i64 = connection
            .prepare_cached("SELECT count(*) FROM deliveries WHERE webhook = ?1 AND status = ?2")?
            .query_row([id, status], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    };
    Ok(Backlog { waiting: count("waiting")?, dead: count("dead")? })
}

fn read(row: &Row<'_>) -> Result<WebhookRow, StoreError> {
    let id: String = row.get(0)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("webhook `{id}` has a bad {what}") };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| damaged("time"));
    let secret = |text: String| WebhookSecret::parse(&text).map_err(|_| damaged("secret"));
    let maybe_time = |ms: Option<i64>| ms.map(time).transpose();
    let (kind, types): (String, String) = (row.get(2)?, row.get(4)?);
    let types: Option<Vec<NotificationType>> = types.split(' ').map(NotificationType::parse).collect();
    let old_secret = row.get::<_, Option<String>>(7)?.map(secret).transpose()?;
    let disabled_at = maybe_time(row.get(12)?)?;
    let disabled_why: Option<String> = row.get(13)?;
    Ok(WebhookRow {
        id: id.clone(),
        name: row.get(1)?,
        kind: WebhookKind::parse(&kind).ok_or_else(|| damaged("kind"))?,
        url: WebhookUrl::new(row.get::<_, String>(3)?),
        types: types.ok_or_else(|| damaged("type"))?,
        allow_private: row.get(5)?,
        secret: row.get::<_, Option<String>>(6)?.map(secret).transpose()?,
        old_secret: old_secret.zip(maybe_time(row.get(8)?)?),
        position: Position(row.get(9)?),
        created_at: time(row.get(10)?)?,
        failing_since: maybe_time(row.get(11)?)?,
        disabled: disabled_at.map(|at| (at, disabled_why.unwrap_or_default())),
    })
}
