use checkrein_core::run::RunId;
use checkrein_engine::Act;
use checkrein_store::CheckpointFilter;
use maud::{Markup, html};

use super::row::row;
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{empty, next_page};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// So many are shown at once; the rest waits behind a link.
const ROWS: usize = 50;

/// The fields of the filter: their names, and what people call them.
const FILTERS: [(&str, &str); 4] =
    [("worker", "Worker or workflow"), ("phase", "Phase"), ("type", "Type"), ("run", "Run")];

pub fn page() -> Page {
    Page::get("/inbox", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let said = |name: &str| visit.query.filled(name).map(str::to_owned);
    let filter = CheckpointFilter {
        worker: said("worker"),
        phase: said("phase"),
        kind: said("type"),
        run: said("run"),
        ..CheckpointFilter::default()
    };
    let filtered = filter != CheckpointFilter::default();
    let after = visit.query.filled("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    let page = visit.engine().inbox(visit.by()?, &filter, after, ROWS).await?;
    let now = visit.now();
    let next = page.next.map(|next| {
        let next = next.to_string();
        let kept = FILTERS.map(|(name, _)| (name, visit.query.filled(name).unwrap_or_default()));
        let query: Vec<(&str, &str)> = kept.into_iter().chain([("after", next.as_str())]).collect();
        link::with_query("/inbox", &query)
    });
    let body = html! {
        div class="head" {
            h1 { "Inbox" }
            p class="quiet" { "Everything that waits for a person, the oldest first." }
        }
        div class="tools" {
            (filters(&visit, filtered))
            @if visit.may(Act::GiveVerdict) { (several(&visit)) }
        }
        div id="waiting" class="rows" data-region="rows" {
            @for waiting in &page.items { (row(&visit, waiting, now)) }
            @if page.items.is_empty() { (nothing(filtered || after > 0)) }
        }
        div id="more" data-region="" { (next_page(next, "Show what came later")) }
    };
    let view = View::new("Inbox", body).at(Place::Inbox).live(Live::Everything);
    let runs = page.items.iter().filter_map(|waiting| waiting.checkpoint.run.clone());
    Ok(runs.fold(view, |view, run| view.about(&RunId::new(run))))
}

fn filters(visit: &Visit, filtered: bool) -> Markup {
    html! {
        details class="filters" open[filtered] {
            summary { "Filter" }
            form method="get" action="/inbox" class="inline" {
                @for (name, label) in FILTERS {
                    label { (label) input name=(name) value=(visit.query.get(name).unwrap_or_default()) data-search=""; }
                }
                button { "Apply" }
                @if filtered { a href="/inbox" { "Show everything" } }
            }
        }
    }
}

/// Decides what is selected: the boxes in the rows belong to this form.
fn several(visit: &Visit) -> Markup {
    html! {
        details class="several" {
            summary { "Decide several at once " span data-selected="" {} }
            form method="post" action="/verdicts" id="several" class="inline" data-in-place="" {
                (visit.proof())
                input type="hidden" name="back" value=(visit.here);
                label { "Why (needed to request changes)" input name="reason" maxlength="4000"; }
                button name="verdict" value="approve" class="good" { "Approve selected" }
                button name="verdict" value="request_changes" { "Request changes" }
                button name="verdict" value="reject" class="bad" { "Reject selected" }
            }
            p class="hint" { "Select entries below. Each verdict is bound to what this page shows." }
        }
    }
}

fn nothing(narrowed: bool) -> Markup {
    if narrowed {
        return empty("Nothing waits here", html! { p { a href="/inbox" { "Show everything that waits" } } });
    }
    empty(
        "Nothing waits for you",
        html! {
            p { "When an agent reaches a point where its policy wants a person, it shows up here at once." }
            p { "To see one: " a href="/jobs/new" { "give an agent a job" } ", or have a worker ask with "
                code { "checkrein checkpoint create" } "." }
        },
    )
}
