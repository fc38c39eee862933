//! Workers that have an entry in the settings: what their policies are.

pub mod list;
pub mod show;
