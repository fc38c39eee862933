//! Reviews in a forge: what is held here is a pull request there, and what people do there counts here.
//!
//! The forge is asked what it has before anything is done there, and what is learnt is recorded before it is
//! acted upon, so that whoever is killed in between does it again without harm. That a forge cannot be reached
//! is no answer: it is shown as trouble, and tried again.

mod along;
mod arrive;
mod at;
mod connect;
mod doctor;
mod hear;
mod hint;
mod land;
mod look;
mod opinion;
mod pace;
mod roam;
mod show;
mod tell;

use std::time::Duration;

use checkrein_forge::RemoteError;

use crate::EngineError;

pub use at::ForgeLink;
pub use doctor::examine_forge;
pub use hint::HintError;
pub use look::Looked;

pub(crate) use along::{Along, entrust, entrust_left, has};
pub(crate) use arrive::arrive;
pub(crate) use at::forge_for;
pub(crate) use connect::Accounts;
pub(crate) use land::{Landing, clear, clear_phase, land};
pub(crate) use look::attend;
pub(crate) use pace::Pace;
pub(crate) use show::take_pushed;

/// Why nothing came of a look at the forge.
#[derive(Debug)]
pub(crate) enum LookError {
    /// It is told, and tried again later.
    Trouble(Trouble),
    Engine(EngineError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub text: String,
    pub retry_after: Option<Duration>,
}

impl LookError {
    pub fn trouble(text: impl Into<String>) -> LookError {
        LookError::Trouble(Trouble { text: text.into(), retry_after: None })
    }
}

impl From<RemoteError> for LookError {
    fn from(error: RemoteError) -> LookError {
        LookError::Trouble(Trouble { text: error.to_string(), retry_after: error.retry_after() })
    }
}

impl From<EngineError> for LookError {
    fn from(error: EngineError) -> LookError {
        LookError::Engine(error)
    }
}

impl From<checkrein_forge::ForgeError> for LookError {
    fn from(error: checkrein_forge::ForgeError) -> LookError {
        LookError::Engine(error.into())
    }
}
