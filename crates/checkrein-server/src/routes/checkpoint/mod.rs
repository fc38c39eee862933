//! Checkpoints: ask, look, wait, discuss, decide.

pub mod comment;
pub mod comments;
pub mod create;
pub mod list;
pub mod mark;
pub mod review;
pub mod show;
pub mod verdict;
pub mod wait;
pub mod withdraw;

/// A checkpoint's own address.
fn path(id: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("/v1/checkpoints/{}", encoded.replace('+', "%20"))
}
