//! Sessions of frames as rows: a frame is a row, so that a change writes what it changed and no more.

use checkrein_core::frame::{
    Frame, FrameSession, FrameTree, SessionState, Suggestion, SuggestionFilter, SuggestionStatus,
};
use jiff::Timestamp;

use crate::sql::{Connection, Error, OptionalExtension, Row, params};
use crate::{CommitError, Page, StoreError, Version};

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    pub session: FrameSession,
    pub version: Version,
    /// The agent it belongs to; none where somebody with more rights began it.
    pub owner: Option<String>,
    /// Where the agent works, on this machine.
    pub directory: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// One change of one session: everything in it is there afterwards, or nothing.
#[derive(Clone, Debug)]
pub struct FrameCommit {
    /// The version the change was decided on; another one there is a conflict.
    pub expected: Version,
    pub id: String,
    pub owner: Option<String>,
    pub directory: Option<String>,
    pub state: SessionState,
    /// The frame that is worked in.
    pub current: Option<String>,
    /// Frames that are new or changed, by their place in the order they were made.
    pub frames: Vec<(usize, Frame)>,
    /// Suggestions that are new or changed.
    pub suggestions: Vec<Suggestion>,
    pub at: Timestamp,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionItem {
    pub id: String,
    pub owner: Option<String>,
    pub directory: Option<String>,
    pub client: Option<String>,
    /// What its first frame is for.
    pub goal: Option<String>,
    pub frames: u64,
    pub current: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Which sessions are meant; everything by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub owner: Option<String>,
    pub directory: Option<String>,
}

/// So many suggestions that do not wait any more come with a session.
const RECENT: i64 = 50;

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<StoredSession>, StoreError> {
    let row = connection
        .prepare_cached(
            "SELECT version, owner, directory, current, state, created_ms, updated_ms FROM frame_sessions WHERE id = ?1",
        )?
        .query_row([id], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, Option<String>>(2)?,
                row.get::<_, Option<String>>(3)?,
                row.get::<_, String>(4)?,
                row.get::<_, i64>(5)?,
                row.get::<_, i64>(6)?,
            ))
        })
        .optional()?;
    let Some((version, owner, directory, current, state, created_ms, updated_ms)) = row else {
        return Ok(None);
    };
    // Damaged state is reported and stays as it is (F8).
    let damaged = |what: &str, why: &dyn std::fmt::Display| StoreError::Damaged {
        reason: format!("session `{id}` has {what}: {why}"),
    };
    let state: SessionState = serde_json::from_str(&state).map_err(|error| damaged("a bad state", &error))?;
    let mut select =
        connection.prepare_cached("SELECT body FROM frames WHERE session = ?1 ORDER BY position")?;
    let mut rows = select.query([id])?;
    let mut frames: Vec<Frame> = Vec::new();
    while let Some(row) = rows.next()? {
        let body: String = row.get(0)?;
        frames.push(serde_json::from_str(&body).map_err(|error| damaged("a bad frame", &error))?);
    }
    let tree =
        FrameTree::from_frames(frames, current.as_deref()).map_err(|error| damaged("a bad tree", &error))?;
    let mut select = connection.prepare_cached(
        "SELECT body FROM suggestions WHERE session = ?1 AND (status = 'pending'
           OR number IN (SELECT number FROM suggestions WHERE session = ?1 ORDER BY number DESC LIMIT ?2))
         ORDER BY number",
    )?;
    let rows = select.query_map(params![id, RECENT], |row| row.get::<_, String>(0))?;
    let mut suggestions: Vec<Suggestion> = Vec::new();
    for row in rows {
        suggestions.push(suggestion(&row?)?);
    }
    let time = |ms: i64| Timestamp::from_millisecond(ms).map_err(|error| damaged("a bad time", &error));
    Ok(Some(StoredSession {
        session: FrameSession {
            tree,
            suggestions: suggestions.into_iter().collect(),
            state,
            ..FrameSession::new(id)
        },
        version: Version(version.cast_unsigned()),
        owner,
        directory,
        created_at: time(created_ms)?,
        updated_at: time(updated_ms)?,
    }))
}

pub(crate) fn commit(connection: &Connection, commit: &FrameCommit) -> Result<(), CommitError> {
    put_session(connection, commit)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO frames (session, position, id, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session, position) DO UPDATE SET body = excluded.body",
    )?;
    for (position, frame) in &commit.frames {
        let position = i64::try_from(*position).unwrap_or(i64::MAX);
        insert.execute(params![commit.id, position, frame.id, written(frame)?])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO suggestions (id, session, status, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body",
    )?;
    for suggestion in &commit.suggestions {
        insert.execute(params![suggestion.id, commit.id, suggestion.status.name(), written(suggestion)?])?;
    }
    Ok(())
}

fn put_session(connection: &Connection, commit: &FrameCommit) -> Result<(), CommitError> {
    let (state, at_ms) = (written(&commit.state)?, commit.at.as_millisecond());
    let expected = commit.expected.0.cast_signed();
    let root = commit.frames.iter().find(|(position, _)| *position == 0);
    let goal = root.map(|(_, frame)| frame.goal.clone());
    let changed = if expected == 0 {
        connection
            .prepare_cached(
                "INSERT INTO frame_sessions
                     (id, version, owner, directory, current, state, created_ms, updated_ms, client, goal)
                 VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                commit.id,
                commit.owner,
                commit.directory,
                commit.current,
                state,
                at_ms,
                at_ms,
                commit.state.client,
                goal,
            ])?
    } else {
        connection
            .prepare_cached(
                "UPDATE frame_sessions SET version = version + 1, directory = ?3, current = ?4, state = ?5,
                     updated_ms = CASE WHEN updated_ms > ?6 THEN updated_ms ELSE ?6 END,
                     client = ?7, goal = coalesce(?8, goal)
                 WHERE id = ?1 AND version = ?2",
            )?
            .execute(params![
                commit.id,
                expected,
                commit.directory,
                commit.current,
                state,
                at_ms,
                commit.state.client,
                goal,
            ])?
    };
    if changed == 1 { Ok(()) } else { Err(CommitError::Conflict) }
}

/// The newest first, before the one that was changed at `before`.
pub(crate) fn list(
    connection: &Connection,
    filter: &SessionFilter,
    before: Option<i64>,
    limit: usize,
) -> Result<Page<SessionItem>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT number, id, owner, directory, client, goal, (SELECT count(*) FROM frames WHERE session = frame_sessions.id), current, created_ms, updated_ms
         FROM frame_sessions
         WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR directory = ?2) AND (?3 IS NULL OR number < ?3)
         ORDER BY number DESC LIMIT ?4",
    )?;
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = select.query_map(params![filter.owner, filter.directory, before, wanted], |row| {
        Ok((row.get::<_, i64>(0)?, item(row)?))
    })?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row?);
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().map(|(number, _)| *number).filter(|_| more);
    Ok(Page { items: items.into_iter().map(|(_, item)| item).collect(), next })
}

fn item(row: &Row<'_>) -> Result<SessionItem, Error> {
    let time = |column: usize| -> Result<Timestamp, Error> {
        let ms: i64 = row.get(column)?;
        Ok(Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH))
    };
    Ok(SessionItem {
        id: row.get(1)?,
        owner: row.get(2)?,
        directory: row.get(3)?,
        client: row.get(4)?,
        goal: row.get(5)?,
        frames: row.get::<_, i64>(6)?.cast_unsigned(),
        current: row.get(7)?,
        created_at: time(8)?,
        updated_at: time(9)?,
    })
}

/// The session that was changed last.
pub(crate) fn latest(connection: &Connection, filter: &SessionFilter) -> Result<Option<String>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT id FROM frame_sessions WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR directory = ?2)
             ORDER BY updated_ms DESC, number DESC LIMIT 1",
        )?
        .query_row(params![filter.owner, filter.directory], |row| row.get(0))
        .optional()?;
    Ok(found)
}

/// The newest last; all of them, or the newest before one that is numbered.
pub(crate) fn suggestions(
    connection: &Connection,
    filter: &SuggestionFilter,
    before: Option<i64>,
    limit: usize,
) -> Result<Page<Suggestion>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT number, body FROM suggestions
         WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR number < ?3)
           AND (?4 IS NULL OR session IN (SELECT id FROM frame_sessions WHERE owner = ?4))
         ORDER BY number DESC LIMIT ?5",
    )?;
    let status = filter.status.map(SuggestionStatus::name);
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = select.query_map(params![filter.session, status, before, filter.owner, wanted], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut items = Vec::new();
    for row in rows {
        let (number, body) = row?;
        items.push((number, suggestion(&body)?));
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().map(|(number, _)| *number).filter(|_| more);
    Ok(Page { items: items.into_iter().map(|(_, item)| item).collect(), next })
}

pub(crate) fn suggestion_by_id(connection: &Connection, id: &str) -> Result<Option<Suggestion>, StoreError> {
    let found = connection
        .prepare_cached("SELECT body FROM suggestions WHERE id = ?1")?
        .query_row([id], |row| row.get::<_, String>(0))
        .optional()?;
    found.map(|body| suggestion(&body)).transpose()
}

/// Sessions nobody touched since.
pub(crate) fn old(connection: &Connection, before: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut select =
        connection.prepare_cached("SELECT id FROM frame_sessions WHERE updated_ms < ?1 ORDER BY number")?;
    let rows = select.query_map([before.as_millisecond()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Forgets a session that nobody touched since; its frames and suggestions go with it.
pub(crate) fn remove(connection: &Connection, id: &str, before: Timestamp) -> Result<bool, StoreError> {
    let removed = connection
        .prepare_cached("DELETE FROM frame_sessions WHERE id = ?1 AND updated_ms < ?2")?
        .execute(params![id, before.as_millisecond()])?;
    Ok(removed == 1)
}

/// What is wrong with a session, if something is.
pub(crate) fn fault(connection: &Connection, id: &str) -> Result<Option<String>, StoreError> {
    match get(connection, id) {
        Ok(_) => Ok(None),
        Err(StoreError::Damaged { reason }) => Ok(Some(reason)),
        Err(error) => Err(error),
    }
}

pub(crate) fn ids(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut select = connection.prepare_cached("SELECT id FROM frame_sessions ORDER BY number")?;
    let rows = select.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn suggestion(body: &str) -> Result<Suggestion, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::Damaged { reason: format!("a suggestion cannot be read: {error}") })
}

fn written(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Other { reason: format!("it cannot be written as JSON: {error}") })
}
