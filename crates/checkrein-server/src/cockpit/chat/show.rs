//! The conversation about a job as a page of its own.

use checkrein_engine::Act;
use maud::html;

use super::{Talk, of, panel};
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::empty;
use crate::cockpit::run::{chat_tabs, name_of};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/runs/{id}/chat", show).to(Act::ReadChat)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let shown = visit.engine().run(visit.by()?, visit.path("id")).await?;
    let (run, id) = (&shown.run, &shown.run.id);
    let view = if run.job().is_some() { Some(of(&visit, id).await?) } else { None };
    let talk = view.as_ref().map(|view| Talk::about(id, view));
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " a href=(link::run(id.as_str())) { (id) } " / companion" }
            h1 { (name_of(&shown)) }
        }
        (chat_tabs(run))
        @match &talk {
            Some(talk) => { (panel(&visit, talk, &talk.page)) }
            None => { (empty("Only a job has a companion", html! { p { "This is the run of a workflow; its output and its report say what happened." } })) }
        }
    };
    Ok(View::new(format!("Companion of {id}"), body)
        .at(Place::Runs)
        .live(Live::Run(id.to_string()))
        .about(id)
        .with_file("chat.css")
        .with_file("chat.js"))
}
