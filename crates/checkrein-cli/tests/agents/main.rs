//! The built-in agent, as people meet it: jobs and steps by the binary itself, with a model on loopback.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used, reason = "tests")]

mod budget;
mod builtin;
mod live;
mod place;
mod trouble;
