//! Sessions of frames: the methods. A change is decided on the session as it was loaded, and committed
//! against its version; whoever was slower loads again and decides anew.

mod hook;
mod log;
mod sweep;

use checkrein_core::frame::{
    Around, FlameStyle, FrameAnswer, FrameCommand, FrameConfig, FrameError, FrameSession, LogLine,
    Suggestion, SuggestionFilter, flame_graph,
};
use checkrein_core::principal::Principal;
use checkrein_store::{
    CommitError, FrameCommit, Page, SessionFilter, SessionItem, StoreError, StoredSession, Version,
};
use uuid::Uuid;

pub use hook::{Client, HookAnswer};
pub use sweep::SweptFrames;

use crate::authority::{Act, require};
use crate::sight::{owner, sight};
use crate::{Engine, EngineError};

/// Which session is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWanted {
    /// Its id; without one it is the session that was changed last.
    pub id: Option<String>,
    /// Where the agent works: without an id, only a session of this directory is meant.
    pub directory: Option<String>,
}

/// So often a change is decided again because somebody was faster.
const TRIES_MAX: u32 = 1_000;
const ID_CHARS_MAX: usize = 128;
/// Whoever looks back sees so many suggestions.
const HISTORY_MAX: usize = 10_000;

impl Engine {
    /// Does what is asked of a session of frames, or answers a question about it.
    pub async fn frames(
        &self,
        by: &Principal,
        wanted: &SessionWanted,
        command: &FrameCommand,
    ) -> Result<FrameAnswer, EngineError> {
        require(by, if command.changes() { Act::KeepFrames } else { Act::Read })?;
        let id = match (self.found_session(by, wanted).await?, command.begins()) {
            (Some(id), _) => id,
            (None, true) => Uuid::now_v7().to_string(),
            // Nothing has happened yet, which is an answer, too.
            (None, false) => String::new(),
        };
        let named = wanted.id.as_deref().is_some_and(is_named);
        let history = self.history(by, &id, command).await?;
        let (settings, odd) = self.settings.frames();
        let work = |session: &mut FrameSession, around: &mut Around<'_>| {
            around.history.clone_from(&history);
            session.apply(command, around)
        };
        let change =
            Change { id: &id, directory: wanted.directory.as_deref(), begins: command.begins(), named };
        let mut answer = if command.changes() && !id.is_empty() {
            self.change_session(by, &change, &settings, work).await?
        } else {
            let mut session = self.loaded_session(by, &change).await?.0.session;
            self.with_around(&id, &settings, |around| work(&mut session, around))?
        };
        // Whoever asks what is advised is told which of the settings are not part of it.
        if command.asks_for_advice() {
            answer.warnings.splice(0..0, odd);
        }
        Ok(answer)
    }

    /// A session with all its frames.
    pub async fn frame_session(
        &self,
        by: &Principal,
        wanted: &SessionWanted,
    ) -> Result<StoredSession, EngineError> {
        require(by, Act::Read)?;
        let id = self.found_session(by, wanted).await?.ok_or(EngineError::NoFrames)?;
        let change = Change { id: &id, directory: None, begins: false, named: true };
        Ok(self.loaded_session(by, &change).await?.0)
    }

    /// Sessions, the newest first.
    pub async fn frame_sessions(
        &self,
        by: &Principal,
        directory: Option<&str>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<SessionItem>, EngineError> {
        require(by, Act::Read)?;
        let filter =
            SessionFilter { owner: sight(by).map(str::to_owned), directory: directory.map(str::to_owned) };
        Ok(self.store.frame_sessions(&filter, before, limit).await?)
    }

    /// Suggestions of all sessions, the newest first.
    pub async fn suggestions(
        &self,
        by: &Principal,
        filter: SuggestionFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<Suggestion>, EngineError> {
        require(by, Act::Read)?;
        let filter = SuggestionFilter { owner: sight(by).map(str::to_owned), ..filter };
        Ok(self.store.suggestions(&filter, before, limit).await?)
    }

    /// Says of a suggestion, wherever it was made, whether it was of use.
    pub async fn judge_suggestion(
        &self,
        by: &Principal,
        id: &str,
        useful: bool,
    ) -> Result<FrameAnswer, EngineError> {
        require(by, Act::KeepFrames)?;
        let none = || EngineError::Frame(FrameError::NoSuggestion(id.to_owned()));
        let suggestion = self.store.suggestion(id).await?.ok_or_else(none)?;
        let wanted = SessionWanted { id: Some(suggestion.session), directory: None };
        let command = FrameCommand::Feedback { id: id.to_owned(), useful };
        match self.frames(by, &wanted, &command).await {
            // Whose session it is, is nobody else's business.
            Err(EngineError::NoFrameSession(_)) => Err(none()),
            answered => answered,
        }
    }

    /// The tree as a picture.
    pub async fn flame_graph(
        &self,
        by: &Principal,
        wanted: &SessionWanted,
        style: FlameStyle<'_>,
    ) -> Result<String, EngineError> {
        let stored = self.frame_session(by, wanted).await?;
        Ok(flame_graph(&stored.session.tree, style))
    }

    /// The session that is meant; none where there is no such session yet.
    async fn found_session(
        &self,
        by: &Principal,
        wanted: &SessionWanted,
    ) -> Result<Option<String>, EngineError> {
        if let Some(id) = wanted.id.as_deref().filter(|id| is_named(id)) {
            check_id(id)?;
            return Ok(Some(id.to_owned()));
        }
        let filter =
            SessionFilter { owner: sight(by).map(str::to_owned), directory: wanted.directory.clone() };
        Ok(self.store.latest_frame_session(&filter).await?)
    }

    /// What is there under an id, or a new session where the command may begin one.
    async fn loaded_session(
        &self,
        by: &Principal,
        change: &Change<'_>,
    ) -> Result<(StoredSession, Version), EngineError> {
        let none = || EngineError::NoFrameSession(change.id.to_owned());
        if let Some(stored) = self.store.frame_session(change.id).await? {
            let foreign = sight(by).is_some_and(|own| stored.owner.as_deref() != Some(own));
            let version = stored.version;
            return if foreign { Err(none()) } else { Ok((stored, version)) };
        }
        if change.named && !change.begins {
            return Err(none());
        }
        let now = self.now();
        let new = StoredSession {
            session: FrameSession::new(change.id),
            version: Version(0),
            owner: owner(by),
            directory: change.directory.map(str::to_owned),
            created_at: now,
            updated_at: now,
        };
        Ok((new, Version(0)))
    }

    /// Changes a session: all of it is there afterwards, or nothing. What was decided on a session
    /// that somebody changed meanwhile is decided again.
    async fn change_session<T, E>(
        &self,
        by: &Principal,
        change: &Change<'_>,
        settings: &FrameConfig,
        mut work: impl FnMut(&mut FrameSession, &mut Around<'_>) -> Result<T, E>,
    ) -> Result<T, EngineError>
    where
        EngineError: From<E>,
    {
        for _ in 0..TRIES_MAX {
            let (stored, expected) = self.loaded_session(by, change).await?;
            let before = stored.session.clone();
            let mut session = stored.session;
            let done = self.with_around(change.id, settings, |around| work(&mut session, around))?;
            let lines = std::mem::take(&mut session.log);
            if session == before && expected != Version(0) {
                return Ok(done);
            }
            let commit = FrameCommit {
                expected,
                id: change.id.to_owned(),
                owner: stored.owner,
                directory: stored.directory.or_else(|| change.directory.map(str::to_owned)),
                current: session.tree.current().map(|frame| frame.id.clone()),
                frames: changed_frames(&before, &session),
                suggestions: changed_suggestions(&before, &session),
                state: session.state,
                at: self.now(),
            };
            match self.store.commit_frames(commit).await {
                Ok(()) => {
                    self.write_log(change.id, &lines);
                    return Ok(done);
                }
                Err(CommitError::Conflict | CommitError::LeaseLost) => tokio::task::yield_now().await,
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(EngineError::Store(StoreError::Busy))
    }

    fn with_around<T>(
        &self,
        session: &str,
        settings: &FrameConfig,
        work: impl FnOnce(&mut Around<'_>) -> T,
    ) -> T {
        let make_id = || Uuid::now_v7().simple().to_string();
        let log_path = |frame: &str| self.log_path(session, frame).display().to_string();
        let now_ms = u64::try_from(self.now().as_millisecond()).unwrap_or(0);
        let mut around =
            Around { settings, now_ms, make_id: &make_id, log_path: &log_path, history: Vec::new() };
        work(&mut around)
    }

    async fn history(
        &self,
        by: &Principal,
        session: &str,
        command: &FrameCommand,
    ) -> Result<Vec<Suggestion>, EngineError> {
        if !command.looks_back() {
            return Ok(Vec::new());
        }
        let of = (!command.looks_around()).then(|| session.to_owned());
        let filter = SuggestionFilter { session: of, owner: sight(by).map(str::to_owned), status: None };
        let mut items = self.store.suggestions(&filter, None, HISTORY_MAX).await?.items;
        items.reverse();
        // What nobody acted on in time is over, whether or not anybody has come by since.
        let now_ms = u64::try_from(self.now().as_millisecond()).unwrap_or(0);
        let mut all: checkrein_core::frame::Suggestions = items.into_iter().collect();
        all.expire(now_ms);
        Ok(all.iter().cloned().collect())
    }

    /// What cannot be written is told nobody: a log is a help, and the frame is safe without it.
    fn write_log(&self, session: &str, lines: &[LogLine]) {
        for line in lines {
            let text = String::from_utf8_lossy(&self.redacted(line.text.as_bytes())).into_owned();
            let _ = log::append(&self.log_path(session, &line.frame), self.now(), &text);
        }
    }
}

/// The session that is to be changed.
struct Change<'a> {
    id: &'a str,
    directory: Option<&'a str>,
    /// It may be new.
    begins: bool,
    /// Somebody named it, so that it has to be there unless it begins.
    named: bool,
}

/// A dash is no name: it stands for the session that was changed last.
fn is_named(id: &str) -> bool {
    id != "-"
}

/// An id is also the name of a directory.
fn check_id(id: &str) -> Result<(), EngineError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    let begins_well = id.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if begins_well && id.len() <= ID_CHARS_MAX && id.chars().all(plain) {
        return Ok(());
    }
    Err(EngineError::BadFrameSession(id.to_owned()))
}

fn changed_frames(before: &FrameSession, after: &FrameSession) -> Vec<(usize, checkrein_core::frame::Frame)> {
    let mut old = before.tree.frames();
    let new = after.tree.frames().enumerate();
    new.filter(|(_, frame)| old.next() != Some(frame))
        .map(|(position, frame)| (position, frame.clone()))
        .collect()
}

fn changed_suggestions(before: &FrameSession, after: &FrameSession) -> Vec<Suggestion> {
    let mut old = before.suggestions.iter();
    after.suggestions.iter().filter(|suggestion| old.next() != Some(suggestion)).cloned().collect()
}
