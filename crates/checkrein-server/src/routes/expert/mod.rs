//! Experts: reusable job configurations.

pub mod list;
pub mod show;
