//! The rounds of a review as programs see them.

use checkrein_core::checkpoint::CheckpointStatus;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    pub round: u32,
    /// Its checkpoint
    pub id: String,
    /// The commit that was looked at
    pub head: String,
    pub status: CheckpointStatus,
    pub opened_at: Timestamp,
    pub resolved_by: Option<String>,
    pub reason: Option<String>,
    /// What the agent said
    pub summary: Option<String>,
}

impl From<&checkrein_engine::Round> for Round {
    fn from(round: &checkrein_engine::Round) -> Round {
        let round = round.clone();
        Round {
            round: round.number,
            id: round.id,
            head: round.head.to_string(),
            status: round.status,
            opened_at: round.opened_at,
            resolved_by: round.resolved_by,
            reason: round.reason,
            summary: round.summary,
        }
    }
}
