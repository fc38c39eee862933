//! The binary as people and scripts meet it. One test binary, one file per noun.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod checkpoint;
mod config;
mod demo;
mod docs;
mod doctor;
mod examples;
mod frame;
mod frame_session;
mod job;
mod mcp;
mod place;
mod policy;
mod reading;
mod refused;
mod remote;
mod report;
mod review;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod serve;
mod store;
mod supervisor;
mod terminal;
mod token;
mod verdict;
mod webhook;
