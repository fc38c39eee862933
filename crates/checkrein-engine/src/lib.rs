//! Where decisions meet I/O. Each thing a person, a program or an agent can do is one method of
//! [`Engine`]; the command line, HTTP and MCP call the same one.

mod authority;
mod checkpoint;
mod doctor;
mod error;
mod store;
mod token;

use checkrein_core::config::Settings;
use checkrein_store::Store;
use jiff::Timestamp;

pub use authority::{Act, MATRIX, allowed};
pub use checkpoint::{CheckpointView, NewCheckpoint, VerdictRequest};
pub use doctor::{Finding, State, examine};
pub use error::EngineError;
pub use store::{Sweep, restore_store};
pub use token::{NewToken, Token};

pub struct Engine {
    store: Store,
    settings: Settings,
}

impl Engine {
    pub fn new(store: Store, settings: Settings) -> Engine {
        Engine { store, settings }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    fn now(&self) -> Timestamp {
        now()
    }
}

/// The one place that looks at the clock.
fn now() -> Timestamp {
    // The store keeps milliseconds; what is answered is what will be read again.
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
