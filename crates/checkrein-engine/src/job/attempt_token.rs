//! The token of an attempt: with it an agent that runs elsewhere hands in over HTTP what one on this machine hands in
//! by files. It is of role agent, for this attempt alone, and worth nothing once the attempt is over.

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_core::run::{RunId, RunStatus};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::hand_in::AttemptFiles;
use super::place::{JobPlace, OWN_BYTES_MAX, unusable, write};
use crate::{Engine, EngineError};

/// How one begins; the run follows, then what is secret.
pub const ATTEMPT_PREFIX: &str = "cha_";
/// Between a run and the number of its attempt, in what such a token is called.
const OF: char = '#';

/// What is kept of it, where no agent in a sandbox sees it.
#[derive(Serialize, Deserialize)]
struct Kept {
    start: u64,
    digest: String,
}

/// A new token for an attempt that is about to begin; that of the attempt before is forgotten.
pub(super) fn make(place: &JobPlace, run: &RunId, start: u64) -> Result<String, EngineError> {
    let secret = format!("{ATTEMPT_PREFIX}{run}_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let kept = Kept { start, digest: Digest::of(secret.as_bytes()).to_string() };
    let file = place.attempt_token();
    let text = serde_json::to_vec(&kept).map_err(|error| unusable(&file.path(), &error.into()))?;
    write(&file, &text)?;
    Ok(secret)
}

impl Engine {
    /// The attempt a token is for, while it is under way, and who speaks with it.
    pub async fn attempt_of_token(&self, secret: &str) -> Result<(Principal, AttemptFiles), EngineError> {
        let unknown = || EngineError::BadToken("nobody knows it");
        let secret = secret.trim();
        let named = secret.strip_prefix(ATTEMPT_PREFIX).and_then(|rest| rest.rsplit_once('_'));
        let run = named.map(|(run, _)| run).filter(|run| RunId::looks_like(run)).ok_or_else(unknown)?;
        let (id, start) = self.attempt_under_way(run).await?;
        let place = JobPlace::of(&self.store, &id);
        let text = place.attempt_token().read(OWN_BYTES_MAX).ok().flatten();
        let kept: Option<Kept> = text.and_then(|text| serde_json::from_slice(&text).ok());
        let digest = Digest::of(secret.as_bytes()).to_string();
        if !kept.is_some_and(|kept| kept.start == start && kept.digest == digest) {
            return Err(unknown());
        }
        let by = Principal::new(format!("agent of {id}"), PrincipalKind::Agent, Role::Agent);
        let by = Principal { token: Some(format!("{id}{OF}{start}")), ..by };
        Ok((by, AttemptFiles::of(&place, start)))
    }

    /// Whether what a principal calls its token is that of an attempt; if so, refuses it unless the attempt goes on.
    pub(crate) async fn still_attempted(&self, token: &str) -> Option<Result<(), EngineError>> {
        let (run, wanted) = token.split_once(OF)?;
        Some(match self.attempt_under_way(run).await {
            Ok((_, start)) if start.to_string() == wanted => Ok(()),
            Ok(_) => Err(OVER),
            Err(error) => Err(error),
        })
    }

    async fn attempt_under_way(&self, run: &str) -> Result<(RunId, u64), EngineError> {
        let found = self.store.run(run).await?.map(|stored| stored.run);
        let row = found.filter(|row| row.state.status == RunStatus::Running).ok_or(OVER)?;
        let start = row.state.under_way.as_ref().map(|under_way| under_way.start).ok_or(OVER)?;
        Ok((row.id, start))
    }
}

const OVER: EngineError = EngineError::BadToken("its attempt is over");
