//! Deliveries: one notification on its way to one webhook.

use checkrein_core::notification::DeliveryStatus;
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{Page, StoreError};

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRow {
    /// Its place in the order they were made.
    pub number: i64,
    /// The same however often it is sent.
    pub id: String,
    pub webhook: String,
    /// What kind of notification it is.
    pub kind: String,
    /// The checkpoint or run it is about.
    pub subject: String,
    /// What is sent.
    pub body: String,
    pub status: DeliveryStatus,
    /// How often it was begun to send it.
    pub attempts: u32,
    pub created_at: Timestamp,
    /// When it is sent, or sent again; while it is under way, when whoever sends it counts as dead.
    pub next_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// What came of the last attempt.
    pub answer: Option<String>,
}

/// A notification to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDelivery {
    pub id: String,
    pub kind: &'static str,
    pub subject: String,
    pub body: String,
    pub at: Timestamp,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    pub id: String,
    /// By which whoever records it has to have claimed it.
    pub lease: String,
    pub status: DeliveryStatus,
    pub next_at: Option<Timestamp>,
    pub answer: String,
    pub at: Timestamp,
    pub health: Health,
}

/// What an attempt says about its webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Well,
    /// It is sent nothing any more if it has been failing since before this.
    Failing {
        disable_before: Timestamp,
    },
    /// It wants nothing any more, and why.
    Gone(String),
    /// A test says nothing.
    Unknown,
}

const COLUMNS: &str =
    "number, id, webhook, type, subject, body, status, attempts, created_ms, next_ms, finished_ms, answer";

/// An id that is there already was made of the same event: it is not made twice.
pub(crate) fn put(connection: &Connection, webhook: &str, new: &NewDelivery) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO deliveries (id, webhook, type, subject, body, status, attempts, created_ms, next_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', 0, ?6, ?6) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![new.id, webhook, new.kind, new.subject, new.body, new.at.as_millisecond()])?;
    Ok(())
}

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<DeliveryRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM deliveries WHERE id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// The newest first, before the one numbered `before`.
pub(crate) fn list(
    connection: &Connection,
    webhook: &str,
    status: Option<DeliveryStatus>,
    before: Option<i64>,
    limit: usize,
) -> Result<Page<DeliveryRow>, StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM deliveries
         WHERE webhook = ?1 AND (?2 IS NULL OR status = ?2) AND number < ?3 ORDER BY number DESC LIMIT ?4"
    ))?;
    let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let status = status.map(DeliveryStatus::name);
    let rows =
        select.query_map(params![webhook, status, before.unwrap_or(i64::MAX), more], |row| Ok(read(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    let next = if items.len() > limit {
        items.truncate(limit);
        items.last().map(|last: &DeliveryRow| last.number)
    } else {
        None
    };
    Ok(Page { items, next })
}

/// Takes what is due, so that nobody else sends it until `until`.
pub(crate) fn claim(
    connection: &Connection,
    webhook: &str,
    lease: &str,
    (now, until): (Timestamp, Timestamp),
    limit: usize,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM deliveries WHERE webhook = ?1 AND status = 'waiting' AND next_ms <= ?2
         ORDER BY next_ms, number LIMIT ?3"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![webhook, now.as_millisecond(), limit], |row| Ok(read(row)))?;
    let mut claimed = Vec::new();
    for row in rows {
        claimed.push(row??);
    }
    for row in &mut claimed {
        take(connection, row, lease, until)?;
    }
    Ok(claimed)
}

/// The same for one, due or not.
pub(crate) fn claim_one(
    connection: &Connection,
    id: &str,
    lease: &str,
    until: Timestamp,
) -> Result<Option<DeliveryRow>, StoreError> {
    let Some(mut row) = get(connection, id)? else { return Ok(None) };
    take(connection, &mut row, lease, until)?;
    Ok(Some(row))
}

fn take(
    connection: &Connection,
    row: &mut DeliveryRow,
    lease: &str,
    until: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET lease = ?2, next_ms = ?3, attempts = attempts + 1 WHERE id = ?1",
        )?
        .execute(params![row.id, lease, until.as_millisecond()])?;
    row.attempts += 1;
    row.next_at = Some(until);
    Ok(())
}

/// Records what came of an attempt. False where it was claimed by somebody else meanwhile.
pub(crate) fn record(connection: &Connection, done: &Delivered) -> Result<bool, StoreError> {
    let finished = (done.status != DeliveryStatus::Waiting).then_some(done.at.as_millisecond());
    let changed = connection
        .prepare_cached(
            "UPDATE deliveries SET status = ?3, next_ms = ?4, finished_ms = ?5, answer = ?6, lease = NULL
             WHERE id = ?1 AND lease = ?2",
        )?
        .execute(params![
            done.id,
            done.lease,
            done.status.name(),
            done.next_at.map(Timestamp::as_millisecond),
            finished,
            done.answer,
        ])?;
    if changed == 0 {
        return Ok(false);
    }
    let of = "id = (SELECT webhook FROM deliveries WHERE id = ?1)";
    let at_ms = done.at.as_millisecond();
    match &done.health {
        Health::Well => {
            let sql = format!("UPDATE webhooks SET failing_ms = NULL WHERE {of} AND failing_ms IS NOT NULL");
            connection.prepare_cached(&sql)?.execute([&done.id])?;
        }
        Health::Failing { disable_before } => {
            let sql = format!("UPDATE webhooks SET failing_ms = coalesce(failing_ms, ?2) WHERE {of}");
            connection.prepare_cached(&sql)?.execute(params![done.id, at_ms])?;
            let sql = format!(
                "UPDATE webhooks SET disabled_ms = ?2, disabled_why = ?4
                 WHERE {of} AND disabled_ms IS NULL AND failing_ms < ?3"
            );
            connection.prepare_cached(&sql)?.execute(params![
                done.id,
                at_ms,
                disable_before.as_millisecond(),
                done.answer
            ])?;
        }
        Health::Gone(why) => {
            let sql = format!(
                "UPDATE webhooks SET disabled_ms = ?2, disabled_why = ?3 WHERE {of} AND disabled_ms IS NULL"
            );
            connection.prepare_cached(&sql)?.execute(params![done.id, at_ms, why])?;
        }
        Health::Unknown => {}
    }
    Ok(true)
}

/// Gives back what was claimed and not sent to its end.
pub(crate) fn release(connection: &Connection, lease: &str, now: Timestamp) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE deliveries SET lease = NULL, next_ms = ?2, attempts = attempts - 1
         WHERE lease = ?1 AND status = 'waiting'",
        params![lease, now.as_millisecond()],
    )?;
    Ok(())
}

/// Sends it once more, as if it were new.
pub(crate) fn again(connection: &Connection, id: &str, now: Timestamp) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE deliveries SET status = 'waiting', attempts = 0, next_ms = ?2, finished_ms = NULL, lease = NULL
         WHERE id = ?1",
        params![id, now.as_millisecond()],
    )?;
    Ok(changed == 1)
}

/// Webhooks for which something is due.
pub(crate) fn due_webhooks(connection: &Connection, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT DISTINCT webhook FROM deliveries WHERE status = 'waiting' AND next_ms <= ?1
         AND webhook IN (SELECT id FROM webhooks WHERE disabled_ms IS NULL)",
    )?;
    let rows = select.query_map([now.as_millisecond()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the next one is due, of webhooks that are sent to.
pub(crate) fn next_due(connection: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let ms: Option<i64> = connection
        .prepare_cached(
            "SELECT min(next_ms) FROM deliveries WHERE status = 'waiting'
             AND webhook IN (SELECT id FROM webhooks WHERE disabled_ms IS NULL)",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
}

/// Forgets what is over: what arrived before one time, what is dead before another.
pub(crate) fn prune(
    connection: &Connection,
    delivered_before: Timestamp,
    dead_before: Timestamp,
) -> Result<(), StoreError> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM deliveries WHERE finished_ms IS NOT NULL AND status = ?1 AND finished_ms < ?2",
    )?;
    delete.execute(params!["delivered", delivered_before.as_millisecond()])?;
    delete.execute(params!["dead", dead_before.as_millisecond()])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<DeliveryRow, StoreError> {
    let id: String = row.get(1)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("delivery `{id}` has a bad {what}") };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|_| damaged("time"));
    let status: String = row.get(6)?;
    Ok(DeliveryRow {
        number: row.get(0)?,
        id: id.clone(),
        webhook: row.get(2)?,
        kind: row.get(3)?,
        subject: row.get(4)?,
        body: row.get(5)?,
        status: DeliveryStatus::parse(&status).ok_or_else(|| damaged("status"))?,
        attempts: row.get(7)?,
        created_at: time(row.get(8)?)?,
        next_at: row.get::<_, Option<i64>>(9)?.map(time).transpose()?,
        finished_at: row.get::<_, Option<i64>>(10)?.map(time).transpose()?,
        answer: row.get(11)?,
    })
}
