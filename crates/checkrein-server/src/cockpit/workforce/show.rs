use checkrein_engine::{Hand, Workforce, host_name};
use jiff::Timestamp;
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, count, duration, empty, shown};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/workers", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let found = visit.engine().workforce(visit.by()?).await?;
    let now = visit.now();
    let body = html! {
        div class="head" {
            h1 { "Workers" }
            p class="quiet" { "Processes that go on with runs, on every machine that uses this store." }
        }
        div id="queue" data-region="" { (queue(&found)) }
        div id="hands" class="rows" data-region="" {
            @for hand in &found.hands { (row(hand, now)) }
            @if found.hands.is_empty() {
                (empty("Nobody goes on with runs", html! {
                    p { "Start " code { "checkrein worker" } " on a machine that reaches the store, or " code { "checkrein serve" } " without " code { "--no-worker" } "." }
                }))
            }
        }
    };
    Ok(View::new("Workers", body).at(Place::Workers).live(Live::Everything))
}

fn queue(found: &Workforce) -> Markup {
    let longest = u64::try_from(found.longest.as_millis()).unwrap_or(u64::MAX);
    html! {
        @if found.waiting == 0 {
            p class="quiet" { "No run waits for a worker." }
        } @else {
            p { (count(found.waiting, "run")) (if found.waiting == 1 { " waits" } else { " wait" }) " for a worker, the first for " (duration(longest)) "." }
        }
        @for stuck in &found.stuck {
            p class="notice" { "Nobody takes " (count(stuck.count, "run")) ": " (shown(&stuck.why)) }
        }
    }
}

fn row(hand: &Hand, now: Timestamp) -> Markup {
    html! {
        article class="card run" data-row="" data-key=(hand.id) {
            header {
                h2 { (shown(&hand.name)) }
                @if hand.alive { span class="badge good" { "alive" } } @else { span class="badge bad" { "gone" } }
            }
            p class="meta" {
                "on " (shown(host_name(&hand.host)))
                @match hand.runs {
                    Some(runs) => { " · " (hand.holds.len()) " of " (count(u64::from(runs), "run")) }
                    None => { " · at a terminal" }
                }
                @if !hand.labels.is_empty() { " · has " (shown(&hand.labels.join(", "))) }
                @if let Some(at) = hand.started_at { " · started " (ago(at, now)) }
                @if let Some(at) = hand.seen_at.filter(|_| !hand.alive) { " · last seen " (ago(at, now)) }
            }
            @if !hand.holds.is_empty() {
                ul {
                    @for held in &hand.holds {
                        li {
                            a href=(link::to(&["runs", held.run.as_str()])) data-open="" { (held.run) }
                            @if let Some(holder) = &held.holder { span class="quiet" { " since " (ago(holder.taken_at, now)) } }
                        }
                    }
                }
            }
        }
    }
}
