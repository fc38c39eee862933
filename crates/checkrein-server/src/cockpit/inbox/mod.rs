//! The inbox: everything that waits for a person, the oldest first.

mod row;
pub mod show;
