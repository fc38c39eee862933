use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, shown};
use crate::cockpit::theme;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use checkrein_engine::{Act, MATRIX, allowed};
use checkrein_store::SignedIn;

pub fn page() -> Page {
    Page::get("/settings", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let app = &visit.call.app;
    let experts = visit.engine().experts(by, &app.expert_files())?;
    let sessions = visit.engine().sessions(by, 0, 100).await?;
    let now = visit.now();
    let here = visit.guest.as_ref().map(|guest| guest.session.id.as_str());
    let is_open = |found: &&SignedIn| found.session.ended_at.is_none() && found.session.expires_at > now;
    let others: Vec<&SignedIn> = sessions
        .items
        .iter()
        .filter(is_open)
        .filter(|found| found.token.principal.name == by.name && Some(found.session.id.as_str()) != here)
        .collect();
    let body = html! {
        div class="head" { h1 { "Settings" } }
        section class="card" {
            h2 { "This browser" }
            (theme::switch(&visit))
            @if let Some(guest) = &visit.guest {
                p { "Signed in as " strong { (shown(&guest.by.name)) } ", " (guest.by.role) ", until "
                    (guest.session.expires_at.strftime("%Y-%m-%d %H:%M").to_string()) " UTC." }
            }
            form method="post" action="/sign-out" { button { "Sign out" } }
        }
        section class="card" {
            h2 { "Your other browsers" }
            @if others.is_empty() { p class="quiet" { "You are signed in here alone." } }
            @else { ul class="list" {
                @for found in &others {
                    li {
                        div { "Signed in " (ago(found.session.created_at, now)) }
                        (visit.form(&link::to(&["people", "sessions", &found.session.id, "end"]), "", html! {
                            input type="hidden" name="back" value="/settings";
                            button aria-label={ "Sign out the browser " (found.session.id) } { "Sign out" }
                        }))
                    }
                }
            } }
        }
        section class="card" {
            h2 { "What your role may do" }
            ul class="may" {
                @for (act, _) in MATRIX {
                    li { @if allowed(by.role, *act) { span class="badge good" { "yes" } } @else { span class="badge" { "no" } } span { (act.name()) } }
                }
            }
        }
        section class="card" {
            h2 { "Experts" }
            p class="quiet" { "Reusable configurations of jobs, from the server's files." }
            ul class="list" {
                @for expert in &experts {
                    li {
                        div {
                            strong { (shown(&expert.name)) }
                            @if let Some(level) = &expert.level { " " span class="badge" { (shown(level)) } }
                            @if let Some(about) = &expert.description { p { (shown(about)) } }
                            p class="meta" { @match &expert.file { Some(file) => code { (shown(&file.display().to_string())) }, None => "built in" } }
                        }
                        a href=(link::with_query("/policy", &[("expert", &expert.name)])) { "Policy" }
                    }
                }
            }
        }
        (server(&visit))
    };
    Ok(View::new("Settings", body).at(Place::Settings))
}

fn server(visit: &Visit) -> Markup {
    let app = &visit.call.app;
    let limits = app.limits();
    let mut names = app.names().all();
    names.sort();
    names.dedup();
    html! {
        section class="card" {
            h2 { "This server" }
            dl class="pairs" {
                dt { "Version" } dd { (env!("CARGO_PKG_VERSION")) }
                dt { "Answers under" } dd { (names.join(", ")) }
                dt { "Goes on with runs" } dd { @if app.workers().is_some() { "yes" } @else { "no: `checkrein worker` does elsewhere" } }
                dt { "Bodies at most" } dd { (limits.body_bytes_max >> 20) " MiB" }
                dt { "Description" } dd { a href="/v1/openapi.json" { "OpenAPI" } " · " a href="/metrics" { "metrics" } }
            }
            @if visit.may(Act::ManageTokens) {
                p class="hint" { "The server's own settings are in its " code { "checkrein.yaml" } " and its command line; the page "
                    a href="/policy" { "Policy" } " shows where each came from." }
            }
        }
    }
}
