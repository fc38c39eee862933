use checkrein_core::notification::{NotificationType, WebhookKind};
use checkrein_engine::Act;
use jiff::Timestamp;
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, empty, field, shown};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::wire::webhook::Webhook;

pub fn page() -> Page {
    Page::get("/webhooks", show).to(Act::ManageWebhooks)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let webhooks: Vec<Webhook> =
        visit.engine().webhooks(visit.by()?).await?.iter().map(Webhook::from).collect();
    let now = visit.now();
    let body = html! {
        div class="head" {
            h1 { "Webhooks" }
            p class="quiet" { "Programs, Slack channels and mailboxes that are told what happens." }
        }
        div class="rows" {
            @for webhook in &webhooks { (row(webhook, now)) }
            @if webhooks.is_empty() {
                (empty("Nobody is told yet", html! { p { "Add an address below, and people hear of what waits without looking here." } }))
            }
        }
        (new(&visit))
    };
    Ok(View::new("Webhooks", body).at(Place::Webhooks))
}

fn row(webhook: &Webhook, now: Timestamp) -> Markup {
    let name = if webhook.name.is_empty() { &webhook.url } else { &webhook.name };
    html! {
        article class="card run" data-row="" {
            header {
                h2 { a href=(link::to(&["webhooks", &webhook.id])) data-open="" { (shown(name)) } }
                (state(webhook))
            }
            p class="meta" {
                (webhook.kind.name()) " · " (shown(&webhook.url)) " · " (webhook.types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "))
                @if webhook.waiting > 0 { " · " (webhook.waiting) " on their way" }
                @if webhook.dead > 0 { " · " (webhook.dead) " given up" }
                " · made " (ago(webhook.created_at, now))
            }
        }
    }
}

/// How it goes with it.
pub fn state(webhook: &Webhook) -> Markup {
    html! {
        @if webhook.disabled_at.is_some() { span class="badge bad" { "given up" } }
        @else if webhook.failing_since.is_some() { span class="badge waits" { "failing" } }
        @else { span class="badge good" { "works" } }
    }
}

/// What happened, in words.
const fn about(kind: NotificationType) -> &'static str {
    match kind {
        NotificationType::CheckpointCreated => "Something waits",
        NotificationType::CheckpointMoved => "What waits has changed",
        NotificationType::CheckpointResolved => "It was decided",
        NotificationType::RunCompleted => "A run is done",
        NotificationType::RunFailed => "A run failed",
        NotificationType::RunStopped => "A policy or a limit stopped a run",
        NotificationType::RunPaused => "A run was paused",
        NotificationType::RunCancelled => "A run was cancelled",
        NotificationType::WebhookTest => "A test",
    }
}

fn new(visit: &Visit) -> Markup {
    html! {
        section class="card" {
            h2 { "New webhook" }
            (visit.form("/webhooks", "", html! {
                (field("url", "Address", "https://…, or smtp://user:password@host/?from=ADDRESS&to=ADDRESS", html! {
                    input id="url" name="url" required autocomplete="off";
                }))
                div class="columns" {
                    (field("name", "Name", "What people call it.", html! { input id="name" name="name"; }))
                    (field("kind", "Kind", "", html! {
                        select id="kind" name="kind" {
                            option value="" { "told by the address" }
                            @for kind in WebhookKind::ALL { option value=(kind.name()) { (kind.name()) } }
                        }
                    }))
                }
                fieldset {
                    legend { "What it is told of" }
                    div class="columns" {
                        @for kind in NotificationType::ALL {
                            label class="check" {
                                input type="checkbox" name="types" value=(kind.name()) checked[kind == NotificationType::CheckpointCreated];
                                span { (about(kind)) " " code { (kind.name()) } }
                            }
                        }
                    }
                }
                label class="check" {
                    input type="checkbox" name="allow_private" value="yes";
                    span { "It may be in a private network, or on the server's machine" }
                }
                p { button class="primary" { "Add" } }
            }))
        }
    }
}
