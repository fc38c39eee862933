//! The rules of Checkrein, each in one place and pure.
//!
//! Nothing in this crate reads a clock, a file or the environment, makes an id or starts a process.

pub mod activity;
pub mod boundary;
pub mod decision;
pub mod policy;

pub mod classify;
pub mod finding;
pub mod response;
pub mod tally;

pub mod omission;
pub mod plan;
pub mod report;
pub mod run;

pub mod checkpoint;
pub mod deliverable;
pub mod event;
pub mod principal;

pub mod notification;

pub mod companion;

pub mod frame;
pub mod heuristic;

pub mod config;
pub mod document;
pub mod duration;
pub mod label;
pub mod secret;
pub mod shown;
pub mod word_diff;
