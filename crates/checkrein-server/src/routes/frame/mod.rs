//! Frames: the tree of each session, what is done to it, and when to push and pop.

pub mod context;
pub mod list;
pub mod log;
pub mod moves;
pub mod picture;
pub mod should_pop;
pub mod should_push;
pub mod show;
pub mod stats;

use checkrein_engine::SessionWanted;

use crate::call::Call;

/// The session a path names; `-` is the one that was changed last.
fn wanted(call: &Call) -> SessionWanted {
    SessionWanted { id: Some(call.path("id").to_owned()), directory: None }
}
