//! What forges tell.

pub mod hook;
