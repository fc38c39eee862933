//! Conversations about jobs: what was said, and what was proposed.

use checkrein_core::companion::{
    Draft, Message, MessageStatus, Proposal, ProposalStatus, Proposed, Speaker, Stage, ToolUse,
};
use checkrein_core::run::RunId;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{Page, StoreError};

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRow {
    pub id: String,
    /// The job it is about; none before there is one.
    pub run: Option<RunId>,
    pub begun_by: String,
    /// What the job is to be given.
    pub draft: Draft,
    pub created_at: Timestamp,
}

/// A conversation that has led to no job yet, as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenChat {
    pub chat: ChatRow,
    /// When somebody last said something in it, or wrote something down.
    pub updated_at: Timestamp,
    /// What was asked first.
    pub first_question: Option<String>,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Its answer is to be written now.
    Begun,
    /// It was asked before, under the same id.
    Before,
    /// Another answer is being written.
    Busy,
}

/// An answer as far as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Grown {
    pub id: String,
    pub status: MessageStatus,
    pub text: String,
    pub uses: Vec<ToolUse>,
    pub note: Option<String>,
    pub tokens: u64,
    pub at: Timestamp,
}

/// A proposal that has no id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProposal {
    pub chat: String,
    pub message: String,
    pub asked_by: String,
    pub proposed: Proposed,
    pub at: Timestamp,
}

/// Begins a conversation, unless its job has one or its id is taken. What was about no job and was not touched since
/// `old_before` is forgotten.
pub(crate) fn begin(
    connection: &Connection,
    chat: &ChatRow,
    old_before: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM chats WHERE run IS NULL AND updated_ms < ?1")?
        .execute([old_before.as_millisecond()])?;
    insert(connection, chat, chat.created_at, "ON CONFLICT DO NOTHING")
}

const CHAT: &str = "SELECT id, run, begun_by, draft, created_ms FROM chats";

pub(crate) fn get(connection: &Connection, id: &str) -> Result<Option<ChatRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("{CHAT} WHERE id = ?1"))?
        .query_row([id], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

pub(crate) fn of_run(connection: &Connection, run: &str) -> Result<Option<ChatRow>, StoreError> {
    let row = connection
        .prepare_cached(&format!("{CHAT} WHERE run = ?1"))?
        .query_row([run], |row| Ok(read(row)))
        .optional()?;
    row.transpose()
}

/// Those that have led to no job yet, of one person or of everybody, the newest first.
pub(crate) fn open(
    connection: &Connection,
    begun_by: Option<&str>,
    limit: usize,
) -> Result<Vec<OpenChat>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, run, begun_by, draft, created_ms, updated_ms,
                (SELECT m.text FROM chat_messages AS m WHERE m.chat = chats.id AND m.person IS NOT NULL
                 ORDER BY m.number LIMIT 1)
         FROM chats WHERE run IS NULL AND (?1 IS NULL OR begun_by = ?1)
         ORDER BY updated_ms DESC, number DESC LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![begun_by, limit], |row| Ok(read_open(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(items)
}

fn read_open(row: &Row<'_>) -> Result<OpenChat, StoreError> {
    let chat = read(row)?;
    let updated_at = time(row.get(5)?, || format!("conversation `{}`", chat.id))?;
    Ok(OpenChat { chat, updated_at, first_question: row.get(6)? })
}

/// Every conversation and when it was last touched, the oldest first, after the one numbered `after`.
pub(crate) fn all(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, ChatRow, Timestamp)>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, run, begun_by, draft, created_ms, updated_ms, number FROM chats
         WHERE number > ?1 ORDER BY number LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![after, limit], |row| {
        Ok((row.get::<_, i64>(6)?, row.get::<_, i64>(5)?, read(row)))
    })?;
    let mut items = Vec::new();
    for row in rows {
        let (number, updated_ms, chat) = row?;
        let chat = chat?;
        let updated_at = time(updated_ms, || format!("conversation `{}`", chat.id))?;
        items.push((number, chat, updated_at));
    }
    Ok(items)
}

/// Puts a conversation there as it was elsewhere.
pub(crate) fn put_chat(
    connection: &Connection,
    chat: &ChatRow,
    updated_at: Timestamp,
) -> Result<(), StoreError> {
    insert(connection, chat, updated_at, "")
}

fn insert(
    connection: &Connection,
    chat: &ChatRow,
    updated_at: Timestamp,
    otherwise: &str,
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO chats (id, run, begun_by, draft, created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         {otherwise}"
    );
    connection.prepare_cached(&sql)?.execute(params![
        chat.id,
        chat.run.as_ref().map(RunId::as_str),
        chat.begun_by,
        written(&chat.draft)?,
        chat.created_at.as_millisecond(),
        updated_at.as_millisecond(),
    ])?;
    Ok(())
}

/// Puts a proposal there as it was elsewhere.
pub(crate) fn put_proposal(
    connection: &Connection,
    chat: &str,
    proposal: &Proposal,
) -> Result<(), StoreError> {
    let (settled_by, settled_at) =
        proposal.settled.as_ref().map(|(by, at)| (by, at.as_millisecond())).unzip();
    connection
        .prepare_cached(
            "INSERT INTO chat_proposals
                 (chat, id, message, asked_by, body, status, made_ms, settled_by, settled_ms, outcome)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            chat,
            proposal.id,
            proposal.message,
            proposal.asked_by,
            written(&proposal.proposed)?,
            proposal.status.name(),
            proposal.made_at.as_millisecond(),
            settled_by,
            settled_at,
            proposal.outcome,
        ])?;
    Ok(())
}

/// Goes on in a job. False where it is about one already, or the job has another conversation.
pub(crate) fn attach(
    connection: &Connection,
    id: &str,
    run: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE chats SET run = ?2, updated_ms = ?3 WHERE id = ?1 AND run IS NULL
         AND NOT EXISTS (SELECT 1 FROM chats WHERE run = ?2)",
        params![id, run, at.as_millisecond()],
    )?;
    Ok(changed == 1)
}

pub(crate) fn put_draft(
    connection: &Connection,
    id: &str,
    draft: &Draft,
    at: Timestamp,
) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE chats SET draft = ?2, updated_ms = ?3 WHERE id = ?1",
        params![id, written(draft)?, at.as_millisecond()],
    )?;
    Ok(())
}

/// Puts a question and the answer that is to be written, unless another one is being written. One that did not grow since
/// `alive_after` is not any more.
pub(crate) fn ask(
    connection: &Connection,
    chat: &str,
    question: &Message,
    answer: &Message,
    alive_after: Timestamp,
) -> Result<Asked, StoreError> {
    let known = "SELECT 1 FROM chat_messages WHERE id = ?1";
    if connection.prepare_cached(known)?.exists([&question.id])? {
        return Ok(Asked::Before);
    }
    connection.execute(
        "UPDATE chat_messages SET status = 'broken_off' WHERE chat = ?1 AND status = 'writing' AND updated_ms < ?2",
        params![chat, alive_after.as_millisecond()],
    )?;
    let writing = "SELECT 1 FROM chat_messages WHERE chat = ?1 AND status = 'writing'";
    if connection.prepare_cached(writing)?.exists([chat])? {
        return Ok(Asked::Busy);
    }
    put(connection, chat, question)?;
    put(connection, chat, answer)?;
    connection.execute(
        "UPDATE chats SET updated_ms = ?2 WHERE id = ?1",
        params![chat, question.said_at.as_millisecond()],
    )?;
    Ok(Asked::Begun)
}

pub(crate) fn put(connection: &Connection, chat: &str, message: &Message) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO chat_messages (id, chat, person, status, stage, text, uses, note, tokens, said_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            message.id,
            chat,
            message.speaker.person(),
            message.status.name(),
            message.stage.name(),
            message.text,
            written(&message.uses)?,
            message.note,
            message.tokens.cast_signed(),
            message.said_at.as_millisecond(),
            message.updated_at.as_millisecond(),
        ])?;
    Ok(())
}

/// Keeps an answer as far as it is. False where it is not being written any more.
pub(crate) fn grow(connection: &Connection, grown: &Grown) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "UPDATE chat_messages SET status = ?2, text = ?3, uses = ?4, note = ?5, tokens = ?6, updated_ms = ?7
             WHERE id = ?1 AND status = 'writing'",
        )?
        .execute(params![
            grown.id,
            grown.status.name(),
            grown.text,
            written(&grown.uses)?,
            grown.note,
            grown.tokens.cast_signed(),
            grown.at.as_millisecond(),
        ])?;
    Ok(changed == 1)
}

const MESSAGE: &str = "SELECT number, id, person, status, stage, text, uses, note, tokens, said_ms, updated_ms \
                       FROM chat_messages";

/// In the order they were said, after the one numbered `after`.
pub(crate) fn messages(
    connection: &Connection,
    chat: &str,
    after: i64,
    limit: usize,
) -> Result<Page<Message>, StoreError> {
    let sql = format!("{MESSAGE} WHERE chat = ?1 AND number > ?2 ORDER BY number LIMIT ?3");
    let mut select = connection.prepare_cached(&sql)?;
    let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = select.query_map(params![chat, after, more], |row| Ok(read_message(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(Page::of(items, limit, |message| message.number))
}

/// The last so many, in the order they were said.
pub(crate) fn last_messages(
    connection: &Connection,
    chat: &str,
    limit: usize,
) -> Result<Vec<Message>, StoreError> {
    let sql = format!("{MESSAGE} WHERE chat = ?1 ORDER BY number DESC LIMIT ?2");
    let mut select = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map(params![chat, limit], |row| Ok(read_message(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    items.reverse();
    Ok(items)
}

pub(crate) fn message(connection: &Connection, id: &str) -> Result<Option<Message>, StoreError> {
    let row = connection
        .prepare_cached(&format!("{MESSAGE} WHERE id = ?1"))?
        .query_row([id], |row| Ok(read_message(row)))
        .optional()?;
    row.transpose()
}

/// Adds a proposal; it is numbered within its conversation.
pub(crate) fn propose(connection: &Connection, new: &NewProposal) -> Result<String, StoreError> {
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM chat_proposals WHERE chat = ?1")?
        .query_row([&new.chat], |row| row.get(0))?;
    let id = format!("p{}", count + 1);
    connection
        .prepare_cached(
            "INSERT INTO chat_proposals (chat, id, message, asked_by, body, status, made_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, 'proposed', ?6)",
        )?
        .execute(params![
            new.chat,
            id,
            new.message,
            new.asked_by,
            written(&new.proposed)?,
            new.at.as_millisecond()
        ])?;
    Ok(id)
}

const PROPOSAL: &str = "SELECT number, id, message, asked_by, body, status, made_ms, settled_by, settled_ms, outcome \
                        FROM chat_proposals";

pub(crate) fn proposal(
    connection: &Connection,
    chat: &str,
    id: &str,
) -> Result<Option<Proposal>, StoreError> {
    let row = connection
        .prepare_cached(&format!("{PROPOSAL} WHERE chat = ?1 AND id = ?2"))?
        .query_row([chat, id], |row| Ok(read_proposal(row)))
        .optional()?;
    row.transpose()
}

/// In the order they were made.
pub(crate) fn proposals(connection: &Connection, chat: &str) -> Result<Vec<Proposal>, StoreError> {
    let mut select = connection.prepare_cached(&format!("{PROPOSAL} WHERE chat = ?1 ORDER BY number"))?;
    let rows = select.query_map([chat], |row| Ok(read_proposal(row)))?;
    let mut items = Vec::new();
    for row in rows {
        items.push(row??);
    }
    Ok(items)
}

/// Notes what became of a proposal, once.
pub(crate) fn settle(
    connection: &Connection,
    (chat, id): (&str, &str),
    status: ProposalStatus,
    (by, at): (&str, Timestamp),
    outcome: Option<&str>,
) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE chat_proposals SET status = ?3, settled_by = ?4, settled_ms = ?5, outcome = ?6
         WHERE chat = ?1 AND id = ?2 AND status = 'proposed'",
        params![chat, id, status.name(), by, at.as_millisecond(), outcome],
    )?;
    Ok(changed == 1)
}

fn read(row: &Row<'_>) -> Result<ChatRow, StoreError> {
    let id: String = row.get(0)?;
    let of = || format!("conversation `{id}`");
    Ok(ChatRow {
        run: row.get::<_, Option<String>>(1)?.map(RunId::new),
        begun_by: row.get(2)?,
        draft: parsed(&row.get::<_, String>(3)?, of)?,
        created_at: time(row.get(4)?, of)?,
        id,
    })
}

fn read_message(row: &Row<'_>) -> Result<Message, StoreError> {
    let id: String = row.get(1)?;
    let of = || format!("message `{id}`");
    let person: Option<String> = row.get(2)?;
    let stage: String = row.get(4)?;
    Ok(Message {
        number: row.get(0)?,
        speaker: person.map_or(Speaker::Companion, Speaker::Person),
        status: MessageStatus::parse(&row.get::<_, String>(3)?).ok_or_else(|| damaged(of(), "status"))?,
        stage: Stage::ALL
            .into_iter()
            .find(|known| known.name() == stage)
            .ok_or_else(|| damaged(of(), "stage"))?,
        text: row.get(5)?,
        uses: parsed(&row.get::<_, String>(6)?, of)?,
        note: row.get(7)?,
        tokens: row.get::<_, i64>(8)?.cast_unsigned(),
        said_at: time(row.get(9)?, of)?,
        updated_at: time(row.get(10)?, of)?,
        id,
    })
}

fn read_proposal(row: &Row<'_>) -> Result<Proposal, StoreError> {
    let id: String = row.get(1)?;
    let of = || format!("proposal `{id}`");
    let settled: (Option<String>, Option<i64>) = (row.get(7)?, row.get(8)?);
    Ok(Proposal {
        number: row.get(0)?,
        message: row.get(2)?,
        asked_by: row.get(3)?,
        proposed: parsed(&row.get::<_, String>(4)?, of)?,
        status: ProposalStatus::parse(&row.get::<_, String>(5)?).ok_or_else(|| damaged(of(), "status"))?,
        made_at: time(row.get(6)?, of)?,
        settled: match settled {
            (Some(by), Some(ms)) => Some((by, time(ms, of)?)),
            _ => None,
        },
        outcome: row.get(9)?,
        id,
    })
}

fn damaged(of: String, what: &str) -> StoreError {
    StoreError::Damaged { reason: format!("{of} has a bad {what}") }
}

fn time(ms: i64, of: impl Fn() -> String) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(ms).map_err(|_| damaged(of(), "time"))
}

fn parsed<T: DeserializeOwned>(text: &str, of: impl Fn() -> String) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(of(), &format!("body: {error}")))
}

fn written<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other { reason: error.to_string() })
}
