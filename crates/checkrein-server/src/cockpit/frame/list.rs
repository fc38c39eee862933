use checkrein_store::SessionItem;
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, count, empty, next_page, shown};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// So many are shown at once.
const ROWS: usize = 50;

pub fn page() -> Page {
    Page::get("/frames", list)
}

async fn list(visit: Visit) -> Result<View, Problem> {
    let before = visit.query.filled("before").and_then(|before| before.parse().ok());
    let page = visit.engine().frame_sessions(visit.by()?, None, before, ROWS).await?;
    let next = page.next.map(|next| link::with_query("/frames", &[("before", &next.to_string())]));
    let body = html! {
        div class="head" {
            h1 { "Frames" }
            p class="quiet" { "Sessions of agents, each a tree of goals, the newest first." }
        }
        div id="sessions" class="rows" data-region="" {
            @for item in &page.items { (row(&visit, item)) }
            @if page.items.is_empty() { (nothing()) }
        }
        div id="more" data-region="" { (next_page(next, "Show older ones")) }
    };
    Ok(View::new("Frames", body).at(Place::Frames).with_file("frames.js"))
}

fn row(visit: &Visit, item: &SessionItem) -> Markup {
    let goal = item.goal.as_deref().map_or_else(|| "No frame yet".to_owned(), shown);
    html! {
        article class="card run" id={ "s-" (item.id) } data-row="" {
            header { h2 { a href=(link::to(&["frames", &item.id])) data-open="" { (goal) } } }
            p class="meta" {
                code { (item.id) } " · " (count(item.frames, "frame"))
                @if let Some(client) = &item.client { " · " (shown(client)) }
                @if let Some(directory) = &item.directory { " · " (shown(directory)) }
                " · " (ago(item.updated_at, visit.now()))
            }
        }
    }
}

fn nothing() -> Markup {
    empty(
        "No agent keeps frames yet",
        html! {
            p { "In a project: " code { "checkrein init --client claude-code" } " lets Claude Code keep them; "
                code { "checkrein frame push GOAL" } " begins one by hand." }
        },
    )
}
