//! A person in a browser: sign in, who am I, sign out.

pub mod begin;
pub mod end;
pub mod end_one;
pub mod list;
pub mod show;

use checkrein_core::principal::{Principal, PrincipalKind, Role};
use schemars::JsonSchema;
use serde::Serialize;

/// Who somebody is to the server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Who {
    pub name: String,
    pub kind: PrincipalKind,
    pub role: Role,
}

impl From<&Principal> for Who {
    fn from(by: &Principal) -> Who {
        Who { name: by.name.clone(), kind: by.kind, role: by.role }
    }
}
