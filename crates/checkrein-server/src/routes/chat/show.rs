use checkrein_engine::{Act, ChatOf};

use super::Wanted;
use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::chat::Chat;

pub fn route() -> Route {
    Route::get("/v1/chats/{id}", show)
        .about("showChat", "A conversation that prepares a job; whoever began it and administrators see it")
        .to(Act::ReadChat)
        .refuses(&[Kind::NotFound])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Chat>, Problem> {
    let (after, limit) = wanted.part();
    let of = ChatOf::Chat(call.path("id").to_owned());
    let view = call.engine().chat(call.by()?, &of, after, limit).await?;
    let run = view.run.clone();
    let reply = Reply::new(Chat::from(view));
    Ok(match run {
        Some(run) => reply.about(&run),
        None => reply,
    })
}
