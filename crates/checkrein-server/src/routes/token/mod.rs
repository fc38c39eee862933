//! Tokens by which programs prove who they act for.

pub mod create;
pub mod list;
pub mod revoke;
