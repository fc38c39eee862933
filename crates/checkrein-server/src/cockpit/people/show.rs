use checkrein_core::principal::Role;
use checkrein_engine::Act;
use checkrein_store::{SignedIn, TokenRow};
use jiff::Timestamp;
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, field, shown};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// Nobody has more browsers than this at once.
const SESSIONS: usize = 500;

pub fn page() -> Page {
    Page::get("/people", show).to(Act::ManageTokens)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let mut tokens = visit.engine().tokens(by).await?;
    tokens.sort_by_key(|token| (token.revoked_at.is_some(), std::cmp::Reverse(token.created_at)));
    let sessions = visit.engine().sessions(by, 0, SESSIONS).await?;
    let now = visit.now();
    let body = html! {
        div class="head" {
            h1 { "People and tokens" }
            p class="quiet" { "A token proves who somebody is, to pages and to programs." }
        }
        section class="card" {
            h2 { "New token" }
            (visit.form("/people/tokens", "", html! {
                div class="columns" {
                    (field("name", "Name", "Verdicts are recorded under it.", html! { input id="name" name="name" required maxlength="200" autocomplete="off"; }))
                    (field("role", "Role", "", html! {
                        select id="role" name="role" {
                            @for (role, about) in ROLES { option value=(role.name()) selected[role == Role::Reviewer] { (role.name()) ": " (about) } }
                        }
                    }))
                    (field("expires", "Good for", "Such as 30d or 12h; for ever if nothing is said.", html! { input id="expires" name="expires" placeholder="90d"; }))
                }
                p { button class="primary" { "Make a token" } }
            }))
        }
        section class="card" {
            h2 { "Tokens" }
            ul class="list" id="tokens" data-region="" { @for token in &tokens { (token_row(&visit, token, now)) } }
        }
        section class="card" {
            h2 { "Browsers that are signed in" }
            ul class="list" id="sessions" data-region="" { @for session in &sessions.items { (session_row(&visit, session, now)) } }
        }
    };
    Ok(View::new("People and tokens", body).at(Place::People))
}

const ROLES: [(Role, &str); 4] = [
    (Role::Viewer, "looks"),
    (Role::Agent, "asks, never decides"),
    (Role::Reviewer, "decides, gives jobs"),
    (Role::Admin, "everything"),
];

fn token_row(visit: &Visit, token: &TokenRow, now: Timestamp) -> Markup {
    let over = token.revoked_at.is_some() || token.expires_at.is_some_and(|at| at <= now);
    let own = visit.guest.as_ref().is_some_and(|guest| guest.session.token == token.id);
    html! {
        li {
            div {
                strong { (shown(&token.principal.name)) } " "
                span class="badge" { (token.principal.role) }
                @if own { " " span class="badge good" { "this browser" } }
                p class="meta" {
                    code { (token.id) } " · made " (ago(token.created_at, now))
                    @if let Some(at) = token.revoked_at { " · revoked " (ago(at, now)) }
                    @else if let Some(at) = token.expires_at {
                        @if at <= now { " · expired " (ago(at, now)) } @else { " · until " (at.strftime("%Y-%m-%d %H:%M").to_string()) " UTC" }
                    }
                }
            }
            @if !over {
                details class="action" id={ "revoke-" (token.id) } {
                    summary class="button" aria-label={ "Revoke the token " (token.id) " of " (token.principal.name) "…" } { "Revoke…" }
                    (visit.form(&link::to(&["people", "tokens", &token.id, "revoke"]), "card", html! {
                        p { "Programs that use it are refused from now on, and browsers that signed in with it are signed out. It cannot be taken back." }
                        @if own { p { strong { "This browser signed in with it." } } }
                        p { button class="bad" { "Revoke the token of " (shown(&token.principal.name)) } }
                    }))
                }
            }
        }
    }
}

fn session_row(visit: &Visit, found: &SignedIn, now: Timestamp) -> Markup {
    let SignedIn { session, token } = found;
    let own = visit.guest.as_ref().is_some_and(|guest| guest.session.id == session.id);
    let over = session.ended_at.is_some() || session.expires_at <= now || token.revoked_at.is_some();
    html! {
        @if !over {
            li {
                div {
                    strong { (shown(&token.principal.name)) } " " span class="badge" { (token.principal.role) }
                    @if own { " " span class="badge good" { "this browser" } }
                    p class="meta" { "since " (ago(session.created_at, now)) " · until " (session.expires_at.strftime("%Y-%m-%d %H:%M").to_string()) " UTC" }
                }
                (visit.form(&link::to(&["people", "sessions", &session.id, "end"]), "", html! {
                    button aria-label={ "Sign out the browser " (session.id) } { "Sign out" }
                }))
            }
        }
    }
}
