//! What happens, to everybody who listens: the log is read once, however many there are.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use checkrein_core::principal::Principal;
use checkrein_engine::{Engine, EngineError, EventsOf};
use checkrein_store::{Position, StoredEvent};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Notify, watch};

use crate::app::App;
use crate::metrics::Counted;
use crate::wire::event::Event;

/// Sends every event after it is committed, in the order of positions.
#[derive(Clone, Debug)]
pub struct Tail {
    told: broadcast::Sender<Arc<StoredEvent>>,
    /// Somebody began to listen.
    came: Arc<Notify>,
    /// Whether it is known where sending begins.
    begun: watch::Sender<bool>,
}

/// Whoever is further behind reads the store again.
const KEPT: usize = 1024;
const READ_AT_ONCE: usize = 500;
/// How long the log may fail to be read before it is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// How often it is looked how far the log is while nobody listens: so much is read again for the first who does.
const UNHEARD_EVERY: Duration = Duration::from_millis(250);

impl Default for Tail {
    fn default() -> Tail {
        Tail { told: broadcast::channel(KEPT).0, came: Arc::default(), begun: watch::Sender::new(false) }
    }
}

impl Tail {
    /// Reads on until `stop` is true.
    pub async fn run(self, engine: Arc<Engine>, mut stop: watch::Receiver<bool>) {
        let mut from = None;
        loop {
            let reading = async {
                let _ = self.read(&engine, &mut from).await;
                tokio::time::sleep(TRY_AGAIN).await;
            };
            tokio::select! {
                () = reading => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Returns only when something failed; what was not sent is read again.
    async fn read(&self, engine: &Engine, from: &mut Option<Position>) -> Result<(), EngineError> {
        let mut changes = engine.store().changes()?;
        // INVARIANT: whoever listens reads the store after they have begun to listen and after this is known, so nothing
        // before it needs to be sent.
        let mut last = match *from {
            Some(last) => last,
            None => engine.last_position().await?,
        };
        *from = Some(last);
        self.begun.send_replace(true);
        loop {
            changes.borrow_and_update();
            match self.unheard(engine).await? {
                Some(now) => {
                    last = now;
                    tokio::select! {
                        () = tokio::time::sleep(UNHEARD_EVERY) => {}
                        () = self.came.notified() => {}
                    }
                }
                None => loop {
                    let events = engine.store().events(last, None, READ_AT_ONCE).await?;
                    let more = events.len() == READ_AT_ONCE;
                    for event in events {
                        last = event.position;
                        *from = Some(last);
                        // Nobody may listen any more.
                        let _ = self.told.send(Arc::new(event));
                    }
                    if !more {
                        break;
                    }
                },
            }
            *from = Some(last);
            if changes.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Ready when everything from here on is sent.
    async fn begun(&self) {
        // It ends with the server, and then nobody is sent anything.
        let _ = self.begun.subscribe().wait_for(|begun| *begun).await;
    }

    fn listen(&self) -> broadcast::Receiver<Arc<StoredEvent>> {
        let heard = self.told.subscribe();
        self.came.notify_one();
        heard
    }

    /// A position up to which nobody needs to be told anything, where nobody listens.
    async fn unheard(&self, engine: &Engine) -> Result<Option<Position>, EngineError> {
        if self.told.receiver_count() > 0 {
            return Ok(None);
        }
        let now = engine.last_position().await?;
        // INVARIANT: asked again after the look. Whoever comes from here on reads the store up to it themselves.
        Ok((self.told.receiver_count() == 0).then_some(now))
    }
}

/// One who listens, from a position on.
pub struct Listener {
    app: App,
    by: Principal,
    /// The session they are known by, where it was no token.
    session: Option<String>,
    of: EventsOf,
    last: Position,
    heard: broadcast::Receiver<Arc<StoredEvent>>,
    /// Read from the store and not sent yet.
    waiting: VecDeque<StoredEvent>,
    caught_up: bool,
    greeted: bool,
    /// When it was last looked whether the listener may still hear.
    known_at: Instant,
    _counted: Counted,
}

impl Listener {
    pub fn new(app: &App, by: Principal, session: Option<String>, of: EventsOf, after: Position) -> Listener {
        // INVARIANT: listens before it reads, so nothing falls between.
        let heard = app.tail().listen();
        let waiting = VecDeque::new();
        Listener {
            app: app.clone(),
            by,
            session,
            of,
            last: after,
            heard,
            waiting,
            caught_up: false,
            greeted: false,
            known_at: Instant::now(),
            _counted: app.metrics().listener(),
        }
    }

    /// As server-sent events, until the server ends or nobody reads.
    pub fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut listener| async move {
            let piece = listener.next().await?;
            Some((Ok::<Bytes, std::convert::Infallible>(Bytes::from(piece)), listener))
        }))
    }

    /// The next piece to send; none is the end.
    async fn next(&mut self) -> Option<String> {
        if !self.greeted {
            self.greeted = true;
            // Whoever is cut off before the first event can go on from here.
            return Some(format!("retry: 1000\nid: {}\n\n", self.last.0));
        }
        // A stream that is never silent is asked, too.
        if self.known_at.elapsed() >= self.app.limits().sign_of_life && !self.is_known().await {
            return None;
        }
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.last = event.position;
                return Some(self.written(&event));
            }
            if !self.caught_up {
                tokio::select! {
                    () = self.app.tail().begun() => {}
                    () = self.app.closing() => return None,
                }
                match self.app.engine().events(&self.by, &self.of, self.last, READ_AT_ONCE).await {
                    Ok(events) => {
                        self.caught_up = events.is_empty();
                        self.waiting.extend(events);
                        continue;
                    }
                    // The reader comes back with the last position it saw.
                    Err(_) => return None,
                }
            }
            let app = self.app.clone();
            let heard = tokio::select! {
                heard = self.heard.recv() => heard,
                () = tokio::time::sleep(app.limits().sign_of_life) => {
                    if !self.is_known().await {
                        return None;
                    }
                    return Some(":\n\n".to_owned());
                }
                () = app.closing() => return None,
            };
            match heard {
                Ok(event) if event.position <= self.last => {}
                Ok(event) => {
                    self.last = event.position;
                    match self.app.engine().shows(&self.by, &self.of, &event).await {
                        Ok(true) => return Some(self.written(&event)),
                        Ok(false) => {}
                        Err(_) => return None,
                    }
                }
                Err(RecvError::Lagged(_)) => self.caught_up = false,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Whether the token or session that was good at the beginning still is.
    async fn is_known(&mut self) -> bool {
        self.known_at = Instant::now();
        self.app.still_known(&self.by, self.session.as_deref()).await.is_ok()
    }

    fn written(&self, event: &StoredEvent) -> String {
        let data = serde_json::to_string(&Event::from(event)).unwrap_or_default();
        let data = self.app.engine().redacted_json(data.as_bytes(), None);
        format!("id: {}\ndata: {}\n\n", event.position.0, String::from_utf8_lossy(&data))
    }
}
