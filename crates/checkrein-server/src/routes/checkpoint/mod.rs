//! Checkpoints: ask, look, wait, discuss, decide.

pub mod changes;
pub mod comment;
pub mod comments;
pub mod create;
pub mod edit;
pub mod file;
pub mod files;
pub mod list;
pub mod mark;
pub mod resolve;
pub mod review;
pub mod rounds;
pub mod settle;
pub mod show;
pub mod verdict;
pub mod wait;
pub mod withdraw;

use checkrein_core::run::RunId;
use checkrein_engine::CheckpointView;

use crate::answer::Reply;
use crate::call::Call;
use crate::wire::checkpoint::WholeCheckpoint;

/// A checkpoint with what it is about, and nothing that is secret of the job it belongs to.
fn reply(call: &Call, view: CheckpointView) -> Reply<WholeCheckpoint> {
    let view = call.engine().redacted_view(view);
    let reply = Reply::new(WholeCheckpoint::from(&view)).at(view.version.0);
    match &view.checkpoint.run {
        Some(run) => reply.about(&RunId::new(run.clone())),
        None => reply,
    }
}

/// A checkpoint's own address.
pub fn path(id: &str) -> String {
    format!("/v1{}", page(id))
}

/// Where a person looks at it.
pub fn page(id: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("/checkpoints/{}", encoded.replace('+', "%20"))
}
