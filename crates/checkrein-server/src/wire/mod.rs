//! What programs send and get. The command line's `--json` answers have the same shapes.

pub mod activity;
pub mod chat;
pub mod checkpoint;
pub mod diff;
pub mod event;
pub mod expert;
pub mod file;
pub mod forge;
pub mod frame;
pub mod job;
pub mod page;
pub mod policy;
pub mod review;
pub mod round;
pub mod run;
pub mod search;
pub mod session;
pub mod token;
pub mod webhook;
pub mod worker;
pub mod workforce;

/// An object that is described elsewhere, or by its name alone.
pub type Object = serde_json::Map<String, serde_json::Value>;
