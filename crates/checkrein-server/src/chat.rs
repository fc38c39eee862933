//! Conversations over HTTP: an answer as it is written, and a conversation as it grows. An answer is written to its end
//! whether or not somebody reads it.

use std::collections::HashMap;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_engine::{Asking, ChatOf, ChatPiece};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::answer::{Answer, Content, Created, Reply, Sent};
use crate::app::App;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::metrics::Counted;
use crate::wire::chat::{Chat, Message, Piece, Proposal};

/// So many answers are written at once.
static WRITING: Semaphore = Semaphore::const_new(32);
/// How much of a conversation somebody who follows it begins with.
const FOLLOWED: usize = 1000;

/// A question and what was answered.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChatAnswer")]
pub struct AnsweredJson {
    pub question: Message,
    pub answer: Message,
    /// What was proposed with it
    pub proposals: Vec<Proposal>,
}

/// An answer as a whole, or in pieces for whoever accepts `text/event-stream`.
pub enum Answered {
    Whole(Box<Created<AnsweredJson>>),
    Stream(Body),
}

/// A conversation as it is, or as it grows.
pub enum Shown {
    Whole(Box<Reply<Chat>>),
    Stream(Body),
}

/// Asks, and has the answer written; as a whole, or in pieces for whoever accepts them.
pub async fn asked(call: &Call, of: ChatOf, text: String) -> Result<Answered, Problem> {
    if !accepts_stream(call) {
        return answered(call, of, text).await.map(|whole| Answered::Whole(Box::new(whole)));
    }
    let (asking, told, _) = begun(call, of, text).await?;
    let session = call.session().map(|session| session.id.clone());
    let app = &call.app;
    let listener = Listener {
        run: asking.run.clone(),
        first: Some(Piece::Asked { message: asking.question }),
        told,
        known: Known { app: app.clone(), by: call.by()?.clone(), session },
        _counted: app.metrics().listener(),
    };
    Ok(Answered::Stream(listener.into_body()))
}

/// Asks, and waits for the answer.
pub async fn answered(call: &Call, of: ChatOf, text: String) -> Result<Created<AnsweredJson>, Problem> {
    let (asking, _, writing) = begun(call, of.clone(), text).await?;
    let answer = match writing.await {
        Ok(answer) => answer?,
        Err(error) => return Err(Problem::new(Kind::Internal, format!("the answer broke off: {error}"))),
    };
    let view = call.engine().chat(call.by()?, &of, i64::MAX, 1).await?;
    let made = view.proposals.into_iter().filter(|proposal| proposal.message == answer.id);
    let whole =
        AnsweredJson { question: asking.question, proposals: made.map(Proposal::from).collect(), answer };
    let made = Created::new(whole);
    Ok(match &asking.run {
        Some(run) => made.about(run),
        None => made,
    })
}

type Begun = (Asking, UnboundedReceiver<Piece>, JoinHandle<Result<Message, Problem>>);

/// Takes a question down, and begins to write its answer.
async fn begun(call: &Call, of: ChatOf, text: String) -> Result<Begun, Problem> {
    let Ok(turn) = WRITING.try_acquire() else {
        let problem = Problem::new(Kind::RateLimited, "the companion answers as many as it can");
        return Err(Problem { retry_after: Some(5), ..problem });
    };
    let nonce = call.nonce();
    let asked = of.clone();
    let asking =
        call.apart(move |engine, by| async move { engine.ask_chat(&by, &asked, &text, nonce).await }).await?;
    let (tell, told) = mpsc::unbounded_channel();
    let (app, asked) = (call.app.clone(), asking.clone());
    let runtime = tokio::runtime::Handle::current();
    let writing = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        runtime.block_on(write(&app, &asked, &tell))
    });
    Ok((asking, told, writing))
}

/// Writes an answer to its end, or until the server ends.
async fn write(app: &App, asking: &Asking, tell: &UnboundedSender<Piece>) -> Result<Message, Problem> {
    // Whoever listens may have gone; the answer is written all the same.
    let mut hear = |piece: ChatPiece| drop(tell.send(Piece::from(piece)));
    let answer = app.engine().answer_chat(asking, &mut hear, app.closing()).await?;
    let _ = tell.send(Piece::Answered { message: answer.clone() });
    Ok(answer)
}

/// A conversation, in the form that is accepted.
pub async fn shown(call: &Call, of: ChatOf, (after, limit): (i64, usize)) -> Result<Shown, Problem> {
    let by = call.by()?;
    let view = call.engine().chat(by, &of, after, limit).await?;
    let run = view.run.clone();
    if accepts_stream(call) {
        let session = call.session().map(|session| session.id.clone());
        let following = Following {
            known: Known { app: call.app.clone(), by: by.clone(), session },
            of,
            run,
            changes: call.engine().store().changes()?,
            told: HashMap::new(),
            waiting: vec!["retry: 1000\n\n".to_owned()],
            _counted: call.app.metrics().listener(),
        };
        return Ok(Shown::Stream(following.into_body()));
    }
    let reply = Reply::new(Chat::from(view));
    Ok(Shown::Whole(Box::new(match &run {
        Some(run) => reply.about(run),
        None => reply,
    })))
}

fn accepts_stream(call: &Call) -> bool {
    call.header(header::ACCEPT).is_some_and(|accepted| accepted.contains("text/event-stream"))
}

/// Whoever listens, and has to be known still.
struct Known {
    app: App,
    by: Principal,
    session: Option<String>,
}

impl Known {
    async fn still(&self) -> bool {
        self.app.still_known(&self.by, self.session.as_deref()).await.is_ok()
    }

    /// A piece as it is sent, without what is secret.
    fn written(&self, run: Option<&RunId>, piece: &impl Serialize) -> String {
        let data = serde_json::to_string(piece).unwrap_or_default();
        let data = self.app.engine().redacted_json(data.as_bytes(), run);
        format!("data: {}\n\n", String::from_utf8_lossy(&data))
    }
}

/// One who hears an answer.
struct Listener {
    run: Option<RunId>,
    first: Option<Piece>,
    told: UnboundedReceiver<Piece>,
    known: Known,
    _counted: Counted,
}

impl Listener {
    fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut listener| async move {
            let piece = listener.next().await?;
            Some((Ok::<Bytes, std::convert::Infallible>(Bytes::from(piece)), listener))
        }))
    }

    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(self.known.written(self.run.as_ref(), &first));
        }
        let silence = self.known.app.limits().sign_of_life;
        tokio::select! {
            piece = self.told.recv() => Some(self.known.written(self.run.as_ref(), &piece?)),
            () = tokio::time::sleep(silence) => self.known.still().await.then(|| ":\n\n".to_owned()),
        }
    }
}

/// One who follows a conversation.
struct Following {
    known: Known,
    of: ChatOf,
    run: Option<RunId>,
    changes: watch::Receiver<u64>,
    /// What was sent of each message and proposal.
    told: HashMap<String, String>,
    waiting: Vec<String>,
    _counted: Counted,
}

impl Following {
    fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut following| async move {
            let pieces = following.next().await?;
            Some((Ok::<Bytes, std::convert::Infallible>(Bytes::from(pieces)), following))
        }))
    }

    /// What is new; none is the end.
    async fn next(&mut self) -> Option<String> {
        if !self.waiting.is_empty() {
            return Some(std::mem::take(&mut self.waiting).concat());
        }
        let app = self.known.app.clone();
        loop {
            self.changes.borrow_and_update();
            let new = self.read().await?;
            if !new.is_empty() {
                return Some(new);
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = tokio::time::sleep(app.limits().sign_of_life) => {
                    return self.known.still().await.then(|| ":\n\n".to_owned());
                }
                () = app.closing() => return None,
            }
        }
    }

    async fn read(&mut self) -> Option<String> {
        let view = self.known.app.engine().chat(&self.known.by, &self.of, 0, FOLLOWED).await.ok()?;
        let mut new = String::new();
        // What prepared a job has the job's secrets from then on.
        self.run = view.run;
        match (&self.of, &self.run) {
            (ChatOf::Chat(_), None) => {
                self.tell("draft".to_owned(), &Piece::Drafted { draft: view.draft }, &mut new);
            }
            (ChatOf::Chat(_), Some(run)) => {
                let run_id = run.to_string();
                self.tell("given".to_owned(), &Piece::Given { run_id }, &mut new);
            }
            (ChatOf::Run(_), _) => {}
        }
        for message in view.messages {
            let id = format!("m {}", message.id);
            self.tell(id, &Piece::Said { message }, &mut new);
        }
        for proposal in view.proposals {
            let id = format!("p {}", proposal.id);
            self.tell(id, &Piece::Proposed { proposal: Box::new(proposal.into()) }, &mut new);
        }
        Some(new)
    }

    fn tell(&mut self, id: String, piece: &Piece, new: &mut String) {
        let written = self.known.written(self.run.as_ref(), piece);
        if self.told.get(&id) != Some(&written) {
            new.push_str(&written);
            self.told.insert(id, written);
        }
    }
}

fn stream(body: Body) -> Sent {
    Sent {
        status: StatusCode::OK,
        // A proxy that gathers pieces would keep what is said to itself.
        headers: vec![(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))],
        content: Content::Stream { media_type: "text/event-stream", body },
        about: None,
    }
}

/// The stream of a conversation beside what it is as a whole.
fn with_stream(described: &mut [(u16, Value)], item: Value) {
    for (_, answer) in described {
        if let Some(content) = answer.get_mut("content").and_then(Value::as_object_mut) {
            let stream = json!({
                "schema": {"type": "string"},
                "x-item-schema": {
                    "type": "object",
                    "required": ["data"],
                    "properties": {
                        "data": {
                            "type": "string",
                            "contentMediaType": "application/json",
                            "contentSchema": item,
                        },
                    },
                },
            });
            content.insert("text/event-stream".to_owned(), stream);
        }
    }
}

impl Answer for Answered {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let mut described = <Created<AnsweredJson>>::described(generator);
        let piece = generator.subschema_for::<Piece>().to_value();
        with_stream(&mut described, piece);
        described
    }

    fn sent(self) -> Result<Sent, Problem> {
        match self {
            Answered::Whole(whole) => whole.sent(),
            Answered::Stream(body) => Ok(Sent { status: StatusCode::CREATED, ..stream(body) }),
        }
    }
}

impl Answer for Shown {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let mut described = <Reply<Chat>>::described(generator);
        let piece = generator.subschema_for::<Piece>().to_value();
        with_stream(&mut described, piece);
        described
    }

    fn sent(self) -> Result<Sent, Problem> {
        match self {
            Shown::Whole(whole) => whole.sent(),
            Shown::Stream(body) => Ok(stream(body)),
        }
    }
}
