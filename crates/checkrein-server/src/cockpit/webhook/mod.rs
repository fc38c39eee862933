//! Who is told what happens.

pub mod change;
pub mod create;
pub mod list;
pub mod show;
