use checkrein_core::principal::{PrincipalKind, Role};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Created;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::token::NewToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What its bearer may do
    pub role: Role,
    /// Whose it is; verdicts are recorded under this name
    #[schemars(length(min = 1))]
    pub name: String,
    /// How long it is good for, such as 30d; for ever if nothing is said
    #[schemars(regex(pattern = checkrein_core::duration::PATTERN))]
    pub expires: Option<String>,
    /// The one worker it speaks for, whose policy counts then; any if nothing is said
    pub worker: Option<String>,
}

pub fn route() -> Route {
    Route::post("/v1/tokens", create)
        .about("createToken", "Make a token; its secret is shown once, so the answer is not kept for a key")
        .to(Act::ManageTokens)
        .shows_secret()
}

async fn create(call: Call, Json(wanted): Json<Wanted>) -> Result<Created<NewToken>, Problem> {
    Ok(Created::new(made(&call, wanted).await?))
}

pub async fn made(call: &Call, wanted: Wanted) -> Result<NewToken, Problem> {
    let length = wanted.expires.as_deref().map(|text| {
        checkrein_core::duration::parse(text).ok_or_else(|| {
            Problem::new(Kind::Invalid, "`expires` is not a length of time")
                .hint("write it such as 30d or 12h")
        })
    });
    // A time too far away to be told must not become no end at all.
    let end = |length| {
        let far = |_| Problem::new(Kind::Invalid, "`expires` is further away than times go");
        call.engine().now().checked_add(length).map_err(far)
    };
    let expires_at = length.transpose()?.map(end).transpose()?;
    let new = checkrein_engine::NewToken {
        name: wanted.name,
        kind: PrincipalKind::of_role(wanted.role),
        role: wanted.role,
        expires_at,
        worker: wanted.worker,
    };
    let token = call.engine().create_token(call.by()?, new).await?;
    Ok(NewToken::from(&token))
}
