use checkrein_core::notification::DeliveryStatus;
use checkrein_engine::Act;
use jiff::Timestamp;
use maud::{Markup, html};

use super::list::state;
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, newer_and_older, shown};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::wire::webhook::{Delivery, NewWebhook, Webhook};

const ROWS: usize = 50;

pub fn page() -> Page {
    Page::get("/webhooks/{id}", show).to(Act::ManageWebhooks)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let webhook = Webhook::from(&visit.engine().webhook(by, visit.path("id")).await?);
    let before = visit.query.filled("before").and_then(|before| before.parse().ok());
    let page = visit.engine().deliveries(by, &webhook.id, None, before, ROWS).await?;
    let deliveries: Vec<Delivery> = page.items.iter().map(Delivery::from).collect();
    let here = link::to(&["webhooks", &webhook.id]);
    let older = page.next.map(|next| link::with_query(&here, &[("before", &next.to_string())]));
    let now = visit.now();
    let name = if webhook.name.is_empty() { &webhook.url } else { &webhook.name };
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/webhooks" { "Webhooks" } " / " (shown(&webhook.id)) }
            h1 { (shown(name)) }
            div id="state" data-region="" { (state(&webhook)) }
        }
        @if let Some(reason) = &webhook.disabled_reason { p class="notice bad" { "Nothing is sent any more: " (shown(reason)) } }
        (actions(&visit, &webhook))
        section class="card" {
            dl class="pairs" {
                dt { "Kind" } dd { (webhook.kind.name()) }
                dt { "Address" } dd { (shown(&webhook.url)) }
                dt { "Told of" } dd { (webhook.types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")) }
                dt { "Private networks" } dd { @if webhook.allow_private { "allowed" } @else { "refused" } }
                dt { "Made" } dd { (ago(webhook.created_at, now)) }
                @if let Some(since) = webhook.failing_since { dt { "Failing since" } dd { (ago(since, now)) } }
                @if let Some(until) = webhook.old_secret_until.filter(|until| *until > now) { dt { "The old secret signs until" } dd { (until.to_string()) } }
            }
        }
        section class="card" {
            h2 { "Deliveries" }
            ul class="list" id="deliveries" data-region="" {
                @for delivery in &deliveries { (delivery_row(&visit, &webhook.id, delivery, now)) }
                @if deliveries.is_empty() { li class="quiet" { "Nothing was sent yet. A test sends something now." } }
            }
            (newer_and_older(before.map(|_: i64| here.clone()), older))
        }
    };
    Ok(View::new(format!("Webhook {name}"), body).at(Place::Webhooks).live(Live::Everything))
}

fn actions(visit: &Visit, webhook: &Webhook) -> Markup {
    let to = |verb: &str| link::to(&["webhooks", &webhook.id, verb]);
    html! {
        div class="actions" {
            (visit.form(&to("test"), "", html! { button class="primary" { "Send a test" } }))
            @if webhook.disabled_at.is_some() { (visit.form(&to("enable"), "", html! { button { "Send again" } })) }
            (visit.form(&to("rotate"), "", html! { button { "New secret" } }))
            details class="action" {
                summary class="button" { "Remove…" }
                (visit.form(&to("remove"), "card", html! {
                    p { "It is told nothing any more, and what is on its way is forgotten." }
                    p { button class="bad" { "Remove the webhook" } }
                }))
            }
        }
    }
}

fn delivery_row(visit: &Visit, webhook: &str, delivery: &Delivery, now: Timestamp) -> Markup {
    let tone = match delivery.status {
        DeliveryStatus::Delivered => "good",
        DeliveryStatus::Waiting => "waits",
        DeliveryStatus::Dead => "bad",
    };
    html! {
        li {
            div {
                span class={ "badge " (tone) } { (delivery.status.name()) } " " (shown(&delivery.kind)) " · " (shown(&delivery.subject))
                p class="meta" {
                    (ago(delivery.created_at, now)) " · attempt " (delivery.attempts)
                    @if let Some(answer) = &delivery.answer { " · " (shown(answer)) }
                    @if let Some(next) = delivery.next_at.filter(|_| delivery.status == DeliveryStatus::Waiting) { " · next " (next.strftime("%H:%M:%S").to_string()) " UTC" }
                }
            }
            @if delivery.status != DeliveryStatus::Waiting {
                (visit.form(&link::to(&["webhooks", webhook, "deliveries", &delivery.id, "retry"]), "", html! {
                    button aria-label={ "Send " (delivery.id) " again" } { "Send again" }
                }))
            }
        }
    }
}

/// A webhook with a secret that was just made.
pub fn new_secret(heading: &str, made: &NewWebhook) -> View {
    let body = html! {
        h1 { (heading) }
        section class="card" {
            @match &made.secret {
                Some(secret) => {
                    p { "Its secret, by which the receiver checks signatures. Copy it now: it is shown this once." }
                    p { code class="secret" id="secret" { (secret) } }
                    p { button type="button" data-copy="secret" hidden { "Copy" } }
                }
                None => p { "It takes no signatures, so it has no secret." },
            }
            p { a href=(link::to(&["webhooks", &made.webhook.id])) { "Go to the webhook" } }
        }
    };
    View::new(heading, body).at(Place::Webhooks).shows_secret()
}
