use checkrein_engine::{Act, ChatOf};

use crate::chat;
use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/runs/{id}/chat", ask).to(Act::Ask)
}

/// Without a script: the page comes back when the answer is there.
async fn ask(visit: Visit) -> Result<See, Problem> {
    let run = visit.path("id").to_owned();
    chat::answered(&visit.call, ChatOf::Run(run.clone()), question(&visit).to_owned()).await?;
    let page = link::to(&["runs", &run, "chat"]);
    Ok(See::to(format!("{}#chat", visit.back(&page))))
}

/// One of those that are there, or what was written.
pub fn question(visit: &Visit) -> &str {
    visit.form.filled("question").or_else(|| visit.form.filled("text")).unwrap_or_default()
}
