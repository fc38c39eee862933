//! Where links in notifications lead: to the page of a review, or to the checkpoint itself.

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::{Content, Deliverable};
use checkrein_core::run::RunId;
use checkrein_engine::{Act, AskKind, Asks, CheckpointView};
use maud::{Markup, html};
use serde_json::Value;

use super::decide;
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, checkpoint_status, passage, sentence, shown, words_of};
use crate::cockpit::view::{Live, See, Shown, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/checkpoints/{id}", show)
}

async fn show(visit: Visit) -> Result<Shown, Problem> {
    let found = visit.engine().checkpoint(visit.by()?, visit.path("id")).await?;
    let asks = visit.engine().asks(&found.checkpoint, found.content.as_ref())?;
    if asks.kind == AskKind::Review {
        return Ok(See::to(link::review(found.checkpoint.id.as_str())).into());
    }
    let id = found.checkpoint.id.to_string();
    let view = View::new(format!("Checkpoint {id}"), body(&visit, &found, &asks))
        .at(Place::Inbox)
        .live(Live::Checkpoint(id));
    Ok(match &found.checkpoint.run {
        Some(run) => view.about(&RunId::new(run.clone())).into(),
        None => view.into(),
    })
}

fn body(visit: &Visit, found: &CheckpointView, asks: &Asks) -> Markup {
    let checkpoint = &found.checkpoint;
    let now = visit.now();
    let open = checkpoint.status == CheckpointStatus::Pending;
    html! {
        div class="head" {
            p class="crumbs" { a href="/inbox" { "Inbox" } " / " (checkpoint.id) }
            h1 { (shown(&asks.question)) }
        }
        @if !asks.because.is_empty() {
            section class="card" {
                h2 { "Why it waits" }
                ul class="because" { @for reason in &asks.because { li { (sentence(reason)) } } }
            }
        }
        section class="card" {
            h2 { "What is asked about" }
            (content(found.content.as_ref(), checkpoint.run.is_some()))
        }
        section id="state" data-region="" class="card" aria-label="Decision" {
            h2 { "Decision" }
            p { (checkpoint_status(checkpoint.status)) " since "
                (ago(checkpoint.resolved_at.unwrap_or(checkpoint.created_at), now))
                @if let Some(by) = &checkpoint.resolved_by { ", by " strong { (shown(by)) } }
            }
            @if let Some(reason) = &checkpoint.reason {
                blockquote { (shown(reason)) }
            }
            @if open && visit.may(Act::GiveVerdict) {
                (decide::form(visit, checkpoint, asks, None))
            } @else if open {
                p class="hint" { "A reviewer decides this; your role looks." }
            }
        }
        section class="card" {
            h2 { "Details" }
            dl class="pairs" {
                dt { "Worker" } dd { (shown(&checkpoint.worker)) }
                @if !checkpoint.phase.is_empty() { dt { "Phase" } dd { (shown(&checkpoint.phase)) } }
                dt { "Type" } dd { (shown(&checkpoint.kind)) }
                dt { "Asked" } dd { (ago(checkpoint.created_at, now)) }
                @if let Some(run) = &checkpoint.run {
                    dt { "Run" } dd { a href=(link::run(run)) { (run) } }
                }
                dt { "Digest" } dd { code { (checkpoint.digest) } }
            }
        }
    }
}

fn content(content: Option<&Content>, of_run: bool) -> Markup {
    html! {
        @match content.map(Content::deliverable) {
            None => p class="quiet" { "It is not kept any more." },
            Some(Deliverable::Text(text)) => (passage("What is asked about", "text", shown(&text))),
            Some(Deliverable::Bytes(bytes)) => p { (bytes.len()) " bytes that are no text." },
            Some(Deliverable::Json(asked)) => (found(&asked, of_run)),
        }
    }
}

/// What a workflow found, or any other value as it is: what a worker hands in may look like a workflow's.
fn found(asked: &Value, of_run: bool) -> Markup {
    let list = |name: &str| asked.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(shown).unwrap_or_default();
    html! {
        @if of_run && asked.get("question").is_some() {
            @for (name, heading) in [("errors", "Errors"), ("warnings", "Warnings")] {
                @let findings = list(name);
                @if !findings.is_empty() {
                    h3 { (heading) }
                    ul class="findings" {
                        @for finding in &findings {
                            li {
                                span class="meta" { (text(finding, "severity")) " · " (text(finding, "category")) " · " (text(finding, "step_id")) }
                                " " (text(finding, "text"))
                            }
                        }
                    }
                }
            }
            @if list("errors").is_empty() && list("warnings").is_empty() {
                p { "Nothing was found since it last asked." }
            }
            @let actions = list("recommended_actions");
            @if !actions.is_empty() {
                h3 { "What can be done" }
                ul { @for action in &actions { li { (text(action, "description"))
                    @if let Some(command) = action.get("command").and_then(Value::as_str) { " " code { (shown(command)) } }
                } } }
            }
        } @else {
            (passage("All of it", "text", shown(&words_of(asked))))
        }
    }
}
