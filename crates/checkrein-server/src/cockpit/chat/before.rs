//! A conversation before there is a job: it is part of the form that gives one.

use checkrein_engine::{Act, ChatOf};

use crate::chat;
use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// An address that is good before there is a job and after.
pub fn page() -> Page {
    Page::get("/chats/{id}", show).to(Act::ReadChat)
}

/// The first question.
pub fn begin_page() -> Page {
    Page::post("/chats", begin).to(Act::Ask)
}

pub fn ask_page() -> Page {
    Page::post("/chats/{id}", ask).to(Act::Ask)
}

/// The form with this conversation beside it.
pub fn address(chat: &str) -> String {
    link::with_query("/jobs/new", &[("chat", chat)])
}

/// Where a conversation is once its job was given.
pub fn given(run: &str) -> See {
    See::to(link::to(&["runs", run, "chat"]))
        .saying(Said::well("The job was given. The conversation goes on here."))
}

async fn show(visit: Visit) -> Result<See, Problem> {
    let id = visit.path("id").to_owned();
    let view = visit.engine().chat(visit.by()?, &ChatOf::Chat(id.clone()), 0, 1).await?;
    Ok(match view.run {
        Some(run) => given(run.as_str()),
        None => See::to(address(&id)),
    })
}

async fn begin(visit: Visit) -> Result<See, Problem> {
    let begun = visit.engine().begin_chat(visit.by()?, visit.call.nonce()).await?;
    asked(&visit, begun.id.unwrap_or_default()).await
}

async fn ask(visit: Visit) -> Result<See, Problem> {
    asked(&visit, visit.path("id").to_owned()).await
}

/// Without a script: the page comes back when the answer is there.
async fn asked(visit: &Visit, id: String) -> Result<See, Problem> {
    chat::answered(&visit.call, ChatOf::Chat(id.clone()), super::ask::question(visit).to_owned()).await?;
    Ok(See::to(format!("{}#chat", address(&id))))
}
