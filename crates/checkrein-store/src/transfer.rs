//! The portable form of a store: lines of JSON, the first of which says what follows.
//!
//! Exports are read for ever. A field is only ever added, with a default; a changed meaning is a new
//! format.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use checkrein_core::companion::{Draft, Message, Proposal, ProposalStatus, Proposed};
use checkrein_core::deliverable::{Digest, Encoding};
use checkrein_core::event::Event;
use checkrein_core::frame::{Frame, SessionState, Suggestion};
use checkrein_core::run::{RunId, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ChatRow, StoreError, StoredRun};

pub(crate) const FORMAT: u32 = 1;

/// One line. Events come in commit order and before the checkpoints they belong to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line<'l> {
    Header {
        checkrein_export: u32,
        exported_at: Timestamp,
        events: u64,
        checkpoints: u64,
        contents: u64,
        #[serde(default)]
        runs: u64,
        #[serde(default)]
        frame_sessions: u64,
        #[serde(default)]
        chats: u64,
        #[serde(default)]
        chat_messages: u64,
        #[serde(default)]
        chat_proposals: u64,
    },
    Event {
        stream: String,
        seq: u64,
        at: Timestamp,
        event: Event,
    },
    Checkpoint {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_by: Option<String>,
        worker: String,
        phase: String,
        #[serde(rename = "type")]
        kind: String,
        status: CheckpointStatus,
        round: u32,
        digest: Digest,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        moved: bool,
        created_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        resolved_at: Option<Timestamp>,
        reason: Option<String>,
        resolved_by: Option<String>,
    },
    Run {
        id: RunId,
        workflow: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rerun_of: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        definition: Digest,
        updated_at: Timestamp,
        state: Box<State>,
    },
    Content {
        digest: Digest,
        encoding: Encoding,
        base64: Cow<'l, str>,
    },
    /// A session of frames with all its frames and suggestions.
    Frames {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        current: Option<String>,
        created_at: Timestamp,
        updated_at: Timestamp,
        state: Box<SessionState>,
        frames: Vec<Frame>,
        suggestions: Vec<Suggestion>,
    },
    /// A conversation; what was said and proposed in it follows, in order.
    Chat {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        begun_by: String,
        draft: Box<Draft>,
        created_at: Timestamp,
        updated_at: Timestamp,
    },
    ChatMessage {
        chat: String,
        message: Box<Message>,
    },
    ChatProposal {
        chat: String,
        id: String,
        message: String,
        asked_by: String,
        proposed: Box<Proposed>,
        status: ProposalStatus,
        made_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settled_by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settled_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
}

impl Line<'static> {
    pub fn chat(chat: ChatRow, updated_at: Timestamp) -> Line<'static> {
        let ChatRow { id, run, begun_by, draft, created_at } = chat;
        Line::Chat { id, run, begun_by, draft: Box::new(draft), created_at, updated_at }
    }

    pub fn chat_proposal(chat: &str, proposal: Proposal) -> Line<'static> {
        let (settled_by, settled_at) = proposal.settled.unzip();
        Line::ChatProposal {
            chat: chat.to_owned(),
            id: proposal.id,
            message: proposal.message,
            asked_by: proposal.asked_by,
            proposed: Box::new(proposal.proposed),
            status: proposal.status,
            made_at: proposal.made_at,
            settled_by,
            settled_at,
            outcome: proposal.outcome,
        }
    }
}

/// Why an import changed nothing, or an export was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransferError {
    #[error("line {line} cannot be imported: {reason}; nothing was changed")]
    BadLine { line: u64, reason: String },
    #[error("`{id}` is here with another history than in line {line}; nothing was changed")]
    Conflict { id: String, line: u64 },
    #[error("the export cannot be read: {0}; nothing was changed")]
    Read(String),
    #[error("the export cannot be written: {0}")]
    Write(String),
    #[error("the store to copy to is not empty: it has rows in `{table}`; nothing was changed")]
    NotEmpty { table: String },
    #[error("the store to copy to knows no `{table}`; nothing was changed")]
    UnknownTable { table: String },
    /// Whoever read it had enough.
    #[error("the reader of the export is gone")]
    ReaderGone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Line<'_> {
    pub fn checkpoint(c: Checkpoint) -> Line<'static> {
        Line::Checkpoint {
            id: c.id.as_str().to_owned(),
            run: c.run,
            owner: c.owner,
            created_by: c.created_by,
            worker: c.worker,
            phase: c.phase,
            kind: c.kind,
            status: c.status,
            round: c.round,
            digest: c.digest,
            moved: c.moved,
            created_at: c.created_at,
            expires_at: c.expires_at,
            resolved_at: c.resolved_at,
            reason: c.reason,
            resolved_by: c.resolved_by,
        }
    }

    /// The checkpoint a line holds, if it is one with an id that can be.
    pub fn into_checkpoint(self) -> Option<Checkpoint> {
        let Line::Checkpoint {
            id,
            run,
            owner,
            created_by,
            worker,
            phase,
            kind,
            status,
            round,
            digest,
            moved,
            created_at,
            expires_at,
            resolved_at,
            reason,
            resolved_by,
        } = self
        else {
            return None;
        };
        let id = CheckpointId::new(id).ok()?;
        Some(Checkpoint {
            id,
            run,
            owner,
            created_by,
            worker,
            phase,
            kind,
            status,
            digest,
            moved,
            round,
            created_at,
            expires_at,
            resolved_at,
            reason,
            resolved_by,
        })
    }
}

impl Line<'static> {
    pub fn run(stored: StoredRun) -> Line<'static> {
        let StoredRun { run, updated_at, .. } = stored;
        Line::Run {
            id: run.id,
            workflow: run.workflow,
            target: run.target,
            work_id: run.work_id,
            rerun_of: run.rerun_of,
            owner: run.owner,
            definition: run.definition,
            updated_at,
            state: Box::new(run.state),
        }
    }
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}
