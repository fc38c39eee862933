//! Who sees what. An agent's token sees what was made under its name, and what belongs to its runs;
//! whatever else is asked for is not there. Everybody else sees everything.

use checkrein_core::principal::{Principal, Role};
use checkrein_core::run::RunId;
use checkrein_store::StoredCheckpoint;

use crate::{Engine, EngineError};

/// Whose things a principal sees; none is everybody's. What runs on this machine without a token can
/// read the file anyway.
pub(crate) fn sight(by: &Principal) -> Option<&str> {
    let bound = by.role == Role::Agent && by.token.is_some();
    bound.then_some(by.name.as_str())
}

/// To whom something new belongs: to the agent that makes it. A name alone would do for a person, whose
/// things an agent of the same name must not see.
pub(crate) fn owner(by: &Principal) -> Option<String> {
    (by.role == Role::Agent).then(|| by.name.clone())
}

impl Engine {
    /// Whether a run or a checkpoint may be seen.
    pub(crate) async fn sees(&self, by: &Principal, stream: &str) -> Result<bool, EngineError> {
        match sight(by) {
            None => Ok(true),
            Some(owner) => Ok(self.store.is_of_owner(stream, owner).await?),
        }
    }

    /// The run that is meant, if it may be seen.
    pub(crate) async fn seen_run(&self, by: &Principal, text: &str) -> Result<RunId, EngineError> {
        let none = || EngineError::NoRun(text.to_owned());
        match self.named_run(text).await {
            Ok(id) if self.sees(by, id.as_str()).await? => Ok(id),
            Ok(_) => Err(none()),
            // That there are several says something about each.
            Err(EngineError::SeveralRuns { .. }) if sight(by).is_some() => Err(none()),
            Err(error) => Err(error),
        }
    }

    /// The checkpoint as it stands now, if it may be seen.
    pub(crate) async fn seen_checkpoint(
        &self,
        by: &Principal,
        id: &str,
    ) -> Result<StoredCheckpoint, EngineError> {
        let mut stored = self.checkpoint_row(id).await?;
        if !self.sees(by, id).await? {
            return Err(EngineError::NoCheckpoint(id.to_owned()));
        }
        stored.checkpoint = stored.checkpoint.standing_at(self.now());
        Ok(stored)
    }
}
