//! How the two processes of a sandbox are called.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::error::SandboxError;
use super::{Namespaces, Sandbox};

/// What the inner process is told by the outer one.
#[derive(Serialize, Deserialize)]
pub(super) struct Inner {
    pub sandbox: Sandbox,
    pub namespaces: Namespaces,
    /// Whether a cgroup keeps the limits.
    pub in_cgroup: bool,
    /// The descriptor by which it says that the command was ended by a signal.
    pub status: i32,
}

/// Takes `JSON [-- COMMAND…]` apart.
pub(super) fn parse<T: for<'a> Deserialize<'a>>(
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<(T, Vec<OsString>), SandboxError> {
    let json = arguments.next().and_then(|json| json.into_string().ok()).ok_or(SandboxError::NoCall)?;
    let told = serde_json::from_str(&json).map_err(|_| SandboxError::NoCall)?;
    match arguments.next() {
        None => Ok((told, Vec::new())),
        Some(dashes) if dashes == "--" => {
            let argv: Vec<OsString> = arguments.collect();
            if argv.is_empty() { Err(SandboxError::NoCall) } else { Ok((told, argv)) }
        }
        Some(_) => Err(SandboxError::NoCall),
    }
}
