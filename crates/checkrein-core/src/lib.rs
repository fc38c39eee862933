//! The rules of Checkrein, each in one place and pure.
//!
//! Nothing in this crate reads a clock, a file or the environment, makes an id or starts a process.

pub mod frame;
pub mod heuristic;
