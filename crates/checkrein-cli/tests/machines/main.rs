//! Several machines and one PostgreSQL: servers and workers are killed, stopped and cut off, and every run is
//! done once. A machine is a process with a directory of its own for the files of runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

#[path = "../../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod postgres;

mod copy;
mod cut;
mod forge;
mod jobs;
mod labels;
mod takeover;
mod world;
