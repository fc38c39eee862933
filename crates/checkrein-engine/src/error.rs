//! Why a method did not do what it was asked.

use checkrein_core::checkpoint::{BadId, CheckpointId, Refusal};
use checkrein_core::deliverable::DeliverableError;
use checkrein_core::document::Problems;
use checkrein_core::principal::Role;
use checkrein_store::{StoreError, TransferError};

use crate::Act;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no checkpoint `{0}`")]
    NoCheckpoint(String),
    #[error("there is no token `{0}`")]
    NoToken(String),
    #[error("checkpoint `{0}` was submitted before with other content")]
    OtherContent(CheckpointId),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{name} may not {}: that takes the role {}, not {role}", act.name(), least(*act))]
    Forbidden { name: String, role: Role, act: Act },
    #[error("the token in CHECKREIN_TOKEN is not valid: {0}")]
    BadToken(&'static str),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{0}` has characters that do not show")]
    Invisible(&'static str),
    #[error("`{0}` is the name of the automatic reviewer")]
    ReservedName(String),
    #[error(transparent)]
    BadId(#[from] BadId),
    #[error(transparent)]
    Deliverable(#[from] DeliverableError),
    #[error(transparent)]
    Settings(#[from] Problems),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

fn least(act: Act) -> Role {
    crate::MATRIX.iter().find(|(known, _)| *known == act).map_or(Role::Admin, |(_, least)| *least)
}
