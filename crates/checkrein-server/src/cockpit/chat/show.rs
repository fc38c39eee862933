//! The conversation about a job as a page of its own.

use checkrein_core::run::RunId;
use checkrein_engine::Act;
use maud::html;

use super::{address, of, panel};
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::empty;
use crate::cockpit::run::chat_tabs;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/runs/{id}/chat", show).to(Act::ReadChat)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let id = visit.engine().run_id(visit.by()?, visit.path("id")).await?;
    let run = RunId::new(id.clone());
    let is_job = visit.engine().run(visit.by()?, &id).await?.run.job().is_some();
    let view = if is_job { Some(of(&visit, &run).await?) } else { None };
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " a href=(link::run(&id)) { (id) } " / companion" }
            h1 { "Companion" }
        }
        (chat_tabs(&run))
        @match &view {
            Some(view) => { (panel(&visit, &run, view, &address(&run))) }
            None => { (empty("Only a job has a companion", html! { p { "This is the run of a workflow; its output and its report say what happened." } })) }
        }
    };
    Ok(View::new(format!("Companion of {id}"), body)
        .at(Place::Runs)
        .about(&run)
        .with_file("chat.css")
        .with_file("chat.js"))
}
