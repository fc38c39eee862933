//! Who comes in to the pages, and whether a form was sent by one of them.

use std::net::IpAddr;

use axum::http::request::Parts;
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_store::SessionRow;

use super::fields::Fields;
use crate::app::App;
use crate::door::{Credentials, same_site};
use crate::error::{Kind, Problem};
use crate::session;

/// Somebody with a session.
#[derive(Clone, Debug)]
pub struct Guest {
    pub by: Principal,
    pub session: SessionRow,
}

/// Who visits. A session that is over is nobody.
pub async fn guest(app: &App, parts: &Parts, peer: Option<IpAddr>) -> Result<Option<Guest>, Problem> {
    let Some(secret) = session::shown(&parts.headers, app.transport()) else { return Ok(None) };
    match app.signed_in(secret, peer).await {
        Ok((by, session)) => Ok(Some(Guest { by, session })),
        Err(problem) if problem.kind == Kind::Unauthenticated => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Refuses a form that no page of ours sent.
pub fn sent_from_here(parts: &Parts, guest: Option<&Guest>) -> Result<(), Problem> {
    let credentials = if guest.is_some() { Credentials::Cookie } else { Credentials::None };
    same_site(parts, credentials)
}

/// Refuses a change that shows nothing but the cookie, which every port of the host may get. A form shows
/// the secret that the page keeps in its own storage; without a script a person shows their token again.
pub async fn may_change(
    app: &App,
    guest: &Guest,
    form: &Fields,
    peer: Option<IpAddr>,
) -> Result<(), Problem> {
    let proof = form.get("proof").unwrap_or_default();
    if Digest::of(proof.as_bytes()) == guest.session.for_changes {
        return Ok(());
    }
    if let Some(token) = form.filled("token") {
        let by = app.authenticate(token, peer).await?;
        if by.name == guest.by.name && by.role == guest.by.role {
            return Ok(());
        }
        return Err(Problem::new(Kind::CrossSite, "the token is somebody else's")
            .hint(format!("it takes one of {}", guest.by.name)));
    }
    Err(Problem::new(Kind::CrossSite, "the form does not show that this browser signed in here")
        .hint("sign out and in again; a browser that forgets what pages store has to do so every time"))
}
