//! Conversations about jobs, as the store is asked for them.

use checkrein_core::companion::{Draft, Message, Proposal, ProposalStatus};
use jiff::Timestamp;

use super::Store;
use crate::{Asked, ChatRow, Grown, NewProposal, OpenChat, Page, StoreError, chat};

impl Store {
    /// Begins a conversation, unless its job has one or its id is taken. What was about no job and was not touched
    /// since `old_before` is forgotten.
    pub async fn begin_chat(&self, row: ChatRow, old_before: Timestamp) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| chat::begin(connection, &row, old_before)).await
    }

    pub async fn chat(&self, id: &str) -> Result<Option<ChatRow>, StoreError> {
        self.read(|connection| chat::get(connection, id))
    }

    pub async fn chat_of_run(&self, run: &str) -> Result<Option<ChatRow>, StoreError> {
        self.read(|connection| chat::of_run(connection, run))
    }

    /// Those that have led to no job yet, of one person or of everybody, the newest first.
    pub async fn open_chats(
        &self,
        begun_by: Option<&str>,
        limit: usize,
    ) -> Result<Vec<OpenChat>, StoreError> {
        self.read(|connection| chat::open(connection, begun_by, limit))
    }

    /// Goes on in a job. False where it is about one already, or the job has another conversation.
    pub async fn attach_chat(&self, id: String, run: String, at: Timestamp) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| chat::attach(connection, &id, &run, at)).await
    }

    pub async fn put_draft(&self, id: String, draft: Draft, at: Timestamp) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| chat::put_draft(connection, &id, &draft, at)).await
    }

    /// Puts a question and the answer that is to be written, unless another one is being written. One that did not
    /// grow since `alive_after` is not any more.
    pub async fn ask_chat(
        &self,
        id: String,
        (question, answer): (Message, Message),
        alive_after: Timestamp,
    ) -> Result<Asked, StoreError> {
        self.writer()?
            .run(move |connection| chat::ask(connection, &id, &question, &answer, alive_after))
            .await
    }

    /// Keeps an answer as far as it is. False where it is not being written any more.
    pub async fn grow_message(&self, grown: Grown) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| chat::grow(connection, &grown)).await
    }

    /// In the order they were said, after the one numbered `after`.
    pub async fn messages(&self, chat: &str, after: i64, limit: usize) -> Result<Page<Message>, StoreError> {
        self.read(|connection| chat::messages(connection, chat, after, limit))
    }

    /// The last so many, in the order they were said.
    pub async fn last_messages(&self, chat: &str, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.read(|connection| chat::last_messages(connection, chat, limit))
    }

    pub async fn message(&self, id: &str) -> Result<Option<Message>, StoreError> {
        self.read(|connection| chat::message(connection, id))
    }

    /// Adds a proposal; its id is given here.
    pub async fn propose(&self, new: NewProposal) -> Result<String, StoreError> {
        self.writer()?.run(move |connection| chat::propose(connection, &new)).await
    }

    pub async fn proposal(&self, chat: &str, id: &str) -> Result<Option<Proposal>, StoreError> {
        self.read(|connection| chat::proposal(connection, chat, id))
    }

    /// In the order they were made.
    pub async fn proposals(&self, chat: &str) -> Result<Vec<Proposal>, StoreError> {
        self.read(|connection| chat::proposals(connection, chat))
    }

    /// Notes what became of a proposal, once.
    pub async fn settle_proposal(
        &self,
        (chat, id): (String, String),
        status: ProposalStatus,
        (by, at): (String, Timestamp),
        outcome: Option<String>,
    ) -> Result<bool, StoreError> {
        self.writer()?
            .run(move |connection| {
                chat::settle(connection, (&chat, &id), status, (&by, at), outcome.as_deref())
            })
            .await
    }
}
