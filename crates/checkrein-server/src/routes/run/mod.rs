//! Runs: start, look, go on, end.

pub mod activity;
pub mod ask;
pub mod cancel;
pub mod chat;
pub mod create;
pub mod definition;
pub mod events;
pub mod list;
pub mod log;
pub mod message;
pub mod output;
pub mod pause;
pub mod report;
pub mod request;
pub mod requests;
pub mod rerun;
pub mod resume;
pub mod search;
pub mod show;

use checkrein_engine::RunView;

use crate::answer::Reply;
use crate::call::Call;
use crate::wire::run::Run;

/// A run as it is answered everywhere: with its version.
fn reply<const STATUS: u16>(call: &Call, view: &RunView) -> Reply<Run, STATUS> {
    Reply::new(Run::of(view, call.engine().now())).at(view.run.state.version).about(&view.run.id)
}

/// A run's own address.
fn path(id: &str) -> String {
    format!("/v1/runs/{id}")
}
