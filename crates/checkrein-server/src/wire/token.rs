//! A token as programs see it, without its secret.

use checkrein_core::principal::Role;
use checkrein_store::TokenRow;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// The one worker it speaks for; null is any
    #[serde(default)]
    pub worker: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl From<&TokenRow> for Token {
    fn from(row: &TokenRow) -> Token {
        Token {
            id: row.id.clone(),
            name: row.principal.name.clone(),
            role: row.principal.role,
            worker: row.principal.worker.clone(),
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        }
    }
}

/// A token that was just made. The secret is shown once and never again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    pub id: String,
    pub name: String,
    pub role: Role,
    /// Its secret, to be sent as `Authorization: Bearer …`
    pub token: String,
    pub expires_at: Option<Timestamp>,
}

impl From<&checkrein_engine::Token> for NewToken {
    fn from(token: &checkrein_engine::Token) -> NewToken {
        NewToken {
            id: token.row.id.clone(),
            name: token.row.principal.name.clone(),
            role: token.row.principal.role,
            token: token.secret.clone(),
            expires_at: token.row.expires_at,
        }
    }
}
