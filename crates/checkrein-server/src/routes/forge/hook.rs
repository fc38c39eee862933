use axum::http::HeaderName;
use checkrein_engine::HintError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Reply;
use crate::ask::Raw;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::{Access, Route};

/// A webhook that was taken.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hinted {
    /// How many jobs are looked at because of it
    pub jobs: usize,
}

/// What forges sign with; the first is what most of them know.
const SIGNATURES: [&str; 3] = ["x-hub-signature-256", "x-forgejo-signature", "x-gitea-signature"];
/// A forge tells a lot about what happened.
const BODY_BYTES_MAX: usize = 4 << 20;

pub fn route() -> Route {
    Route::post("/v1/forges/hook", hook)
        .about(
            "hintOfForge",
            "For the forge in the settings: that something happened there, signed with the secret that is agreed on. Jobs in that repository are looked at; nothing else in it is believed",
        )
        .access(Access::Open)
        .changes_nothing()
        .body_bytes_max(BODY_BYTES_MAX)
        .refuses(&[Kind::Unauthenticated, Kind::NotFound, Kind::Invalid])
}

async fn hook(call: Call, body: Raw) -> Result<Reply<Hinted>, Problem> {
    let signature = SIGNATURES.iter().find_map(|name| call.header(HeaderName::from_static(name)));
    let jobs = call.engine().hint_of_forge(signature, &body.0).map_err(|error| {
        let kind = match error {
            HintError::NotSetUp => Kind::NotFound,
            HintError::NotSigned => Kind::Unauthenticated,
            HintError::NoRepository => Kind::Invalid,
        };
        Problem::new(kind, error.to_string()).hint("docs/forges.md says how a webhook is set up")
    })?;
    if let Some(workers) = call.app.workers() {
        workers.wake();
    }
    Ok(Reply::new(Hinted { jobs }))
}
