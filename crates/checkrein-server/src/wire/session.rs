//! A browser that is signed in, as programs see it.

use checkrein_core::principal::Role;
use checkrein_store::SignedIn;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// The token it lives by; where that is revoked, the session is over
    pub token_id: String,
    /// Whether it is the one that asks
    pub this: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Session {
    pub fn of(found: &SignedIn, own: Option<&str>) -> Session {
        let SignedIn { session, token } = found;
        Session {
            id: session.id.clone(),
            name: token.principal.name.clone(),
            role: token.principal.role,
            token_id: token.id.clone(),
            this: own == Some(session.id.as_str()),
            created_at: session.created_at,
            expires_at: session.expires_at,
            ended_at: session.ended_at,
        }
    }
}
