//! Comments: as threads at their lines, and the conversation about the whole.

use checkrein_engine::Act;
use maud::{Markup, PreEscaped, html};

use super::material::Material;
use crate::cockpit::link;
use crate::cockpit::parts::{ago, count, shown};
use crate::cockpit::render::markdown::{self, Links};
use crate::cockpit::visit::Visit;
use crate::wire::review::{Comment, Thread};

/// A thread with what can be said to it.
pub fn thread(visit: &Visit, material: &Material, thread: &Thread) -> Markup {
    let review = &material.review;
    let by_id = |id: &String| review.comments.iter().find(|comment| comment.id == *id);
    let comments: Vec<&Comment> = thread.comments.iter().filter_map(by_id).collect();
    let settled = thread.resolved_by.is_some();
    let body = html! {
        @if let Some(line) = thread.was_at { p class="hint" { "It was about line " (line) ", which is gone." } }
        @if thread.line_changed && thread.line.is_some() { p class="hint" { "The line has changed since." } }
        @for comment in &comments { (one(visit, comment)) }
        @if review.open { (answers(visit, material, thread)) }
    };
    html! {
        div class={ "thread" @if settled { " settled" } } id={ "t-" (thread.id) } {
            @if settled {
                details id={ "settled-" (thread.id) } {
                    summary { "Settled by " (shown(thread.resolved_by.as_deref().unwrap_or_default())) ": " (count(comments.len() as u64, "comment")) }
                    (body)
                }
            } @else { (body) }
        }
    }
}

fn one(visit: &Visit, comment: &Comment) -> Markup {
    html! {
        article class={ "comment" @if comment.from_agent { " agent" } } id=(comment.id) {
            p class="meta" {
                strong { (shown(&comment.by)) }
                @if comment.from_agent { " " span class="badge" { "agent" } }
                @if let Some(tag) = comment.tag { " " span class="badge waits" { (tag.name()) } }
                " · " (ago(comment.written_at, visit.now()))
                " · round " (comment.round)
                @if comment.delivered && !comment.from_agent { " · the agent has it" }
            }
            div class="md" { (PreEscaped(markdown::render(&comment.text, &Links::NONE))) }
        }
    }
}

fn answers(visit: &Visit, material: &Material, thread: &Thread) -> Markup {
    let id = &material.review.id;
    let settled = thread.resolved_by.is_some();
    html! {
        @if visit.may(Act::Comment) {
            div class="actions" {
                details class="reply" id={ "reply-" (thread.id) } {
                    summary { "Reply" }
                    form method="post" action=(link::to(&["reviews", id, "comments"])) data-quiet="" {
                        (visit.proof())
                        (here(material))
                        input type="hidden" name="reply_to" value=(thread.id);
                        textarea name="text" rows="3" required aria-label="Your reply" data-draft={ "reply-" (thread.id) } {}
                        p { button { "Reply" } }
                    }
                }
                form method="post" action=(link::to(&["reviews", id, "threads"])) class="settle" data-quiet="" {
                    (visit.proof())
                    (here(material))
                    input type="hidden" name="comment" value=(thread.id);
                    @if settled { button name="resolved" value="false" { "Open again" } }
                    @else { button name="resolved" value="true" { "Settle" } }
                }
            }
        }
    }
}

/// Which page of the review a form is sent from, and the commit it shows.
pub fn here(material: &Material) -> Markup {
    html! {
        input type="hidden" name="head" value=(material.review.head);
        input type="hidden" name="back" value=(super::show::at(material, &[]));
    }
}

/// What is said about the whole, and about lines that are not there any more.
pub fn conversation(visit: &Visit, material: &Material) -> Markup {
    let review = &material.review;
    let shown_elsewhere = |thread: &Thread| {
        let file = thread.file.as_deref();
        review.diff.files.iter().any(|changed| Some(changed.path.as_str()) == file) && thread.phase.is_none()
    };
    let threads: Vec<&Thread> = review.threads.iter().filter(|thread| !shown_elsewhere(thread)).collect();
    html! {
        section class="card" id="talk" {
            h2 { "Conversation" }
            @for one in &threads {
                @if let Some(file) = &one.file { p class="meta" { "On " code { (shown(file)) }
                    @if let Some(phase) = &one.phase { " in " (phase) } } }
                (thread(visit, material, one))
            }
            @if threads.is_empty() { p class="quiet" { "Nobody said anything about the whole yet." } }
            @if review.open && visit.may(Act::Comment) {
                form method="post" action=(link::to(&["reviews", &review.id, "comments"])) data-quiet="" {
                    (visit.proof())
                    (here(material))
                    label for="say" { "Comment on the whole" }
                    textarea id="say" name="text" rows="3" required data-draft="whole" {}
                    p class="hint" { "Begin with [FIX] or [QUESTION] to say what you expect. The agent gets it with the next request for changes, or its next phase." }
                    p { button { "Comment" } }
                }
            }
        }
    }
}
