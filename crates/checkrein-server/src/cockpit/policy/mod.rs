//! What is in force, where it comes from, and what it would decide.

pub mod show;
mod what_if;
