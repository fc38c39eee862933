//! Writes a store in its portable form.

use std::borrow::Cow;
use std::io::Write;

use checkrein_core::deliverable::Digest;
use checkrein_core::frame::SuggestionFilter;
use jiff::Timestamp;

use crate::sql::Connection;

use super::Store;
use crate::transfer::{FORMAT, Line, encode};
use crate::{
    CheckpointFilter, Position, RunFilter, StoreError, TransferError, chat, checkpoint, content, event,
    frame, run,
};

/// So many rows are read at a time.
const PART: usize = 1000;

impl Store {
    /// Writes everything but the tokens, as it is at this moment.
    pub async fn export(&self, out: &mut dyn Write, at: Timestamp) -> Result<(), TransferError> {
        self.read_once(|connection| connection.at_one_moment(|connection| write(connection, out, at)))
    }
}

fn write(connection: &Connection, out: &mut dyn Write, at: Timestamp) -> Result<(), TransferError> {
    let count = |table: &str| -> Result<u64, crate::sql::Error> {
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    };
    let mut line = |line: &Line<'_>| -> Result<(), TransferError> {
        let mut text =
            serde_json::to_string(line).map_err(|error| TransferError::Write(error.to_string()))?;
        text.push('\n');
        out.write_all(text.as_bytes()).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => TransferError::ReaderGone,
            _ => TransferError::Write(error.to_string()),
        })
    };
    line(&Line::Header {
        checkrein_export: FORMAT,
        exported_at: at,
        events: count("events")?,
        checkpoints: count("checkpoints")?,
        contents: count("contents")?,
        runs: count("runs")?,
        frame_sessions: count("frame_sessions")?,
        chats: count("chats")?,
        chat_messages: count("chat_messages")?,
        chat_proposals: count("chat_proposals")?,
    })?;

    let mut position = Position::default();
    loop {
        let events = event::after(connection, position, None, PART)?;
        let Some(last) = events.last() else { break };
        position = last.position;
        for stored in events {
            line(&Line::Event {
                stream: stored.stream,
                seq: stored.seq,
                at: stored.at,
                event: stored.event,
            })?;
        }
    }

    let mut after = Some(0);
    while let Some(from) = after {
        let page = checkpoint::list(connection, &CheckpointFilter::default(), from, PART)?;
        after = page.next;
        for stored in page.items {
            line(&Line::checkpoint(stored.checkpoint))?;
        }
    }

    let mut before = None;
    loop {
        let page = run::list(connection, &RunFilter::default(), before, PART)?;
        before = page.next;
        for stored in page.items {
            line(&Line::run(stored))?;
        }
        if before.is_none() {
            break;
        }
    }

    for id in frame::ids(connection)? {
        let Some(stored) = frame::get(connection, &id)? else { continue };
        let filter = SuggestionFilter { session: Some(id.clone()), ..SuggestionFilter::default() };
        let mut suggestions = frame::suggestions(connection, &filter, None, usize::MAX)?.items;
        suggestions.reverse();
        line(&Line::Frames {
            id,
            owner: stored.owner,
            directory: stored.directory,
            current: stored.session.tree.current().map(|frame| frame.id.clone()),
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            state: Box::new(stored.session.state),
            frames: stored.session.tree.frames().cloned().collect(),
            suggestions,
        })?;
    }

    let mut after = 0;
    loop {
        let chats = chat::all(connection, after, PART)?;
        let Some((last, ..)) = chats.last() else { break };
        after = *last;
        for (_, row, updated_at) in chats {
            let id = row.id.clone();
            line(&Line::chat(row, updated_at))?;
            let mut said = Some(0);
            while let Some(from) = said {
                let page = chat::messages(connection, &id, from, PART)?;
                said = page.next;
                for message in page.items {
                    line(&Line::ChatMessage { chat: id.clone(), message: Box::new(message) })?;
                }
            }
            for proposal in chat::proposals(connection, &id)? {
                line(&Line::chat_proposal(&id, proposal))?;
            }
        }
    }

    let mut select = connection.prepare_cached("SELECT digest FROM contents ORDER BY digest")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let digest: Vec<u8> = row.get(0)?;
        let digest = Digest::from_bytes(&digest)
            .ok_or_else(|| StoreError::Damaged { reason: "a content has no digest".to_owned() })?;
        if let Some(content) = content::get(connection, &digest)? {
            let base64 = Cow::Owned(encode(&content.bytes));
            line(&Line::Content { digest, encoding: content.encoding, base64 })?;
        }
    }
    out.flush().map_err(|error| TransferError::Write(error.to_string()))
}
