//! The page of a review.

use checkrein_engine::{Act, ChatView};
use maud::{Markup, html};

use super::material::{Material, Prose, Since};
use super::{aside, conflict, files, now, overview, thread};
use crate::cockpit::chat;
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, checkpoint_status, count, excerpt, pull_request, settled, shown};
use crate::cockpit::render::diff::View as DiffView;
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::wire::review::Review;

pub fn page() -> Page {
    Page::get("/reviews/{id}", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let material = Material::load(&visit, visit.path("id")).await?;
    let review = &material.review;
    let title = format!("Review of {}", excerpt(review.description.as_str().unwrap_or_default(), 60));
    let job = &material.reviewed.view.run.id;
    let chat = if visit.may(Act::ReadChat) { Some(chat::of(&visit, job).await?) } else { None };
    let (run, body) = (review.run_id.clone(), body(&visit, &material, chat.as_ref()));
    Ok(View::new(title, body)
        .at(Place::Inbox)
        .full_width()
        .live(Live::Run(run))
        .looking_at(now::address(&review.id))
        .about(job)
        .with_file("review.css")
        .with_file("review.js")
        .with_file("search.js")
        .with_file("chat.css")
        .with_file("chat.js"))
}

fn body(visit: &Visit, material: &Material, chat: Option<&ChatView>) -> Markup {
    let review = &material.review;
    html! {
        div class="head" {
            p class="crumbs" {
                a href="/inbox" { "Inbox" } " / " a href=(link::run(&review.run_id)) { "Job " (review.run_id) }
                " / " (review.phase) ", round " (review.round)
            }
            h1 { (excerpt(review.description.as_str().unwrap_or_default(), 160)) }
            p class="meta" {
                (checkpoint_status(review.status)) " "
                @if review.status == checkrein_core::checkpoint::CheckpointStatus::Pending {
                    "since " (ago(review.created_at, visit.now()))
                } @else if let Some(at) = review.resolved_at {
                    (ago(at, visit.now()))
                    @if let Some(by) = &review.resolved_by { " by " strong { (shown(by)) } }
                }
                " · level " strong { (review.level.as_str().unwrap_or("custom")) }
                " · branch " code { (shown(&review.branch)) }
                " · commit " code { (short(&review.head)) }
                (forge(review))
            }
        }
        (now::region(&material.reviewed))
        div id="news" class="news" role="status" aria-live="polite" {}
        (stale(visit, material))
        div class="review" data-review=(review.id) data-head=(review.head) data-open=[review.open.then_some("")] {
            (aside::shown(visit, material))
            div class="material" {
                (overview::shown(material))
                (conflict::section(visit, material))
                @if let Some(view) = chat { (chat::panel(visit, &chat::Talk::about(&material.reviewed.view.run.id, view), &at(material, &[]))) }
                (toolbar(material))
                (files::all(visit, material))
                (thread::conversation(visit, material))
                (overview::commits(material))
                @if review.open { p class="to-verdict" { a class="button" href="#verdict" { "To the decision" } } }
            }
        }
        (keys())
    }
}

/// Where it is reviewed as well, and what keeps the job from there.
fn forge(review: &Review) -> Markup {
    let Some(forge) = &review.forge else { return Markup::default() };
    html! {
        @if let (Some(number), Some(url)) = (forge.number, forge.url.as_deref()) {
            " · " (pull_request(number, url)) (settled(forge.settled)) " on " (forge.kind.name())
        }
        @if let Some(trouble) = &forge.trouble {
            " · " span class="badge bad" { "no forge now" } " " (shown(trouble))
        }
    }
}

/// Somebody looked at another commit: what is new since, and nothing was decided.
fn stale(visit: &Visit, material: &Material) -> Markup {
    let review = &material.review;
    html! {
        @if let Since::Commit(seen) = &material.since {
            div class="notice waits" {
                p { strong { "The branch has moved since you looked." } " You looked at " code { (short(seen)) }
                    ", it is at " code { (short(&review.head)) } " now. The files below show only what is new since then." }
                p { a href=(at(material, &[("seen", ""), ("since", "")])) { "Show all changes" } }
            }
        } @else if visit.query.filled("seen").is_some() {
            div class="notice good" { p { "You look at the newest commit." } }
        }
    }
}

fn toolbar(material: &Material) -> Markup {
    let review = &material.review;
    let pressed = |is: bool| is.then_some("true");
    let diff = &review.diff;
    html! {
        nav class="toolbar" aria-label="How changes are shown" id="changes" {
            h2 { "Changes" span class="quiet" { " " (count(diff.files.len() as u64, "file")) ", " span class="plus" { "+" (diff.added) } " " span class="minus" { "−" (diff.removed) } } }
            span class="group" role="group" aria-label="Columns" {
                a class="button" aria-current=[pressed(material.view == DiffView::Unified)] href=(at(material, &[("view", "")])) { "Unified" }
                a class="button" aria-current=[pressed(material.view == DiffView::Split)] data-key-view="" href=(at(material, &[("view", "split")])) { "Side by side" }
            }
            span class="group" role="group" aria-label="Markdown" {
                a class="button" aria-current=[pressed(material.prose == Prose::Rendered)] href=(at(material, &[("prose", "")])) { "Rendered" }
                a class="button" aria-current=[pressed(material.prose == Prose::Source)] href=(at(material, &[("prose", "source")])) { "Source" }
            }
            @if material.rounds.len() > 1 || material.since != Since::Base {
                span class="group" role="group" aria-label="Since when" {
                    a class="button" aria-current=[pressed(material.since == Since::Base)] href=(at(material, &[("since", ""), ("seen", "")])) { "All" }
                    @for round in material.rounds.iter().filter(|round| round.number < review.round) {
                        a class="button" aria-current=[pressed(material.since == Since::Round(round.number))]
                            href=(at(material, &[("since", &round.number.to_string()), ("seen", "")])) { "Since round " (round.number) }
                    }
                }
            }
            a class="button" href=(super::below(&review.id, "files", &[])) { "All files" }
        }
        @if review.no_change_since_last_round.as_bool() == Some(true) {
            p class="notice waits" { "Nothing changed since the last round." }
        }
        @if diff.files.is_empty() {
            p class="empty" { "There is no change to look at." }
        }
    }
}

/// This page with some of its query changed.
pub fn at(material: &Material, changed: &[(&str, &str)]) -> String {
    let since = match &material.since {
        Since::Round(number) => number.to_string(),
        Since::Base | Since::Commit(_) => String::new(),
    };
    let seen = match &material.since {
        Since::Commit(seen) => seen.clone(),
        Since::Base | Since::Round(_) => String::new(),
    };
    let view = if material.view == DiffView::Split { "split" } else { "" };
    let prose = if material.prose == Prose::Source { "source" } else { "" };
    let own = [("view", view), ("prose", prose), ("since", since.as_str()), ("seen", seen.as_str())];
    let pick = |(name, value)| {
        let other = changed.iter().find(|(changed, _)| *changed == name);
        (name, other.map_or(value, |(_, value)| *value))
    };
    link::with_query(&link::review(&material.review.id), &own.map(pick))
}

/// The beginning of an id, which is enough for people.
pub fn short(id: &str) -> String {
    id.chars().take(10).collect()
}

/// What the keyboard does on this page, for the list of keys.
fn keys() -> Markup {
    html! {
        template id="review-keys" {
            dt { kbd { "j" } " " kbd { "k" } } dd { "Next, previous line" }
            dt { kbd { "n" } " " kbd { "p" } } dd { "Next, previous file" }
            dt { kbd { "]" } " " kbd { "[" } } dd { "Next, previous thread" }
            dt { kbd { "c" } } dd { "Comment on the line, or the whole" }
            dt { kbd { "m" } } dd { "Mark the file: approved, changes requested, none" }
            dt { kbd { "e" } } dd { "Edit the file" }
            dt { kbd { "v" } } dd { "Side by side, or one below the other" }
            dt { kbd { "a" } } dd { "To the approval, Enter decides" }
            dt { kbd { "r" } } dd { "Say what to change" }
            dt { kbd { "Ctrl" } " " kbd { "Enter" } } dd { "Send what you write" }
        }
    }
}
