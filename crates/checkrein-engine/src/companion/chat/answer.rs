//! Writing an answer: the model is asked, does what it may with tools, and is asked again, within limits. What there is
//! of an answer is kept while it grows, so that it outlives whoever reads it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use checkrein_agent::llm::{
    Answer, Client, Listener, LlmError, Message as Said, Model, Part, Request, Role, Stop,
};
use checkrein_core::companion::{Message, MessageStatus, ToolUse};
use checkrein_store::{Asked, Grown};
use uuid::Uuid;

use super::tools::Tools;
use super::{Asking, ChatPiece, SILENCE_MAX, prompt};
use crate::{Engine, EngineError};

/// How often the model is asked for one answer.
const ROUNDS_MAX: u32 = 16;
/// How many tools it may use at once.
const CALLS_MAX: usize = 8;
/// How much of one tool's answer it gets.
pub(super) const TOOL_BYTES_MAX: usize = 24 << 10;
/// How much of all of them, as long as the model can read so much.
const TOOLS_BYTES_MAX: usize = 400 << 10;
const HISTORY_BYTES_MAX: usize = 64 << 10;
const HISTORY_MESSAGES: usize = 60;
const ANSWER_BYTES_MAX: usize = 256 << 10;
const ANSWER_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// How often what there is of an answer is kept.
const KEEP_EVERY: Duration = Duration::from_millis(700);

/// Whoever listens.
type Hear<'h> = &'h mut (dyn FnMut(ChatPiece) + Send);

/// An answer that is being written. Everybody who adds to it has it at once.
pub(super) struct Writing<'h> {
    grown: Mutex<Grown>,
    /// Where the text of this round begins.
    from: Mutex<usize>,
    hear: Mutex<Hear<'h>>,
}

/// Why it was not written to its end.
enum Broken {
    Model(LlmError),
    Engine(EngineError),
    Limit(String),
}

impl Engine {
    /// Writes the answer to a question, and tells each piece of it. It ends early when `stop` is ready; what there is by
    /// then is kept and marked as broken off.
    pub async fn answer_chat(
        &self,
        asking: &Asking,
        hear: &mut (dyn FnMut(ChatPiece) + Send),
        stop: impl Future<Output = ()>,
    ) -> Result<Message, EngineError> {
        if asking.asked == Asked::Before {
            return self.follow_answer(asking, stop).await;
        }
        let grown = Grown {
            id: asking.answer.clone(),
            status: MessageStatus::Writing,
            text: String::new(),
            uses: Vec::new(),
            note: None,
            tokens: 0,
            at: self.now(),
        };
        let writing = Writing { grown: Mutex::new(grown), from: Mutex::new(0), hear: Mutex::new(hear) };
        let ended = tokio::select! {
            ended = self.write(asking, &writing) => ended,
            () = stop => Err(Broken::Limit("it was stopped".to_owned())),
            () = tokio::time::sleep(ANSWER_TIME_MAX) => {
                Err(Broken::Limit(format!("it took longer than {} minutes", ANSWER_TIME_MAX.as_secs() / 60)))
            }
        };
        let (status, note) = match ended {
            Ok(note) => (MessageStatus::Done, note),
            Err(broken) => (MessageStatus::BrokenOff, Some(broken.words())),
        };
        let mut grown = writing.so_far(self);
        (grown.status, grown.note) = (status, note);
        self.store.grow_message(grown).await?;
        self.answer_kept(asking).await
    }

    /// The note a finished answer has.
    async fn write(&self, asking: &Asking, writing: &Writing<'_>) -> Result<Option<String>, Broken> {
        let Some((model, client)) = self.companion.asked() else {
            // The answer says why there is no other.
            let text = self.answer_by_search(asking).await?;
            writing.say(&text);
            return Ok(None);
        };
        // Nobody can have written it into a document before.
        let mark = format!("material-{}", Uuid::new_v4().simple().to_string().get(..8).unwrap_or("0"));
        let tools = Tools::of(self, asking, writing);
        let draft = self.store.chat(&asking.chat).await.map_err(EngineError::from)?;
        let draft = draft.map(|row| row.draft).unwrap_or_default();
        let history =
            self.store.last_messages(&asking.chat, HISTORY_MESSAGES).await.map_err(EngineError::from)?;
        let room = usize::try_from(model.context_tokens).unwrap_or(usize::MAX);
        let mut request = Request {
            system: prompt::system(asking.stage, asking.run.as_ref(), &draft, &mark),
            messages: prompt::conversation(&history, &asking.question, HISTORY_BYTES_MAX.min(room)),
            tools: tools.offers(),
        };
        let mut tools_bytes = TOOLS_BYTES_MAX.min(room.saturating_mul(2));
        for round in 1..=ROUNDS_MAX {
            let answer = self.ask_model((model, client), &request, writing).await?;
            writing.used(answer.usage.tokens());
            let calls: Vec<_> = answer.calls().cloned().collect();
            if calls.is_empty() {
                return Ok(ending(&answer));
            }
            request.messages.push(Said::model(&answer));
            let mut results = Vec::new();
            for (index, call) in calls.iter().enumerate() {
                let answered = if index >= CALLS_MAX {
                    Err(format!("you called more than {CALLS_MAX} tools at once; call this one again"))
                } else if round == ROUNDS_MAX - 1 {
                    Err("you have looked often enough; answer now with what you know".to_owned())
                } else if tools_bytes == 0 {
                    Err("you have read as much as there is room for; answer now with what you know"
                        .to_owned())
                } else {
                    tools.call(call).await
                };
                let (text, failed) = match answered {
                    Ok(text) => {
                        let text = cut(&text, TOOL_BYTES_MAX.min(tools_bytes));
                        tools_bytes = tools_bytes.saturating_sub(text.len());
                        (prompt::material(&mark, &call.name, &text), false)
                    }
                    Err(text) => (text, true),
                };
                results.push(Part::ToolResult { call: call.id.clone(), text, failed });
            }
            request.messages.push(Said { role: Role::User, parts: results });
        }
        Err(Broken::Limit(format!("it asked its model {ROUNDS_MAX} times and came to no end")))
    }

    /// Asks once, and keeps what there is while it comes.
    async fn ask_model(
        &self,
        (model, client): (&Model, &Client),
        request: &Request,
        writing: &Writing<'_>,
    ) -> Result<Answer, Broken> {
        writing.begin_round();
        let mut listener = writing;
        let asking = client.ask(model, request, &mut listener);
        tokio::pin!(asking);
        let mut keep = tokio::time::interval(KEEP_EVERY);
        let mut kept = (usize::MAX, self.now());
        loop {
            tokio::select! {
                answered = &mut asking => return Ok(answered?),
                _ = keep.tick() => {
                    let grown = writing.so_far(self);
                    if grown.text.len() > ANSWER_BYTES_MAX {
                        return Err(Broken::Limit("it says too much".to_owned()));
                    }
                    // Where it does not grow, it is only to be seen that somebody is there.
                    let silent = grown.at.duration_since(kept.1).unsigned_abs();
                    if grown.text.len() == kept.0 && silent < SILENCE_MAX / 6 {
                        continue;
                    }
                    kept = (grown.text.len(), grown.at);
                    if !self.store.grow_message(grown).await.map_err(EngineError::from)? {
                        return Err(Broken::Limit("it was given up".to_owned()));
                    }
                }
            }
        }
    }

    /// Waits for an answer that somebody else writes.
    async fn follow_answer(
        &self,
        asking: &Asking,
        stop: impl Future<Output = ()>,
    ) -> Result<Message, EngineError> {
        let mut changes = self.store.changes()?;
        let waiting = async {
            loop {
                changes.borrow_and_update();
                let message = self.answer_kept(asking).await?;
                if message.status != MessageStatus::Writing {
                    return Ok(message);
                }
                // Whoever writes it may be gone without a word.
                let _ = tokio::time::timeout(SILENCE_MAX / 4, changes.changed()).await;
            }
        };
        tokio::select! {
            found = waiting => found,
            () = stop => self.answer_kept(asking).await,
        }
    }

    async fn answer_kept(&self, asking: &Asking) -> Result<Message, EngineError> {
        let found = self.store.message(&asking.answer).await?;
        let mut message = found.ok_or_else(|| EngineError::NoChat(asking.chat.clone()))?;
        self.look_alive(&mut message);
        Ok(message)
    }
}

impl Writing<'_> {
    fn so_far(&self, engine: &Engine) -> Grown {
        let mut grown = self.grown();
        grown.at = engine.now();
        grown.clone()
    }

    fn grown(&self) -> std::sync::MutexGuard<'_, Grown> {
        self.grown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn from(&self) -> std::sync::MutexGuard<'_, usize> {
        self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, piece: ChatPiece) {
        let mut hear = self.hear.lock().unwrap_or_else(PoisonError::into_inner);
        hear(piece);
    }

    fn say(&self, piece: &str) {
        let mut told = String::new();
        {
            let mut grown = self.grown();
            // What it says between two looks is a paragraph of its own.
            if grown.text.len() == *self.from() && !grown.text.is_empty() {
                told.push_str("\n\n");
            }
            told.push_str(piece);
            grown.text.push_str(&told);
        }
        self.tell(ChatPiece::Text(told));
    }

    fn begin_round(&self) {
        let length = self.grown().text.len();
        *self.from() = length;
    }

    fn used(&self, tokens: u64) {
        let mut grown = self.grown();
        grown.tokens = grown.tokens.saturating_add(tokens);
    }

    pub(super) fn uses(&self, used: ToolUse) {
        self.grown().uses.push(used.clone());
        self.tell(ChatPiece::Used(used));
    }
}

impl Listener for &Writing<'_> {
    fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.say(piece);
        }
    }

    fn again(&mut self, why: &LlmError, _wait: Duration) {
        let from = *self.from();
        let text = {
            let mut grown = self.grown();
            grown.text.truncate(from);
            grown.text.clone()
        };
        self.tell(ChatPiece::Anew(text));
        self.tell(ChatPiece::Waits(why.to_string()));
    }
}

impl Broken {
    fn words(&self) -> String {
        match self {
            Broken::Model(error) => match error.hint() {
                Some(hint) => format!("{error}; {hint}"),
                None => error.to_string(),
            },
            Broken::Engine(error) => error.to_string(),
            Broken::Limit(words) => words.clone(),
        }
    }
}

impl From<LlmError> for Broken {
    fn from(error: LlmError) -> Broken {
        Broken::Model(error)
    }
}

impl From<EngineError> for Broken {
    fn from(error: EngineError) -> Broken {
        Broken::Engine(error)
    }
}

/// What is odd about how it ended.
fn ending(answer: &Answer) -> Option<String> {
    match &answer.stop {
        Stop::Length => Some("there was no room for more; ask on".to_owned()),
        Stop::Refused => Some("the model refused to answer".to_owned()),
        Stop::End | Stop::Tools | Stop::Other(_) => None,
    }
}

/// The beginning of a text, and that there is more.
pub(super) fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}\n… cut here; {} bytes in all", text.get(..end).unwrap_or_default(), text.len())
}
