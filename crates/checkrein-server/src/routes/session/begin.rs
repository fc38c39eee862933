use axum::http::{HeaderValue, header};
use checkrein_core::principal::Principal;
use checkrein_engine::{NewSession, SessionOf};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Who;
use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::{Access, Route};
use crate::session::{self, SESSION_MAX};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Proof {
    /// What stands behind `#` in the link the server printed; it works once
    Link(String),
    /// A token
    Token(String),
}

/// A session that was just begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Begun {
    #[serde(flatten)]
    who: Who,
    /// By which it can be ended elsewhere
    session_id: String,
    expires_at: Timestamp,
    /// What every change has to send as `X-CSRF-Token`; it is shown once, and kept by the page in storage
    /// of its origin
    csrf_token: String,
}

pub fn route() -> Route {
    Route::post("/v1/session", begin)
        .about("beginSession", "Sign a browser in; the answer sets a cookie no script can read")
        .access(Access::Open)
        .shows_secret()
        .refuses(&[Kind::Unauthenticated])
}

async fn begin(call: Call, Json(proof): Json<Proof>) -> Result<Reply<Begun>, Problem> {
    let SignedIn { by, session, cookie } = signed_in(&call, proof).await?;
    let begun = Begun {
        who: Who::from(&by),
        session_id: session.id,
        expires_at: session.expires_at,
        csrf_token: session.for_changes,
    };
    Ok(Reply::new(begun).header(header::SET_COOKIE, cookie))
}

/// Somebody who proved who they are, and the cookie of their session.
pub struct SignedIn {
    pub by: Principal,
    pub session: NewSession,
    pub cookie: HeaderValue,
}

pub async fn signed_in(call: &Call, proof: Proof) -> Result<SignedIn, Problem> {
    let engine = call.engine();
    let (by, of) = match proof {
        Proof::Link(secret) => {
            let by = call.app.links().take(secret.trim(), engine.now());
            let by = by.ok_or_else(|| {
                Problem::new(Kind::Unauthenticated, "the link is not valid: it works once, and for an hour")
                    .hint("start the server again for a new one, or sign in with a token")
            })?;
            (by, SessionOf::Person)
        }
        Proof::Token(secret) => (call.app.authenticate(secret.trim(), call.peer()).await?, SessionOf::Token),
    };
    let session = engine.begin_session(&by, of, SESSION_MAX).await?;
    let cookie = session::begun(call.headers(), &session.secret, call.app.transport())?;
    Ok(SignedIn { by, session, cookie })
}
