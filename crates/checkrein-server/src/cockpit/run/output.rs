use checkrein_engine::Act;
use maud::html;

use super::{Tab, name_of, tabs};
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{empty, passage, shown};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// What is shown of one stream; the rest can be fetched.
const CHARS: usize = 200_000;

pub fn page() -> Page {
    Page::get("/runs/{id}/output", show).to(Act::Read)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let view = visit.engine().run(by, visit.path("id")).await?;
    let id = &view.run.id;
    let outputs = visit.engine().run_output(by, id.as_str(), visit.query.filled("step")).await?;
    let name = name_of(&view);
    let text = |bytes: &[u8]| {
        let text = checkrein_core::activity::told(&String::from_utf8_lossy(bytes));
        let from = text.char_indices().rev().nth(CHARS).map_or(0, |(at, _)| at);
        shown(text.get(from..).unwrap_or_default())
    };
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " a href=(link::run(id.as_str())) { (id) } " / output" }
            h1 { (name) }
            a href=(format!("/v1/runs/{id}/output")) { "As plain text" }
        }
        (tabs(&view.run, Tab::Output))
        div id="works" data-region="" {
            @if view.run.state.under_way.is_some() {
                p class="meta" data-works="" { "An agent or a step works. What it writes shows up here." }
            }
        }
        div id="outputs" data-region="rows" {
            @if outputs.is_empty() {
                (empty("Nothing was written yet", html! { p { "What steps and agents write shows up here while they work." } }))
            }
            @for output in &outputs {
                section class="card" data-key={ (output.task) "#" (output.attempt) } data-stays="" {
                    h2 { (shown(&output.task)) @if output.attempt > 1 { ", attempt " (output.attempt) } }
                    @if output.stdout.is_empty() && output.stderr.is_empty() { p class="quiet" { "It wrote nothing." } }
                    @if !output.stdout.is_empty() { (passage(&format!("Output of {}", shown(&output.task)), "", text(&output.stdout))) }
                    @if !output.stderr.is_empty() {
                        h3 { "Standard error" }
                        (passage(&format!("Standard error of {}", shown(&output.task)), "stderr", text(&output.stderr)))
                    }
                }
            }
        }
    };
    Ok(View::new(format!("Output of {name}"), body)
        .at(Place::Runs)
        .live(Live::Run(id.to_string()))
        .about(id)
        .full_width())
}
