//! Reads a store's portable form into a store: all of it, or nothing.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use checkrein_core::checkpoint::Checkpoint;
use checkrein_core::companion::{Message, MessageStatus, Proposal};
use checkrein_core::deliverable::{Content, Digest};
use checkrein_core::event::{Event, fold_checkpoint};
use checkrein_core::frame::FrameTree;
use checkrein_core::run::RunId;
use jiff::Timestamp;

use crate::sql::{Connection, OptionalExtension, params};

use super::Store;
use crate::transfer::{FORMAT, Line, decode};
use crate::{
    ChatRow, Commit, CommitError, FrameCommit, RunRow, StoreError, TransferError, Version, chat, checkpoint,
    content, event, frame, run,
};

/// What an import added, and what was there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub checkpoints: u64,
    pub events: u64,
    pub contents: u64,
    pub runs: u64,
    pub frame_sessions: u64,
    pub chats: u64,
    /// Checkpoints, runs, sessions and conversations that were there already, the same or further on.
    pub known: u64,
}

/// The largest deliverable in Base64, and room to spare.
const LINE_BYTES_MAX: u64 = 64 << 20;

impl Store {
    /// Adds what an export holds, in one transaction. A checkpoint that is here already must have
    /// begun with the same history; what is here is never changed.
    pub async fn import(&self, export: impl BufRead + Send + 'static) -> Result<Imported, TransferError> {
        self.writer()?.run_once(move |connection| Import::new(connection).read(export)).await
    }
}

/// A conversation that is here already has gone its own way, and stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    New,
    Known,
}

struct Import<'c> {
    connection: &'c Connection,
    imported: Imported,
    /// Of each checkpoint that is new here: how many events there were.
    new: HashMap<String, u64>,
    /// The checkpoints that were added, and what they are about.
    added: Vec<(String, Digest)>,
    /// The runs that were added.
    added_runs: Vec<RunId>,
    /// The conversation whose lines come, and whether it is new here.
    chat: Option<(String, Whose)>,
    /// How many lines of each kind were announced, less those that came.
    missing: [i64; 8],
    line: u64,
}

impl<'c> Import<'c> {
    fn new(connection: &'c Connection) -> Import<'c> {
        Import {
            connection,
            imported: Imported::default(),
            new: HashMap::new(),
            added: Vec::new(),
            added_runs: Vec::new(),
            chat: None,
            missing: [0; 8],
            line: 0,
        }
    }

    fn read(mut self, mut export: impl BufRead) -> Result<Imported, TransferError> {
        let mut text = Vec::new();
        loop {
            text.clear();
            let read = (&mut export).take(LINE_BYTES_MAX).read_until(b'\n', &mut text);
            if read.map_err(|error| TransferError::Read(error.to_string()))? == 0 {
                break;
            }
            self.line += 1;
            if text.len() as u64 == LINE_BYTES_MAX {
                return Err(self.bad("it is too long"));
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line: Line<'_> = serde_json::from_slice(&text).map_err(|error| match self.line {
                1 => self.bad("it is not the header of an export"),
                _ => self.bad(error),
            })?;
            match line {
                Line::Header {
                    checkrein_export,
                    events,
                    checkpoints,
                    contents,
                    runs,
                    frame_sessions,
                    chats,
                    chat_messages,
                    chat_proposals,
                    ..
                } if self.line == 1 => {
                    if checkrein_export != FORMAT {
                        return Err(self.bad(format!(
                            "format {checkrein_export} is not known, only {FORMAT}; use a newer Checkrein"
                        )));
                    }
                    self.missing = [
                        events,
                        checkpoints,
                        contents,
                        runs,
                        frame_sessions,
                        chats,
                        chat_messages,
                        chat_proposals,
                    ]
                    .map(u64::cast_signed);
                }
                _ if self.line == 1 => return Err(self.bad("it is not the header of an export")),
                Line::Header { .. } => return Err(self.bad("there is a header already")),
                Line::Event { stream, seq, at, event } => self.event(stream, seq, at, &event)?,
                Line::Content { digest, encoding, base64 } => {
                    let bytes = decode(&base64).filter(|bytes| Digest::of(bytes) == digest);
                    let bytes = bytes.ok_or_else(|| self.bad("its content is not what its digest says"))?;
                    self.content(&Content { digest, encoding, bytes })?;
                }
                Line::Run {
                    id,
                    workflow,
                    target,
                    work_id,
                    rerun_of,
                    owner,
                    definition,
                    updated_at,
                    state,
                } => {
                    let run =
                        RunRow { id, workflow, target, work_id, rerun_of, owner, definition, state: *state };
                    self.run(run, updated_at)?;
                }
                Line::Frames {
                    id,
                    owner,
                    directory,
                    current,
                    created_at,
                    updated_at,
                    state,
                    frames,
                    suggestions,
                } => {
                    self.count(4)?;
                    let commit = FrameCommit {
                        expected: Version(0),
                        id,
                        owner,
                        directory,
                        state: *state,
                        current,
                        frames: frames.into_iter().enumerate().collect(),
                        suggestions,
                        at: updated_at,
                    };
                    self.frames(&commit, created_at)?;
                }
                Line::Chat { id, run, begun_by, draft, created_at, updated_at } => {
                    self.count(5)?;
                    self.chat(&ChatRow { id, run, begun_by, draft: *draft, created_at }, updated_at)?;
                }
                Line::ChatMessage { chat, message } => {
                    self.count(6)?;
                    if self.is_of_new(&chat)? {
                        self.message(&chat, *message)?;
                    }
                }
                Line::ChatProposal {
                    chat,
                    id,
                    message,
                    asked_by,
                    proposed,
                    status,
                    made_at,
                    settled_by,
                    settled_at,
                    outcome,
                } => {
                    self.count(7)?;
                    if self.is_of_new(&chat)? {
                        let proposal = Proposal {
                            number: 0,
                            id,
                            message,
                            asked_by,
                            proposed: *proposed,
                            status,
                            made_at,
                            settled: settled_by.zip(settled_at),
                            outcome,
                        };
                        self.proposal(&chat, &proposal)?;
                    }
                }
                row @ Line::Checkpoint { .. } => {
                    let row = row.into_checkpoint().ok_or_else(|| self.bad("its id cannot be one"))?;
                    self.checkpoint(row)?;
                }
            }
        }
        self.finish()
    }

    fn event(&mut self, stream: String, seq: u64, at: Timestamp, event: &Event) -> Result<(), TransferError> {
        self.count(0)?;
        // Times are kept in milliseconds.
        let at = Timestamp::from_millisecond(at.as_millisecond()).map_err(|error| self.bad(error))?;
        let here = self
            .connection
            .prepare_cached("SELECT at_ms, body FROM events WHERE stream = ?1 AND seq = ?2")?
            .query_row(params![stream, seq.cast_signed()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })
            .optional()?;
        let known = self.new.get(&stream).copied();
        if let Some((at_ms, body)) = here {
            let same = known.is_none()
                && at_ms == at.as_millisecond()
                && serde_json::from_str::<Event>(&body).is_ok_and(|here| here == *event);
            return if same { Ok(()) } else { Err(TransferError::Conflict { id: stream, line: self.line }) };
        }
        match (seq, known) {
            (1, None) => {}
            (seq, Some(events)) if seq == events + 1 => {}
            // Here it has not gone so far: an import gives no verdict on what is open.
            (_, None) if self.is_here(&stream)? => {
                return Err(TransferError::Conflict { id: stream, line: self.line });
            }
            _ => return Err(self.bad(format!("an event of `{stream}` before it is missing"))),
        }
        let body = serde_json::to_string(event).map_err(|error| self.bad(error))?;
        self.connection
            .prepare_cached("INSERT INTO events (stream, seq, at_ms, body) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![stream, seq.cast_signed(), at.as_millisecond(), body])?;
        self.imported.events += 1;
        self.new.insert(stream, seq);
        Ok(())
    }

    fn checkpoint(&mut self, row: Checkpoint) -> Result<(), TransferError> {
        self.count(1)?;
        let id = row.id.as_str();
        let Some(events) = self.new.remove(id) else {
            let here = checkpoint::get(self.connection, id)?;
            return match here {
                Some(here) if here.checkpoint.same_submission(&row) => {
                    self.imported.known += 1;
                    Ok(())
                }
                Some(_) => Err(TransferError::Conflict { id: id.to_owned(), line: self.line }),
                None => Err(self.bad(format!("no event before it made `{id}`"))),
            };
        };
        let mut state = None;
        for stored in event::of_stream(self.connection, id)? {
            state = fold_checkpoint(state, &row.id, stored.at, &stored.event);
        }
        if state.as_ref() != Some(&row) {
            return Err(self.bad(format!("`{id}` is not what its events say")));
        }
        let id = id.to_owned();
        self.added.push((id.clone(), row.digest));
        let commit = Commit {
            expected: Version(0),
            at: row.created_at,
            checkpoint: row,
            events: Vec::new(),
            content: None,
        };
        checkpoint::put_at(self.connection, &commit, Version(events)).map_err(|error| match error {
            CommitError::Conflict | CommitError::LeaseLost => TransferError::Conflict { id, line: self.line },
            CommitError::Store(error) => TransferError::Store(error),
        })?;
        self.imported.checkpoints += 1;
        Ok(())
    }

    /// Whether it is what its events say is known when its definition is there.
    fn run(&mut self, run: RunRow, updated_at: Timestamp) -> Result<(), TransferError> {
        self.count(3)?;
        let id = run.id.clone();
        let Some(events) = self.new.remove(id.as_str()) else {
            return match run::get(self.connection, id.as_str())? {
                Some(here) if here.run.definition == run.definition => {
                    self.imported.known += 1;
                    Ok(())
                }
                Some(_) => Err(TransferError::Conflict { id: id.to_string(), line: self.line }),
                None => Err(self.bad(format!("no event before it made `{id}`"))),
            };
        };
        if run.state.version != events {
            return Err(self.bad(format!("`{id}` is not what its events say")));
        }
        run::put(self.connection, &run, Version(0), updated_at).map_err(|error| match error {
            CommitError::Conflict | CommitError::LeaseLost => {
                TransferError::Conflict { id: id.to_string(), line: self.line }
            }
            CommitError::Store(error) => TransferError::Store(error),
        })?;
        self.added_runs.push(id);
        self.imported.runs += 1;
        Ok(())
    }

    /// A session that is here already has gone its own way, and stays as it is.
    fn frames(&mut self, commit: &FrameCommit, created_at: Timestamp) -> Result<(), TransferError> {
        let frames = commit.frames.iter().map(|(_, frame)| frame.clone());
        FrameTree::from_frames(frames, commit.current.as_deref()).map_err(|error| self.bad(error))?;
        if let Some(odd) = commit.suggestions.iter().find(|suggestion| suggestion.session != commit.id) {
            return Err(self.bad(format!("suggestion `{}` is of another session", odd.id)));
        }
        if self
            .connection
            .prepare_cached("SELECT 1 FROM frame_sessions WHERE id = ?1")?
            .exists([&commit.id])?
        {
            self.imported.known += 1;
            return Ok(());
        }
        for suggestion in &commit.suggestions {
            if frame::suggestion_by_id(self.connection, &suggestion.id)?.is_some() {
                return Err(TransferError::Conflict { id: suggestion.id.clone(), line: self.line });
            }
        }
        frame::commit(self.connection, commit).map_err(|error| match error {
            CommitError::Conflict | CommitError::LeaseLost => {
                TransferError::Conflict { id: commit.id.clone(), line: self.line }
            }
            CommitError::Store(error) => TransferError::Store(error),
        })?;
        self.connection
            .prepare_cached("UPDATE frame_sessions SET created_ms = ?2 WHERE id = ?1")?
            .execute(params![commit.id, created_at.as_millisecond()])?;
        self.imported.frame_sessions += 1;
        Ok(())
    }

    fn chat(&mut self, row: &ChatRow, updated_at: Timestamp) -> Result<(), TransferError> {
        let known = match &row.run {
            Some(run) if run::get(self.connection, run.as_str())?.is_none() => {
                return Err(self.bad(format!("it is about `{run}`, which is not there")));
            }
            // A job has one conversation.
            Some(run) => chat::of_run(self.connection, run.as_str())?.is_some(),
            None => false,
        };
        let whose = match known || chat::get(self.connection, &row.id)?.is_some() {
            true => Whose::Known,
            false => Whose::New,
        };
        match whose {
            Whose::Known => self.imported.known += 1,
            Whose::New => {
                chat::put_chat(self.connection, row, updated_at)?;
                self.imported.chats += 1;
            }
        }
        self.chat = Some((row.id.clone(), whose));
        Ok(())
    }

    /// Whether a line belongs to a conversation that is added; what belongs to none is refused.
    fn is_of_new(&self, id: &str) -> Result<bool, TransferError> {
        match &self.chat {
            Some((current, whose)) if current == id => Ok(*whose == Whose::New),
            _ => Err(self.bad(format!("it does not follow its conversation `{id}`"))),
        }
    }

    fn message(&self, chat: &str, mut message: Message) -> Result<(), TransferError> {
        if chat::message(self.connection, &message.id)?.is_some() {
            return Err(TransferError::Conflict { id: message.id, line: self.line });
        }
        // Nobody writes it here.
        if message.status == MessageStatus::Writing {
            message.status = MessageStatus::BrokenOff;
        }
        message.updated_at = message.said_at;
        Ok(chat::put(self.connection, chat, &message)?)
    }

    fn proposal(&self, chat: &str, proposal: &Proposal) -> Result<(), TransferError> {
        if chat::proposal(self.connection, chat, &proposal.id)?.is_some() {
            return Err(self.bad(format!("proposal `{}` is there twice", proposal.id)));
        }
        Ok(chat::put_proposal(self.connection, chat, proposal)?)
    }

    fn content(&mut self, new: &Content) -> Result<(), TransferError> {
        self.count(2)?;
        self.imported.contents += u64::from(content::put(self.connection, new)?);
        Ok(())
    }

    /// A part of an export is not an export.
    fn finish(mut self) -> Result<Imported, TransferError> {
        self.line += 1;
        if self.line == 1 {
            return Err(self.bad("the export is empty"));
        }
        if self.missing != [0; 8] {
            return Err(self.bad("the export ends too early"));
        }
        if let Some(id) = self.new.keys().next() {
            return Err(self.bad(format!("there are events of `{id}`, but not itself")));
        }
        for (id, digest) in &self.added {
            let here = self
                .connection
                .prepare_cached("SELECT 1 FROM contents WHERE digest = ?1")?
                .exists([digest.as_bytes()])?;
            if !here {
                return Err(self.bad(format!("the content of `{id}` is missing")));
            }
        }
        for id in &self.added_runs {
            if let Some(fault) = run::fault(self.connection, id.as_str())? {
                return Err(self.bad(format!("run `{id}`: {fault}")));
            }
        }
        Ok(self.imported)
    }

    fn is_here(&self, id: &str) -> Result<bool, StoreError> {
        Ok(checkpoint::get(self.connection, id)?.is_some() || run::get(self.connection, id)?.is_some())
    }

    /// Counts a line of a kind: events, checkpoints, contents, runs, sessions of frames, conversations, what was said
    /// and what was proposed in them.
    fn count(&mut self, kind: usize) -> Result<(), TransferError> {
        if let Some(missing) = self.missing.get_mut(kind) {
            *missing -= 1;
            if *missing < 0 {
                return Err(self.bad("there are more lines than the header says"));
            }
        }
        Ok(())
    }

    fn bad(&self, reason: impl std::fmt::Display) -> TransferError {
        TransferError::BadLine { line: self.line, reason: reason.to_string() }
    }
}
