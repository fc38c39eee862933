//! Tokens: how a program proves who it acts for. Only their hashes are stored.

use checkrein_core::config::Reviewer;
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_core::shown::hides_something;
use checkrein_store::TokenRow;
use jiff::Timestamp;
use uuid::Uuid;

use crate::authority::{Act, require};
use crate::{Engine, EngineError};

#[derive(Clone, Debug)]
pub struct NewToken {
    pub name: String,
    pub kind: PrincipalKind,
    pub role: Role,
    pub expires_at: Option<Timestamp>,
    /// The one worker its bearer speaks for; none is any.
    pub worker: Option<String>,
}

/// A token that was just made. The secret is shown once and never again.
#[derive(Clone, Debug)]
pub struct Token {
    pub row: TokenRow,
    pub secret: String,
}

/// How a secret begins, and how many digits follow.
pub const PREFIX: &str = "chk_";
pub(crate) const SECRET_DIGITS: usize = 64;

impl Engine {
    pub async fn create_token(&self, by: &Principal, new: NewToken) -> Result<Token, EngineError> {
        require(by, Act::ManageTokens)?;
        if new.name.trim().is_empty() {
            return Err(EngineError::Empty("name"));
        }
        if hides_something(&new.name) {
            return Err(EngineError::Invisible("name"));
        }
        if let Some(worker) = &new.worker {
            if worker.trim().is_empty() {
                return Err(EngineError::Empty("worker"));
            }
            if hides_something(worker) {
                return Err(EngineError::Invisible("worker"));
            }
        }
        // A verdict under this name says that nobody looked (C11).
        if new.name == Reviewer::AutoApprove.name() {
            return Err(EngineError::ReservedName(new.name));
        }
        // Two random UUIDs carry 244 random bits.
        let secret = format!("{PREFIX}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let row = TokenRow {
            id: Uuid::new_v4().simple().to_string().chars().take(12).collect(),
            principal: Principal { worker: new.worker, ..Principal::new(new.name, new.kind, new.role) },
            created_at: self.now(),
            expires_at: new.expires_at,
            revoked_at: None,
        };
        self.store.add_token(row.clone(), Digest::of(secret.as_bytes())).await?;
        Ok(Token { row, secret })
    }

    pub async fn tokens(&self, by: &Principal) -> Result<Vec<TokenRow>, EngineError> {
        require(by, Act::ManageTokens)?;
        Ok(self.store.tokens().await?)
    }

    /// Makes a token worthless; the token as it is now.
    pub async fn revoke_token(&self, by: &Principal, id: &str) -> Result<TokenRow, EngineError> {
        require(by, Act::ManageTokens)?;
        let none = || EngineError::NoToken(id.to_owned());
        self.store.token_named(id).await?.ok_or_else(none)?;
        self.store.revoke_token(id.to_owned(), self.now()).await?;
        self.store.token_named(id).await?.ok_or_else(none)
    }

    /// Whether somebody was given the role of an administrator, and still has it.
    pub async fn has_administrator(&self) -> Result<bool, EngineError> {
        let now = self.now();
        let good = |token: &TokenRow| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|expires| expires > now)
        };
        let tokens = self.store.tokens().await?;
        Ok(tokens.iter().any(|token| token.principal.role == Role::Admin && good(token)))
    }

    /// Who a secret belongs to.
    pub async fn authenticate(&self, secret: &str) -> Result<Principal, EngineError> {
        let found = self.store.token(&Digest::of(secret.trim().as_bytes())).await?;
        let row = self.good(found)?;
        Ok(Principal { token: Some(row.id), ..row.principal })
    }

    /// Refuses whoever was known by a token that is no longer good: what goes on for long asks again.
    pub async fn still_authentic(&self, by: &Principal) -> Result<(), EngineError> {
        match &by.token {
            Some(id) => match self.still_attempted(id).await {
                Some(known) => known,
                None => self.good(self.store.token_named(id).await?).map(|_| ()),
            },
            None => Ok(()),
        }
    }

    pub(crate) fn good(&self, found: Option<TokenRow>) -> Result<TokenRow, EngineError> {
        let row = found.ok_or(EngineError::BadToken("nobody knows it"))?;
        if row.revoked_at.is_some() {
            return Err(EngineError::BadToken("it was revoked"));
        }
        if row.expires_at.is_some_and(|expires| expires <= self.now()) {
            return Err(EngineError::BadToken("it has expired"));
        }
        Ok(row)
    }
}
