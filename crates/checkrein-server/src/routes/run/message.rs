use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Created;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::review::Comment;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    /// What the agent is to hear
    #[schemars(length(min = 1))]
    text: String,
}

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/message", send)
        .about(
            "sendMessage",
            "Say something to the agent of a job: it hears it at its next turn while it works, else with its next brief",
        )
        .to(Act::Comment)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::RunRefused])
}

async fn send(call: Call, Json(message): Json<Message>) -> Result<Created<Comment>, Problem> {
    let (_, said) = call.engine().send_message(call.by()?, call.path("id"), &message.text).await?;
    Ok(Created::new(Comment::from(&said)))
}
