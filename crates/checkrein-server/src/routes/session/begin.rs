use axum::http::header;
use checkrein_engine::NewToken;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Who;
use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::{Access, Route};
use crate::session::{MadeFor, SESSION_MAX, Session};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum Proof {
    /// What stands behind `#` in the link the server printed; it works once
    Link(String),
    /// A token
    Token(String),
}

pub fn route() -> Route {
    Route::post("/v1/session", begin)
        .about("beginSession", "Sign a browser in; the answer sets a cookie no script can read")
        .access(Access::Open)
        .shows_secret()
        .refuses(&[Kind::Unauthenticated])
}

async fn begin(call: Call, Json(proof): Json<Proof>) -> Result<Reply<Who>, Problem> {
    let engine = call.engine();
    let (by, session) = match proof {
        Proof::Link(secret) => {
            let by = call.app.links().take(secret.trim(), engine.now());
            let by = by.ok_or_else(|| {
                Problem::new(Kind::Unauthenticated, "the link is not valid: it works once, and for an hour")
                    .hint("start the server again for a new one, or sign in with a token")
            })?;
            let expires_at = engine.now().checked_add(SESSION_MAX).ok();
            let new = NewToken { name: by.name.clone(), kind: by.kind, role: by.role, expires_at };
            let token = engine.create_token(&by, new).await?;
            (by, Session { secret: token.secret, made_for: MadeFor::Session })
        }
        Proof::Token(secret) => {
            let secret = secret.trim().to_owned();
            let by = call.app.authenticate(&secret, call.peer()).await?;
            (by, Session { secret, made_for: MadeFor::Bearer })
        }
    };
    let cookie = session.cookie(SESSION_MAX, call.app.transport())?;
    Ok(Reply::new(Who::from(&by)).header(header::SET_COOKIE, cookie))
}
