//! Sessions: a browser that is signed in. Its cookie is no token: it shows what its token shows, and a
//! change takes a second secret, which only pages of the same origin can keep. Browsers send a cookie to
//! every port of a host, so whoever serves another one gets it; the second secret stays.

use std::time::Duration;

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_store::{Page, SessionRow, SignedIn};
use jiff::Timestamp;
use uuid::Uuid;

use crate::authority::{Act, allowed, require};
use crate::{Engine, EngineError, NewToken};

/// How long a session that is over can be looked up.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A session that was just begun. Its secrets are shown once and never again.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub by: Principal,
    pub id: String,
    pub expires_at: Timestamp,
    /// For the cookie.
    pub secret: String,
    /// What every change has to show beside the cookie.
    pub for_changes: String,
}

/// Whom a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOf {
    /// A token was shown, and goes on without the session.
    Token,
    /// Somebody this machine knows; a token is made for the session and ends with it.
    Person,
}

impl Engine {
    /// Begins a session for somebody.
    pub async fn begin_session(
        &self,
        by: &Principal,
        of: SessionOf,
        length: Duration,
    ) -> Result<NewSession, EngineError> {
        let now = self.now();
        let expires_at = now.checked_add(length).unwrap_or(Timestamp::MAX);
        let token = match (of, &by.token) {
            (SessionOf::Token, Some(token)) => token.clone(),
            (SessionOf::Token, None) => return Err(EngineError::BadToken("there is none")),
            (SessionOf::Person, _) => {
                let new = NewToken {
                    name: by.name.clone(),
                    kind: by.kind,
                    role: by.role,
                    expires_at: Some(expires_at),
                    worker: by.worker.clone(),
                };
                self.create_token(by, new).await?.row.id
            }
        };
        let (secret, for_changes) = (secret(), secret());
        let row = SessionRow {
            number: 0,
            id: Uuid::new_v4().simple().to_string().chars().take(12).collect(),
            token: token.clone(),
            owns_token: of == SessionOf::Person,
            for_changes: Digest::of(for_changes.as_bytes()),
            created_at: now,
            expires_at,
            ended_at: None,
        };
        let id = row.id.clone();
        let old_before = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        self.store.add_session(row, Digest::of(secret.as_bytes()), old_before).await?;
        let by = Principal { token: Some(token), ..by.clone() };
        Ok(NewSession { by, id, expires_at, secret, for_changes })
    }

    /// Whose session a secret belongs to.
    pub async fn session(&self, secret: &str) -> Result<(Principal, SessionRow), EngineError> {
        self.open(self.store.session(&Digest::of(secret.as_bytes())).await?)
    }

    /// Refuses whoever was known by a session that is over: what goes on for long asks again.
    pub async fn still_signed_in(&self, id: &str) -> Result<(), EngineError> {
        self.open(self.store.session_named(id).await?).map(|_| ())
    }

    /// The sessions of somebody's name; whoever manages tokens sees everybody's.
    pub async fn sessions(
        &self,
        by: &Principal,
        after: i64,
        limit: usize,
    ) -> Result<Page<SignedIn>, EngineError> {
        let of = (!allowed(by.role, Act::ManageTokens)).then_some(by.name.as_str());
        let mut page = self.store.sessions(of, self.now(), after, limit).await?;
        page.items.retain(|found| own(by, found) || of.is_none());
        Ok(page)
    }

    /// Ends a session: one's own, or anybody's for whoever manages tokens. The session as it is now.
    pub async fn end_session(&self, by: &Principal, id: &str) -> Result<SignedIn, EngineError> {
        let none = || EngineError::NoSession(id.to_owned());
        let found = self.store.session_named(id).await?.ok_or_else(none)?;
        if !own(by, &found) {
            require(by, Act::ManageTokens).map_err(|_| none())?;
        }
        self.store.end_session(id.to_owned(), self.now()).await?;
        self.store.session_named(id).await?.ok_or_else(none)
    }

    fn open(&self, found: Option<SignedIn>) -> Result<(Principal, SessionRow), EngineError> {
        let SignedIn { session, token } = found.ok_or(EngineError::UnknownSession)?;
        if session.ended_at.is_some() {
            return Err(EngineError::BadSession("it was ended"));
        }
        if session.expires_at <= self.now() {
            return Err(EngineError::BadSession("it is over"));
        }
        let token = self.good(Some(token)).map_err(|error| match error {
            EngineError::BadToken(_) => EngineError::BadSession("its token is not good any more"),
            other => other,
        })?;
        Ok((Principal { token: Some(token.id), ..token.principal }, session))
    }
}

/// The same name in another role is somebody else.
fn own(by: &Principal, found: &SignedIn) -> bool {
    let of = &found.token.principal;
    (&of.name, of.role, of.kind) == (&by.name, by.role, by.kind)
}

/// Two random UUIDs carry 244 random bits.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
