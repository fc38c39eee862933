use checkrein_engine::EventsOf;
use checkrein_store::{Position, StoredEvent};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{Tab, tabs};
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, empty, next_page, passage, shown};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::wire::event::Event;

const ROWS: usize = 200;
/// Read from the store at once.
pub const READ_AT_ONCE: usize = 500;

pub fn page() -> Page {
    Page::get("/runs/{id}/audit", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let id = visit.engine().run_id(by, visit.path("id")).await?;
    let wanted = visit.query.filled("q").unwrap_or_default().to_owned();
    let after = visit.query.filled("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    let (rows, next) = found(&visit, &id, &wanted.to_lowercase(), Position(after)).await?;
    let now = visit.now();
    let path = link::to(&["runs", &id, "audit"]);
    let next = next.map(|next| link::with_query(&path, &[("q", &wanted), ("after", &next.to_string())]));
    let run = visit.engine().run(by, &id).await?.run;
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " a href=(link::run(&id)) { (id) } " / audit" }
            h1 { "Audit" }
            a class="button" href=(link::to(&["runs", &id, "audit.jsonl"])) download="" { "Download all as JSON lines" }
        }
        (tabs(&run, Tab::Audit))
        form method="get" action=(path) class="inline" role="search" {
            label { "Search in the events" input type="search" name="q" value=(wanted) data-search=""; }
            button { "Search" }
            @if !wanted.is_empty() { a href=(path) { "Show all" } }
        }
        div id="events" data-region="rows" {
            @if rows.is_empty() {
                (empty("No such events", html! { p { "Events hold what was done, by whom and why. Search for a name, a word or a kind of event." } }))
            }
            @for row in &rows { (event(row, now)) }
        }
        div id="more" data-region="" { (next_page(next, "Later events")) }
    };
    let view = View::new(format!("Audit of {id}"), body).at(Place::Runs).live(Live::Run(id)).about(&run.id);
    Ok(view.full_width())
}

/// The next events with this in them, and where to go on.
async fn found(
    visit: &Visit,
    id: &str,
    wanted: &str,
    mut after: Position,
) -> Result<(Vec<Event>, Option<i64>), Problem> {
    let of = EventsOf::Run(id.to_owned());
    let mut rows = Vec::new();
    loop {
        let events = visit.engine().events(visit.by()?, &of, after, READ_AT_ONCE).await?;
        let read = events.len();
        for stored in &events {
            after = stored.position;
            let event = Event::from(stored);
            if wanted.is_empty() || text(&event).to_lowercase().contains(wanted) {
                rows.push(event);
            }
            if rows.len() == ROWS {
                return Ok((rows, Some(after.0)));
            }
        }
        if read < READ_AT_ONCE {
            return Ok((rows, None));
        }
    }
}

/// Everything an event says, on a line.
pub fn line(stored: &StoredEvent) -> String {
    text(&Event::from(stored))
}

fn text(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

fn event(event: &Event, now: Timestamp) -> Markup {
    let kind = event.said.get("event").and_then(serde_json::Value::as_str).unwrap_or("event");
    let by = event.said.get("by").and_then(serde_json::Value::as_str);
    let pretty = serde_json::to_string_pretty(&event.said).unwrap_or_default();
    html! {
        details class="card event" id={ "p-" (event.position) } data-key=(event.position) data-stays="" {
            summary {
                code { (event.position) } " "
                strong { (shown(&kind.replace('_', " "))) }
                @if let Some(by) = by { " by " (shown(by)) }
                @if let Some(checkpoint) = &event.checkpoint_id { span class="meta" { " at " (shown(checkpoint)) } }
                " " (ago(event.at, now))
            }
            (passage("The event", "text", shown(&pretty)))
        }
    }
}
