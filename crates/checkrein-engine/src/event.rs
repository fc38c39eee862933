//! What happened, to read again from any position.

use checkrein_core::principal::Principal;
use checkrein_store::{Position, StoredEvent};

use crate::authority::{Act, require};
use crate::sight::sight;
use crate::{Engine, EngineError};

/// Whose events are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventsOf {
    Everything,
    /// A run and the checkpoints it waited at.
    Run(String),
}

impl Engine {
    /// In commit order, after a position: whoever goes on after the last one they saw misses nothing.
    pub async fn events(
        &self,
        by: &Principal,
        of: &EventsOf,
        after: Position,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, EngineError> {
        require(by, Act::Read)?;
        Ok(match (of, sight(by)) {
            (EventsOf::Everything, None) => self.store.events(after, None, limit).await?,
            (EventsOf::Everything, Some(owner)) => self.store.events_of_owner(after, owner, limit).await?,
            (EventsOf::Run(id), _) => {
                let id = self.seen_run(by, id).await?;
                self.store.events_of_run(after, id.as_str(), limit).await?
            }
        })
    }

    /// The position of what happened last.
    pub async fn last_position(&self) -> Result<Position, EngineError> {
        Ok(self.store.last_position().await?)
    }

    /// Whether an event belongs to what was asked for, and may be seen.
    pub async fn shows(
        &self,
        by: &Principal,
        of: &EventsOf,
        event: &StoredEvent,
    ) -> Result<bool, EngineError> {
        require(by, Act::Read)?;
        match of {
            EventsOf::Everything => self.sees(by, &event.stream).await,
            EventsOf::Run(id) => Ok(event.stream == *id || self.store.is_of_run(&event.stream, id).await?),
        }
    }

    /// The full id of a run, by the text a person means it with.
    pub async fn run_id(&self, by: &Principal, text: &str) -> Result<String, EngineError> {
        require(by, Act::Read)?;
        Ok(self.seen_run(by, text).await?.to_string())
    }
}
