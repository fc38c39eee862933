//! MCP over HTTP.

/// The sessions.
#[derive(Default)]
pub struct Sessions;
