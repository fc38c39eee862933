//! The screen at a terminal: keys in, frames out, and the engine in between.

use std::io::{self, Stderr, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::run::job::FileMark;
use checkrein_server::error::Kind;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::sync::{mpsc, watch};

use super::app::{App, Ask, Colours, Mode};
use super::content::Which;
use super::model::Review;
use super::side::Side;
use super::view;
use crate::error::CliError;
use crate::output::one_line;

/// What was done before the screen was left.
#[derive(Debug, Default)]
pub struct Left {
    pub done: Vec<String>,
    /// The review that was decided, its job, and what it is now.
    pub verdict: Option<Decided>,
}

#[derive(Debug)]
pub struct Decided {
    pub id: String,
    pub run: String,
    pub status: CheckpointStatus,
}

/// Shows a review until the person leaves it or has given a verdict.
pub async fn open(
    side: Side<'_>,
    id: &str,
    start: (Which, Option<&str>),
    stop: &watch::Receiver<bool>,
) -> Result<Left, CliError> {
    let told = side.told(id).await?;
    let (id, run) = (told.id.clone(), told.run_id.clone());
    let review = Review::of(told);
    let mut screen = Screen::enter().map_err(|error| unusable(&error))?;
    let mut app = App::new(review, colours(), size());
    app.switch(start.0);
    if let Some(path) = start.1 {
        app.go_to(path);
    }
    let mut keys = Keys::listen();
    let mut left = Left::default();
    let mut stop = stop.clone();
    loop {
        screen.draw(&mut app).map_err(|error| unusable(&error))?;
        let event = tokio::select! {
            event = keys.events.recv() => event,
            Ok(_) = stop.wait_for(|stop| *stop) => None,
        };
        let ask = match event {
            None => Ask::Leave,
            Some(Event::Key(key)) if key.kind != KeyEventKind::Release => app.key(key),
            Some(Event::Paste(text)) => {
                app.paste(&text);
                Ask::Nothing
            }
            Some(_) => Ask::Nothing,
        };
        let done = match ask {
            Ask::Nothing => continue,
            Ask::Leave => break,
            Ask::Reload => Ok(None),
            Ask::Comment(comment) => match side.comment(&id, comment).await {
                Ok(comment) => {
                    app.sent();
                    Ok(Some(format!("comment {} is kept", one_line(&comment))))
                }
                Err(error) => Err(error),
            },
            Ask::Mark { file, mark } => {
                let became = mark.map_or("not marked any more", FileMark::name).replace('_', " ");
                let said = format!("{}: {became}", one_line(&file));
                side.mark(&id, &file, mark, &app.review.head).await.map(|()| Some(said))
            }
            Ask::Verdict(request) => match side.decide(&id, &request).await {
                Ok(checkpoint) => {
                    left.verdict = Some(Decided { id, run, status: checkpoint.status });
                    break;
                }
                Err(error) => Err(error),
            },
        };
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                app.mode = Mode::Notice(what_happened(&error));
                None
            }
        };
        // What others did meanwhile is seen with every step.
        match side.look(&id).await {
            Ok(review) => app.reload(review),
            Err(error) => app.mode = Mode::Notice(what_happened(&error)),
        }
        app.said = done.clone();
        left.done.extend(done);
    }
    Ok(left)
}

/// In words, and what to do next.
fn what_happened(error: &CliError) -> String {
    match error.kind() {
        Some(Kind::StaleDigest) => {
            "Somebody pushed while you were looking.\nNothing was decided; what you see now is what is there."
                .to_owned()
        }
        Some(Kind::AlreadyDecided) => format!("Somebody was faster: {}.", one_line(&error.words())),
        _ => error.advice(),
    }
}

fn unusable(error: &io::Error) -> CliError {
    CliError::failed(format!("the terminal cannot be used: {error}"))
        .hint("`checkrein review ID --plain` needs none")
}

/// Whether the terminal can be drawn on.
pub fn is_possible() -> bool {
    std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

fn colours() -> Colours {
    let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if none { Colours::Off } else { Colours::On }
}

/// Of the terminal that is drawn on, whatever else this process may be attached to.
fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// The terminal while it is ours. However this ends, it is given back as it was.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    size: (u16, u16),
}

/// Whether the terminal is ours.
static OURS: AtomicBool = AtomicBool::new(false);

impl Screen {
    fn enter() -> io::Result<Screen> {
        restore_on_panic();
        enable_raw_mode()?;
        OURS.store(true, Ordering::SeqCst);
        let size = size();
        let entered = execute!(stderr(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)
            .and_then(|()| fresh(size));
        match entered {
            Ok(terminal) => Ok(Screen { terminal, size }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let now = size();
        if now != self.size {
            self.size = now;
            self.terminal = fresh(now)?;
            app.resize(now);
        }
        self.terminal.draw(|frame| view::draw(frame, app)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A terminal of this size with nothing on it.
fn fresh(size: (u16, u16)) -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    execute!(stderr(), Clear(ClearType::All))?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
    Terminal::with_options(CrosstermBackend::new(stderr()), TerminalOptions { viewport })
}

fn give_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        let _ = execute!(stderr(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

/// A panic is told on the screen the person came from.
fn restore_on_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

/// Reads keys on a thread of its own, since reading blocks.
struct Keys {
    events: mpsc::UnboundedReceiver<Event>,
    enough: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

fn is_gone() -> bool {
    rustix::termios::tcgetattr(std::io::stdin()).is_err()
}

/// How long a reader that is not wanted any more may go on.
const GLANCE: Duration = Duration::from_millis(50);

impl Keys {
    fn listen() -> Keys {
        let (sender, events) = mpsc::unbounded_channel();
        let enough = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&enough);
        let reader = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let event = match event::poll(GLANCE) {
                    // A terminal that was closed has no more keys, and would be asked for ever.
                    Ok(false) if is_gone() => return,
                    Ok(false) => continue,
                    Ok(true) => event::read(),
                    Err(error) => Err(error),
                };
                let heard = event.is_ok_and(|event| sender.send(event).is_ok());
                if !heard {
                    return;
                }
            }
        });
        Keys { events, enough, reader: Some(reader) }
    }
}

impl Drop for Keys {
    /// Whoever reads next must find nobody else reading.
    fn drop(&mut self) {
        self.enough.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
