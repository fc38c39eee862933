//! Looks whether everything in a store agrees with everything else.

use checkrein_core::checkpoint::{Checkpoint, CheckpointId};
use checkrein_core::deliverable::Digest;
use checkrein_core::event::{Event, fold_checkpoint};
use jiff::Timestamp;

use crate::sql::{Connection, Kind, OptionalExtension, params};

use super::Store;
use crate::{StoreError, checkpoint, frame, run};

/// What was looked at, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub checkpoints: u64,
    pub events: u64,
    pub contents: u64,
    pub runs: u64,
    pub frame_sessions: u64,
    /// How many there are in all; not every one is described.
    pub problems_total: u64,
    pub problems: Vec<String>,
}

/// Nobody reads more.
const PROBLEMS_MAX: usize = 100;
/// So many events are read at a time.
const PART: i64 = 1000;

impl Store {
    /// The file is sound, every checkpoint is what its events say, every content is what its digest
    /// says. A problem found is part of the answer, not an error.
    pub async fn check(&self) -> Result<Checked, StoreError> {
        self.read(|connection| connection.at_one_moment(|connection| Ok(examine(connection))))
    }
}

pub(crate) fn examine(connection: &Connection) -> Checked {
    let mut checked = Checked::default();
    for part in [file, checkpoints, answers, runs, frames, contents] {
        if let Err(error) = part(connection, &mut checked) {
            checked.problem(error.to_string());
        }
    }
    checked
}

/// What is wrong with a file by itself.
pub(crate) fn examine_file(connection: &Connection) -> Result<Option<String>, StoreError> {
    let mut checked = Checked::default();
    file(connection, &mut checked)?;
    Ok(checked.problems.into_iter().next())
}

/// SQLite's own look at its pages and indexes; a server looks after its own.
fn file(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    if connection.kind() == Kind::Postgres {
        return Ok(());
    }
    let mut pragma = connection.prepare_cached("PRAGMA integrity_check")?;
    let mut rows = pragma.query([])?;
    while let Some(row) = rows.next()? {
        let found: String = row.get(0)?;
        // Its answer may have several lines; one is enough to know.
        for line in found.lines().filter(|line| *line != "ok" && !line.starts_with("*** in database")) {
            checked.problem(format!("file: {line}"));
        }
    }
    Ok(())
}

/// Folding the events of a checkpoint gives the checkpoint.
fn checkpoints(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT stream, seq, at_ms, body FROM events
         WHERE (stream, seq) > (?1, ?2) AND stream NOT IN (SELECT id FROM runs) ORDER BY stream, seq LIMIT ?3",
    )?;
    let mut current: Option<Stream> = None;
    let mut last = (String::new(), i64::MIN);
    loop {
        let part = select.query_map(params![last.0, last.1, PART], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        let part: Vec<(String, i64, i64, String)> = part.collect::<Result<_, _>>()?;
        let Some((stream, seq, ..)) = part.last() else { break };
        last = (stream.clone(), *seq);
        for (name, seq, at_ms, body) in part {
            checked.events += 1;
            if current.as_ref().is_none_or(|stream| stream.name != name) {
                if let Some(finished) = current.take() {
                    finished.compare(connection, checked)?;
                }
                current = Some(Stream { name, events: 0, state: None, fault: None });
            }
            if let Some(stream) = &mut current {
                stream.fold(seq, at_ms, &body);
            }
        }
    }
    if let Some(finished) = current {
        finished.compare(connection, checked)?;
    }
    Ok(())
}

/// The events of one checkpoint, as far as they were read.
struct Stream {
    name: String,
    events: u64,
    state: Option<Checkpoint>,
    fault: Option<String>,
}

impl Stream {
    fn fold(&mut self, seq: i64, at_ms: i64, body: &str) {
        self.events += 1;
        let folded = (|| {
            if seq.cast_unsigned() != self.events {
                return Err(format!("event {} is missing", self.events));
            }
            let id = CheckpointId::new(self.name.clone()).map_err(|error| error.to_string())?;
            let at = Timestamp::from_millisecond(at_ms).map_err(|error| error.to_string())?;
            let event: Event = serde_json::from_str(body).map_err(|error| error.to_string())?;
            let next = fold_checkpoint(self.state.take(), &id, at, &event);
            next.ok_or_else(|| "it was resolved before it was created".to_owned())
        })();
        match folded {
            Ok(next) => self.state = Some(next),
            Err(fault) => self.fault = self.fault.take().or(Some(fault)),
        }
    }

    fn compare(self, connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
        let fault = match (self.fault, checkpoint::get(connection, &self.name)) {
            (Some(fault), _) => Some(fault),
            (None, Err(StoreError::Damaged { reason })) => Some(reason),
            (None, Err(error)) => return Err(error),
            (None, Ok(None)) => Some("it has events, but is not there".to_owned()),
            (None, Ok(Some(row))) if row.version.0 != self.events => {
                Some(format!("it is at version {}, its events at {}", row.version.0, self.events))
            }
            (None, Ok(Some(row))) => {
                let same = self.state.as_ref() == Some(&row.checkpoint);
                (!same).then(|| "it is not what its events say".to_owned())
            }
        };
        if let Some(fault) = fault {
            checked.problem(format!("checkpoint `{}`: {fault}", self.name));
        }
        Ok(())
    }
}

/// No checkpoint is without its events and its content, none was answered before it was asked.
fn answers(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    let count = connection.query_row("SELECT count(*) FROM checkpoints", [], |row| row.get::<_, i64>(0))?;
    checked.checkpoints = count.cast_unsigned();
    for (fault, condition) in [
        ("its events are missing", "NOT EXISTS (SELECT 1 FROM events WHERE stream = id)"),
        (
            "its content is missing",
            "NOT EXISTS (SELECT 1 FROM contents WHERE contents.digest = checkpoints.digest)",
        ),
        ("it was answered before it was asked", "resolved_ms < created_ms"),
    ] {
        let mut select =
            connection.prepare_cached(&format!("SELECT id FROM checkpoints WHERE {condition}"))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            checked.problem(format!("checkpoint `{}`: {fault}", row.get::<_, String>(0)?));
        }
    }
    Ok(())
}

/// Folding the events of a run gives the run.
fn runs(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached("SELECT id FROM runs ORDER BY number")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        checked.runs += 1;
        if let Some(fault) = run::fault(connection, &id)? {
            checked.problem(format!("run `{id}`: {fault}"));
        }
    }
    let events = "SELECT count(*) FROM events WHERE stream IN (SELECT id FROM runs)";
    let events = connection.query_row(events, [], |row| row.get::<_, i64>(0))?;
    checked.events += events.cast_unsigned();
    Ok(())
}

/// Every session can be loaded, and its tree is one.
fn frames(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    for id in frame::ids(connection)? {
        checked.frame_sessions += 1;
        if let Some(fault) = frame::fault(connection, &id)? {
            checked.problem(fault);
        }
    }
    Ok(())
}

fn contents(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    // One at a time: they may be large.
    let next = "SELECT digest, bytes FROM contents WHERE digest > ?1 ORDER BY digest LIMIT 1";
    let mut select = connection.prepare_cached(next)?;
    let mut last: Vec<u8> = Vec::new();
    loop {
        let read = |row: &crate::sql::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found: Option<(Vec<u8>, Vec<u8>)> = select.query_row([&last], read).optional()?;
        let Some((digest, bytes)) = found else { return Ok(()) };
        checked.contents += 1;
        if Digest::of(&bytes).as_bytes().as_slice() != digest {
            let named = Digest::from_bytes(&digest).map_or("?".to_owned(), |digest| digest.to_string());
            checked.problem(format!("content {named} is not what it was"));
        }
        last = digest;
    }
}

impl Checked {
    fn problem(&mut self, text: String) {
        self.problems_total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(text);
        }
    }
}
