//! Conversations about a job. Which job it is comes from whoever asks, never from the model; every tool works on that
//! one, and none of them decides anything.

mod answer;
mod found;
mod offer;
mod prompt;
mod propose;
mod setting;
mod tools;
mod web;

use std::time::Duration;

use checkrein_core::companion::{Draft, Message, MessageStatus, Proposal, Speaker, Stage};
use checkrein_core::policy::{Level, Scope};
use checkrein_core::principal::{Principal, Role};
use checkrein_core::run::RunId;
use checkrein_store::{Asked, ChatRow, OpenChat, Page};
use jiff::Timestamp;
use uuid::Uuid;

use crate::authority::{Act, require};
use crate::request::Nonce;
use crate::run::{RunView, id_of};
use crate::{Engine, EngineError};

pub(crate) use setting::Companion;

/// Which conversation is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatOf {
    /// The one about a job: its id, or a beginning or end of it.
    Run(String),
    /// One by its id, before there is a job.
    Chat(String),
}

/// A conversation as it stands.
#[derive(Clone, Debug)]
pub struct ChatView {
    /// None where nobody has said anything about the job.
    pub id: Option<String>,
    pub run: Option<RunId>,
    pub stage: Stage,
    /// What its model may use now.
    pub tools: Vec<&'static str>,
    /// What the job is to be given, before there is one.
    pub draft: Draft,
    /// In the order they were said.
    pub messages: Vec<Message>,
    /// Where the next part begins.
    pub next: Option<i64>,
    /// In the order they were made.
    pub proposals: Vec<Proposal>,
    /// Who answers; none where a search does.
    pub model: Option<String>,
    /// What whoever reads it should know.
    pub notes: Vec<String>,
}

/// What is heard while an answer is written.
#[derive(Clone, Debug)]
pub enum ChatPiece {
    /// The next words.
    Text(String),
    /// What was heard does not count; this is what there is.
    Anew(String),
    /// It looks at something.
    Used(checkrein_core::companion::ToolUse),
    Proposed(Box<Proposal>),
    Drafted(Draft),
    /// The model is asked again after a while, and why.
    Waits(String),
}

/// A question that was asked, and is to be answered.
#[derive(Clone, Debug)]
pub struct Asking {
    pub chat: String,
    pub run: Option<RunId>,
    pub by: Principal,
    pub stage: Stage,
    pub question: Message,
    /// The id of its answer.
    pub answer: String,
    asked: Asked,
}

/// Nobody asks more at once.
const QUESTION_BYTES_MAX: usize = 32 << 10;
/// Nobody gives a job that is described at greater length.
const DESCRIPTION_BYTES_MAX: usize = 64 << 10;
/// An answer that has not grown for so long is not being written any more.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long a conversation without a job is kept after it was last touched.
const KEPT_WITHOUT_JOB: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Engine {
    /// Begins a conversation before there is a job.
    pub async fn begin_chat(&self, by: &Principal, nonce: Option<Nonce>) -> Result<ChatView, EngineError> {
        require(by, Act::Ask)?;
        let row = self.new_chat(by, None, nonce);
        let of = ChatOf::Chat(row.id.clone());
        self.store.begin_chat(row, self.old_before()).await?;
        self.chat(by, &of, 0, 1).await
    }

    /// A conversation, from the message numbered `after` on. A job nobody has asked about has an empty one.
    pub async fn chat(
        &self,
        by: &Principal,
        of: &ChatOf,
        after: i64,
        limit: usize,
    ) -> Result<ChatView, EngineError> {
        let (row, view) = self.chat_seen(by, of).await?;
        let run = view.as_ref().map(|view| view.run.id.clone());
        let (mut page, mut proposals) = (Page { items: Vec::new(), next: None }, Vec::new());
        if let Some(row) = &row {
            page = self.store.messages(&row.id, after, limit).await?;
            proposals = self.store.proposals(&row.id).await?;
        }
        page.items.iter_mut().for_each(|message| self.look_alive(message));
        let stage = view.as_ref().map_or(Stage::BeforeJob, |view| Stage::of(&view.run));
        Ok(ChatView {
            id: row.as_ref().map(|row| row.id.clone()),
            run,
            draft: row.map(|row| row.draft).unwrap_or_default(),
            messages: page.items,
            next: page.next,
            proposals,
            ..self.chat_at(stage)
        })
    }

    /// A conversation before a job that nobody has begun: what it would be good for.
    pub fn chat_to_begin(&self, by: &Principal) -> Result<ChatView, EngineError> {
        require(by, Act::ReadChat)?;
        Ok(self.chat_at(Stage::BeforeJob))
    }

    /// The conversations a person has begun that led to no job yet, the newest first; an administrator sees everybody's.
    pub async fn open_chats(&self, by: &Principal, limit: usize) -> Result<Vec<OpenChat>, EngineError> {
        require(by, Act::ReadChat)?;
        let whose = (by.role != Role::Admin).then_some(by.name.as_str());
        Ok(self.store.open_chats(whose, limit).await?)
    }

    /// Writes down what the job is to be, as a person has it. What they leave out is not written down any more.
    pub async fn write_draft(&self, by: &Principal, chat: &str, draft: Draft) -> Result<Draft, EngineError> {
        self.chat_before_job(by, chat, None).await?;
        check_draft(&draft)?;
        self.store.put_draft(chat.to_owned(), draft.clone(), self.now()).await?;
        Ok(draft)
    }

    /// An empty conversation at a stage.
    fn chat_at(&self, stage: Stage) -> ChatView {
        ChatView {
            id: None,
            run: None,
            stage,
            tools: self.companion.tools(stage),
            draft: Draft::default(),
            messages: Vec::new(),
            next: None,
            proposals: Vec::new(),
            model: self.companion.model_name(),
            notes: self.companion.notes(),
        }
    }

    /// What was said about a job, page by page.
    pub async fn chat_history(
        &self,
        by: &Principal,
        run: &str,
        after: i64,
        limit: usize,
    ) -> Result<Page<Message>, EngineError> {
        let (row, _) = self.chat_seen(by, &ChatOf::Run(run.to_owned())).await?;
        let Some(row) = row else { return Ok(Page { items: Vec::new(), next: None }) };
        let mut page = self.store.messages(&row.id, after, limit).await?;
        page.items.iter_mut().for_each(|message| self.look_alive(message));
        Ok(page)
    }

    /// Takes a question down; [`Engine::answer_chat`] answers it.
    pub async fn ask_chat(
        &self,
        by: &Principal,
        of: &ChatOf,
        text: &str,
        nonce: Option<Nonce>,
    ) -> Result<Asking, EngineError> {
        require(by, Act::Ask)?;
        if text.trim().is_empty() {
            return Err(EngineError::Empty("text"));
        }
        if text.len() > QUESTION_BYTES_MAX {
            return Err(EngineError::TooLong { what: "text".to_owned(), bytes_max: QUESTION_BYTES_MAX });
        }
        let (row, view) = self.chat_seen(by, of).await?;
        let row = match (row, &view) {
            (Some(row), _) => row,
            (None, Some(view)) => {
                let new = self.new_chat(by, Some(view.run.id.clone()), None);
                self.store.begin_chat(new, self.old_before()).await?;
                let begun = self.store.chat_of_run(view.run.id.as_str()).await?;
                begun.ok_or_else(|| EngineError::NoRun(view.run.id.to_string()))?
            }
            (None, None) => return Err(of.none()),
        };
        let now = self.now();
        let stage = view.as_ref().map_or(Stage::BeforeJob, |view| Stage::of(&view.run));
        let id = nonce.map_or_else(Uuid::new_v4, Nonce::uuid).simple().to_string();
        let message = |id: String, speaker: Speaker, text: &str, status: MessageStatus| Message {
            number: 0,
            id,
            speaker,
            text: text.to_owned(),
            status,
            stage,
            uses: Vec::new(),
            note: None,
            tokens: 0,
            said_at: now,
            updated_at: now,
        };
        let answer = format!("{id}-answer");
        let question = message(id, Speaker::Person(by.name.clone()), text.trim(), MessageStatus::Done);
        let writing = message(answer.clone(), Speaker::Companion, "", MessageStatus::Writing);
        let both = (question.clone(), writing);
        let asked = self.store.ask_chat(row.id.clone(), both, self.alive_after(now)).await?;
        if asked == Asked::Busy {
            return Err(EngineError::ChatBusy);
        }
        Ok(Asking { chat: row.id, run: row.run, by: by.clone(), stage, question, answer, asked })
    }

    /// What a conversation before a job has come to, for the job that is given with it.
    pub async fn draft(
        &self,
        by: &Principal,
        chat: &str,
        nonce: Option<Nonce>,
    ) -> Result<Draft, EngineError> {
        self.chat_before_job(by, chat, nonce).await.map(|row| row.draft)
    }

    /// A conversation that a job may come of: no other has. Whoever died before they were answered gives the same job
    /// again.
    pub(crate) async fn chat_before_job(
        &self,
        by: &Principal,
        chat: &str,
        nonce: Option<Nonce>,
    ) -> Result<ChatRow, EngineError> {
        require(by, Act::Ask)?;
        let of = ChatOf::Chat(chat.to_owned());
        let row = self.chat_seen(by, &of).await?.0.ok_or_else(|| of.none())?;
        match &row.run {
            None => Ok(row),
            Some(run) if nonce.is_some_and(|nonce| id_of(nonce) == *run) => Ok(row),
            Some(run) => Err(EngineError::ChatHasJob { chat: chat.to_owned(), run: run.clone() }),
        }
    }

    /// Goes on with a conversation in the job that came of it.
    pub(crate) async fn attach_chat(&self, chat: &str, run: &RunId) -> Result<(), EngineError> {
        self.store.attach_chat(chat.to_owned(), run.to_string(), self.now()).await?;
        match self.store.chat(chat).await?.and_then(|row| row.run) {
            Some(own) if own == *run => Ok(()),
            Some(run) => Err(EngineError::ChatHasJob { chat: chat.to_owned(), run }),
            None => Err(EngineError::NoChat(chat.to_owned())),
        }
    }

    /// The conversation that is meant, if it may be read, and the job it is about.
    async fn chat_seen(
        &self,
        by: &Principal,
        of: &ChatOf,
    ) -> Result<(Option<ChatRow>, Option<RunView>), EngineError> {
        require(by, Act::ReadChat)?;
        match of {
            ChatOf::Run(run) => {
                let view = self.load_run(&self.seen_run(by, run).await?).await?;
                if view.run.job().is_none() {
                    return Err(EngineError::NotAJob(view.run.id));
                }
                Ok((self.store.chat_of_run(view.run.id.as_str()).await?, Some(view)))
            }
            ChatOf::Chat(id) => {
                let row = self.store.chat(id).await?.ok_or_else(|| of.none())?;
                // What is not a job's yet is nobody else's business.
                let own = row.begun_by == by.name || by.role == Role::Admin;
                match &row.run {
                    None if own => Ok((Some(row), None)),
                    None => Err(of.none()),
                    Some(run) => {
                        let view = self.load_run(&self.seen_run(by, run.as_str()).await?).await?;
                        Ok((Some(row), Some(view)))
                    }
                }
            }
        }
    }

    fn new_chat(&self, by: &Principal, run: Option<RunId>, nonce: Option<Nonce>) -> ChatRow {
        let id = nonce.map_or_else(Uuid::new_v4, Nonce::uuid).simple().to_string();
        ChatRow {
            id: id.chars().take(12).collect(),
            run,
            begun_by: by.name.clone(),
            draft: Draft::default(),
            created_at: self.now(),
        }
    }

    fn old_before(&self) -> Timestamp {
        self.now().checked_sub(KEPT_WITHOUT_JOB).unwrap_or(Timestamp::MIN)
    }

    fn alive_after(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(SILENCE_MAX).unwrap_or(Timestamp::MIN)
    }

    /// Whoever wrote an answer may be gone without a word.
    fn look_alive(&self, message: &mut Message) {
        if message.status == MessageStatus::Writing && message.updated_at < self.alive_after(self.now()) {
            message.status = MessageStatus::BrokenOff;
        }
    }
}

/// What can be said of a job that is not given yet.
fn check_draft(draft: &Draft) -> Result<(), EngineError> {
    if draft.description.len() > DESCRIPTION_BYTES_MAX {
        let what = "description".to_owned();
        return Err(EngineError::TooLong { what, bytes_max: DESCRIPTION_BYTES_MAX });
    }
    match &draft.autonomy {
        Some(level) if Level::find(Scope::Job, level).is_none() => Err(EngineError::NoLevel(level.clone())),
        _ => Ok(()),
    }
}

impl ChatOf {
    fn none(&self) -> EngineError {
        match self {
            ChatOf::Run(run) => EngineError::NoRun(run.clone()),
            ChatOf::Chat(id) => EngineError::NoChat(id.clone()),
        }
    }
}
