//! The rounds of a review, and what changed from one to another.

use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus};
use checkrein_core::principal::Principal;
use checkrein_forge::{Diff, DiffLimits, Oid};
use jiff::Timestamp;
use serde_json::Value;

use super::place::JobPlace;
use super::repository::JobRepository;
use super::review::{Reviewed, asked};
use super::work::blocking;
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// One round of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    pub number: u32,
    /// Its checkpoint.
    pub id: String,
    /// What was looked at when it was decided, or is now.
    pub head: Oid,
    pub status: CheckpointStatus,
    pub opened_at: Timestamp,
    pub resolved_by: Option<String>,
    pub reason: Option<String>,
    /// What its agent said.
    pub summary: Option<String>,
}

impl Engine {
    /// Every round of a review until this one, first to last.
    pub async fn review_rounds(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
    ) -> Result<Vec<Round>, EngineError> {
        require(by, Act::Read)?;
        let now = &reviewed.checkpoint.checkpoint;
        let mut rounds = Vec::new();
        for number in 1..=now.round {
            let stored = match self.checkpoint_row(&of_round(now, number)).await {
                Ok(stored) => stored,
                Err(EngineError::NoCheckpoint(_)) => continue,
                Err(error) => return Err(error),
            };
            let view = self.view(stored).await?;
            let asked = asked(view.content.as_ref());
            let text = |name: &str| asked.get(name).and_then(Value::as_str);
            let Ok(head) = Oid::parse(text("head").unwrap_or_default()) else { continue };
            let checkpoint = view.checkpoint;
            rounds.push(Round {
                number,
                id: checkpoint.id.to_string(),
                head,
                status: checkpoint.status,
                opened_at: checkpoint.created_at,
                resolved_by: checkpoint.resolved_by,
                reason: checkpoint.reason,
                summary: text("summary").filter(|text| !text.is_empty()).map(str::to_owned),
            });
        }
        Ok(rounds)
    }

    /// What changed between two rounds of a review; from the base where `from` is 0.
    pub async fn review_changes(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
        from: u32,
        to: u32,
    ) -> Result<Diff, EngineError> {
        require(by, Act::Read)?;
        let rounds = self.review_rounds(by, reviewed).await?;
        let base = reviewed.asked().get("base").and_then(Value::as_str).unwrap_or_default().to_owned();
        let head = |number: u32| match number {
            0 => Ok(Oid::parse(&base)?),
            number => {
                let round = rounds.iter().find(|round| round.number == number);
                round.map(|round| round.head.clone()).ok_or_else(|| EngineError::NoRound {
                    id: reviewed.checkpoint.checkpoint.id.clone(),
                    round: number,
                })
            }
        };
        let (old, new) = (head(from)?, head(to)?);
        self.changes_between(reviewed, old, new).await
    }

    /// What changed on the branch of a review since a commit somebody looked at.
    pub async fn review_since(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
        commit: &str,
    ) -> Result<Diff, EngineError> {
        require(by, Act::Read)?;
        let head = reviewed.asked().get("head").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.changes_between(reviewed, Oid::parse(commit)?, Oid::parse(&head)?).await
    }

    async fn changes_between(&self, reviewed: &Reviewed, old: Oid, new: Oid) -> Result<Diff, EngineError> {
        let run = reviewed.view.run.clone();
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            Ok(repository.bare.diff(&old, &new, &DiffLimits::default())?)
        })
        .await
    }
}

/// The id of another round of the same review.
pub(super) fn of_round(checkpoint: &Checkpoint, round: u32) -> String {
    let id = checkpoint.id.as_str();
    // The first round has no number of its own; what its id ends with is the hold's.
    let review = match checkpoint.round {
        0 | 1 => id,
        own => id.strip_suffix(&format!(".{own}")).unwrap_or(id),
    };
    if round <= 1 { review.to_owned() } else { format!("{review}.{round}") }
}
