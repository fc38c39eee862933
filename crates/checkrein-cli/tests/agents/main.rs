//! Agents as people meet them: jobs and steps by the binary itself, by the built-in agent with a model on loopback, and
//! by programs that stand in for those of others.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used, reason = "tests")]

mod budget;
mod builtin;
mod datasource;
mod found;
mod live;
mod place;
mod preset;
mod trouble;

#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../../../checkrein-store/tests/shared/postgres.rs"]
mod postgres;
