//! Every route over a real connection and a real store. One test binary; its files are those of the
//! routes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may fail like tests"
)]

mod authorization;
mod chat;
mod checkpoint;
mod cockpit;
mod docs;
mod door;
mod event;
mod expert;
mod forge;
mod frame;
mod git;
mod job;
mod keyed;
mod mcp;
mod openapi;
mod place;
mod policy;
mod proposal;
mod run;
mod session;
mod suggestion;
mod system;
mod token;
mod verdict;
mod webhook;
mod worker;
