//! In and out.

pub mod begin;
pub mod end;
pub mod start;
