//! Runs as rows: what lists need in columns, the rest as the state itself.

use std::sync::Arc;

use checkrein_core::deliverable::{Content, Digest};
use checkrein_core::event::Event;
use checkrein_core::run::{Definition, Run, RunEvent, RunId, RunStatus, State};
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{
    Claimant, Commit, CommitError, Needs, Page, StoreError, Version, checkpoint, content, event, lease,
};

/// A run without its definition, which is kept as content.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    pub workflow: String,
    pub target: Option<String>,
    pub work_id: Option<String>,
    pub rerun_of: Option<String>,
    /// The agent that started it; none where somebody with more rights did.
    pub owner: Option<String>,
    pub definition: Digest,
    pub state: State,
}

/// A run as it is stored. Its version is in its state.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    pub run: RunRow,
    pub updated_at: Timestamp,
    /// Its place in creation order.
    pub number: i64,
}

/// One change of one run, with the checkpoint it opens or takes back: all of it or nothing.
#[derive(Clone, Debug)]
pub struct RunCommit {
    /// The version the change was decided on; another one there is a conflict.
    pub expected: Version,
    /// The run after the change.
    pub run: RunRow,
    /// What happened, in order.
    pub events: Vec<RunEvent>,
    pub at: Timestamp,
    /// The definition, where it may be new.
    pub definition: Option<Content>,
    pub checkpoint: Option<Commit>,
    /// Where it can go on after the change.
    pub needs: Needs,
    /// The epoch of the lease it is driven under. A change under one that is gone is refused; none is a
    /// change by somebody who does not drive it.
    pub epoch: Option<u64>,
    /// Who has a new run from its first moment on.
    pub claim: Option<Claimant>,
}

/// What makes a run go on: a file, or its agent's own plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Workflow,
    Job,
}

/// Which runs to list; everything by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFilter {
    pub kind: Option<RunKind>,
    pub status: Option<RunStatus>,
    pub workflow: Option<String>,
    /// Only those of this agent.
    pub owner: Option<String>,
}

const COLUMNS: &str = "number, id, workflow, target, work_id, rerun_of, definition, updated_ms, state, owner";

/// The run's events and those of its checkpoint, as they will be stored.
pub(crate) fn bodies(commit: &RunCommit) -> Result<(String, Vec<String>), StoreError> {
    let other = |error: serde_json::Error| StoreError::Other { reason: error.to_string() };
    let state = serde_json::to_string(&commit.run.state).map_err(other)?;
    let events: Result<Vec<String>, _> = commit.events.iter().map(serde_json::to_string).collect();
    Ok((state, events.map_err(other)?))
}

pub(crate) fn commit(
    connection: &Connection,
    commit: &RunCommit,
    (state, bodies): &(String, Vec<String>),
    checkpoint_bodies: &[String],
) -> Result<(), CommitError> {
    write(connection, &commit.run, commit.expected, commit.at, state)?;
    let status = commit.run.state.status;
    lease::follow(connection, commit.run.id.as_str(), status, &commit.needs, commit.epoch)?;
    if let Some(claim) = commit.claim.as_ref().filter(|_| commit.expected == Version(0)) {
        lease::claim_new(connection, commit.run.id.as_str(), claim)?;
    }
    event::append(connection, commit.run.id.as_str(), commit.expected, commit.at, bodies)?;
    if let Some(definition) = &commit.definition {
        content::put(connection, definition)?;
    }
    match &commit.checkpoint {
        Some(opened) => checkpoint::commit(connection, opened, checkpoint_bodies),
        None => Ok(()),
    }
}

/// A run alone, where its events are written by another hand.
pub(crate) fn put(
    connection: &Connection,
    run: &RunRow,
    expected: Version,
    at: Timestamp,
) -> Result<(), CommitError> {
    let state = serde_json::to_string(&run.state);
    let state = state.map_err(|error| StoreError::Other { reason: error.to_string() })?;
    write(connection, run, expected, at, &state)?;
    lease::follow(connection, run.id.as_str(), run.state.status, &Needs::default(), None)
}

fn write(
    connection: &Connection,
    run: &RunRow,
    expected: Version,
    at: Timestamp,
    state: &str,
) -> Result<(), CommitError> {
    let version = run.state.version.cast_signed();
    let (status, updated_ms) = (run.state.status.name(), at.as_millisecond());
    let changed = if expected == Version(0) {
        connection
            .prepare_cached(
                "INSERT INTO runs (id, version, workflow, target, work_id, rerun_of, definition, status,
                                   created_ms, updated_ms, state, owner)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                run.id.as_str(),
                version,
                run.workflow,
                run.target,
                run.work_id,
                run.rerun_of,
                run.definition.as_bytes(),
                status,
                run.state.created_at.as_millisecond(),
                updated_ms,
                state,
                run.owner,
            ])?
    } else {
        connection
            .prepare_cached(
                "UPDATE runs SET version = ?3, status = ?4, updated_ms = ?5, state = ?6
                 WHERE id = ?1 AND version = ?2",
            )?
            .execute(params![run.id.as_str(), expected.0.cast_signed(), version, status, updated_ms, state])?
    };
    if changed == 1 { Ok(()) } else { Err(CommitError::Conflict) }
}

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<StoredRun>, StoreError> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// The version alone, for whoever only wants to know whether something happened.
pub(crate) fn version(connection: &Connection, id: &str) -> Result<Version, StoreError> {
    let version = connection
        .prepare_cached("SELECT version FROM runs WHERE id = ?1")?
        .query_row([id], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(Version(version.unwrap_or(0).cast_unsigned()))
}

/// Ids that begin or end with a text, two at most: enough to know whether it names one.
pub(crate) fn named(connection: &Connection, text: &str) -> Result<Vec<RunId>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, length(id) - length(?1) + 1) = ?1
         ORDER BY number DESC LIMIT 2",
    )?;
    let rows = select.query_map([text], |row| Ok(RunId::new(row.get::<_, String>(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest first, before the run numbered `before`.
pub(crate) fn list(
    connection: &Connection,
    filter: &RunFilter,
    before: Option<i64>,
    limit: usize,
) -> Result<Page<StoredRun>, StoreError> {
    // The word stands in the statement, so that those of one status are found by their index.
    let status = filter.status.map(|status| format!(" AND status = '{}'", status.name())).unwrap_or_default();
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM runs
         WHERE number < ?1{status} AND (?2 IS NULL OR workflow = ?2)
           AND (?3 IS NULL OR owner = ?3) AND (?4 IS NULL OR (json_type(state, '$.job') IS NOT NULL) = ?4)
         ORDER BY number DESC LIMIT ?5"
    ))?;
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX - 1).saturating_add(1);
    let jobs = filter.kind.map(|kind| kind == RunKind::Job);
    let rows = select.query_map(
        params![before.unwrap_or(i64::MAX), filter.workflow, filter.owner, jobs, wanted],
        |row| Ok(read(row)),
    )?;
    let mut items: Vec<StoredRun> = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(Page::of(items, limit, |item| item.number))
}

/// Forgets what happened in a run, if it is still at this version. That it was stays.
pub(crate) fn trim(connection: &Connection, id: &str, version: Version) -> Result<bool, StoreError> {
    let version = version.0.cast_signed();
    let trimmed = "UPDATE runs SET trimmed = ?2 WHERE id = ?1 AND version = ?2 AND trimmed < ?2";
    if connection.prepare_cached(trimmed)?.execute(params![id, version])? == 0 {
        return Ok(false);
    }
    connection.prepare_cached("DELETE FROM events WHERE stream = ?1")?.execute([id])?;
    Ok(true)
}

/// Forgets a run and all that belongs to it, if it is still at this version.
pub(crate) fn remove(connection: &Connection, id: &str, version: Version) -> Result<bool, StoreError> {
    let gone = "DELETE FROM runs WHERE id = ?1 AND version = ?2 RETURNING definition";
    let definition: Option<Vec<u8>> = connection
        .prepare_cached(gone)?
        .query_row(params![id, version.0.cast_signed()], |row| row.get(0))
        .optional()?;
    let Some(definition) = definition else { return Ok(false) };
    let mut select = connection.prepare_cached("SELECT id, digest FROM checkpoints WHERE run = ?1")?;
    let asked = select.query_map([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let asked: Vec<(String, Vec<u8>)> = asked.collect::<Result<_, _>>()?;
    let delete = |sql: &str, key: &dyn crate::sql::ToSql| connection.prepare_cached(sql)?.execute([key]);
    delete("DELETE FROM events WHERE stream = ?1", &id)?;
    delete("DELETE FROM chats WHERE run = ?1", &id)?;
    lease::forget(connection, id)?;
    for (checkpoint, _) in &asked {
        delete("DELETE FROM checkpoints WHERE id = ?1", checkpoint)?;
        delete("DELETE FROM events WHERE stream = ?1", checkpoint)?;
    }
    for digest in asked.iter().map(|(_, digest)| digest).chain([&definition]) {
        delete(
            "DELETE FROM contents WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE digest = ?1)
             AND NOT EXISTS (SELECT 1 FROM runs WHERE definition = ?1)",
            digest,
        )?;
    }
    Ok(true)
}

/// Whether what happened in it was forgotten.
fn is_trimmed(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let trimmed = connection
        .prepare_cached("SELECT trimmed FROM runs WHERE id = ?1")?
        .query_row([id], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(trimmed.unwrap_or(0) > 0)
}

/// What is wrong with a run: it must be what its events say.
pub(crate) fn fault(connection: &Connection, id: &str) -> Result<Option<String>, StoreError> {
    let stored = match get(connection, id) {
        Ok(Some(stored)) => stored.run,
        Ok(None) => return Ok(Some("it has events, but is not there".to_owned())),
        Err(StoreError::Damaged { reason }) => return Ok(Some(reason)),
        Err(error) => return Err(error),
    };
    if is_trimmed(connection, id)? {
        return Ok(None);
    }
    let Some(content) = content::get(connection, &stored.definition)? else {
        return Ok(Some("its definition is missing".to_owned()));
    };
    let Ok(definition) = serde_json::from_slice::<Definition>(&content.bytes) else {
        return Ok(Some("its definition cannot be read".to_owned()));
    };
    let mut events = Vec::new();
    for (stored, seq) in event::of_stream(connection, id)?.into_iter().zip(1..) {
        match stored.event {
            Event::Run(event) if stored.seq == seq => events.push((event, stored.at)),
            Event::Run(_) => return Ok(Some(format!("event {seq} is missing"))),
            _ => return Ok(Some(format!("event {seq} is not a run's"))),
        }
    }
    let told = Run::told(stored.id, Arc::new(definition), events);
    let same = told.is_some_and(|told| told.state == stored.state);
    Ok((!same).then(|| "it is not what its events say".to_owned()))
}

pub(crate) fn read(row: &Row<'_>) -> Result<StoredRun, StoreError> {
    let id: String = row.get(1)?;
    let damaged = |what: &str| StoreError::Damaged { reason: format!("run `{id}` has a bad {what}") };
    let digest: Vec<u8> = row.get(6)?;
    let state: String = row.get(8)?;
    let state: State = serde_json::from_str(&state).map_err(|error| damaged(&format!("state: {error}")))?;
    let updated_at = Timestamp::from_millisecond(row.get(7)?).map_err(|_| damaged("time"))?;
    Ok(StoredRun {
        number: row.get(0)?,
        updated_at,
        run: RunRow {
            id: RunId::new(id.clone()),
            workflow: row.get(2)?,
            target: row.get(3)?,
            work_id: row.get(4)?,
            rerun_of: row.get(5)?,
            owner: row.get(9)?,
            definition: Digest::from_bytes(&digest).ok_or_else(|| damaged("digest"))?,
            state,
        },
    })
}
