use checkrein_engine::Act;

use crate::answer::Created;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::chat::Chat;

pub fn route() -> Route {
    Route::post("/v1/chats", begin)
        .about(
            "beginChat",
            "Begin a conversation that prepares a job; it goes on in the job that names it as its `chat`",
        )
        .to(Act::Ask)
}

async fn begin(call: Call, _: Nothing) -> Result<Created<Chat>, Problem> {
    let begun = Chat::from(call.engine().begin_chat(call.by()?, call.nonce()).await?);
    let place = format!("/v1/chats/{}", begun.id.as_deref().unwrap_or_default());
    Ok(Created::new(begun).location(place))
}
