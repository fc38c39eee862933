//! One thing that waits: what, why, since when, and the answer to it.

use checkrein_engine::{Act, AskKind, Asks, Waiting};
use jiff::Timestamp;
use maud::{Markup, html};

use crate::cockpit::checkpoint::decide;
use crate::cockpit::link;
use crate::cockpit::parts::{ago, excerpt, sentence, shown};
use crate::cockpit::visit::Visit;

/// So much of what is asked about fits.
const ABOUT_CHARS_MAX: usize = 280;

pub fn row(visit: &Visit, waiting: &Waiting, now: Timestamp) -> Markup {
    let Waiting { checkpoint, asks, .. } = waiting;
    let id = checkpoint.id.as_str();
    let decides = visit.may(Act::GiveVerdict);
    let page = match asks.kind {
        AskKind::Review => link::review(id),
        AskKind::Worker | AskKind::CheckIn => link::checkpoint(id),
    };
    let first = Some(page.as_str()).filter(|_| looked_at_first(asks));
    // A job is known by what it is about, whatever else by what it asks.
    let (title, below) = match asks.subject.is_empty() {
        true => (&asks.question, None),
        false => (&asks.subject, Some(&asks.question)),
    };
    html! {
        article class="card waiting" id={ "w-" (link::encoded(id)) } data-key=(id) data-row="" {
            header {
                @if decides && (first.is_none() || asks.kind == AskKind::Review) {
                    input type="checkbox" form="several" name="chosen" value={ (checkpoint.digest) " " (id) }
                        aria-label={ "Select " (id) } data-select="";
                }
                h2 { a href=(page) data-open="" { (excerpt(title, 160)) } }
                (ago(checkpoint.created_at, now))
            }
            @if let Some(question) = below { p class="subject" { (shown(question)) } }
            p class="meta" {
                (kind(asks.kind)) " · " (shown(&checkpoint.worker))
                @if !checkpoint.phase.is_empty() { " · " (shown(&checkpoint.phase)) }
                @if checkpoint.round > 1 { " · round " (checkpoint.round) }
                @if let Some(run) = &checkpoint.run { " · " a href=(link::run(run)) { (run) } }
            }
            @if !asks.because.is_empty() {
                ul class="because" aria-label="Why it waits" {
                    @for reason in &asks.because { li { (sentence(&excerpt(reason, 400))) } }
                }
            }
            @if !asks.about.is_empty() { p class="about" { (excerpt(&asks.about, ABOUT_CHARS_MAX)) } }
            @if decides {
                (decide::form(visit, checkpoint, asks, first))
            }
        }
    }
}

/// A review is looked at before it is approved, and so is whatever does not fit into the row.
fn looked_at_first(asks: &Asks) -> bool {
    asks.kind == AskKind::Review || asks.about.chars().count() > ABOUT_CHARS_MAX
}

const fn kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Worker => "Checkpoint",
        AskKind::CheckIn => "Check-in",
        AskKind::Review => "Review",
    }
}
