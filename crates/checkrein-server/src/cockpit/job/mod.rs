//! Giving an agent a job.

pub mod create;
pub mod new;
