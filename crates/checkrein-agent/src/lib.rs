//! The agents Checkrein works with: coding programs people have, and one of its own on a model's API.

mod builtin;
mod host;
pub mod llm;
mod preset;
mod regular;
mod result;
mod tail;
mod task;
mod voice;

pub use builtin::requests;
pub use host::{HOST, host};
pub use preset::{
    Found, Health, TOOLS_OF_JOB, TOOLS_OF_STEP, credentials, doctor, has_own_home, is_secret, variables,
};
pub use tail::LineTail;
pub use task::{AgentTask, PersonMessage};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    /// A person has to do something first.
    Blocked,
    Failed,
}
