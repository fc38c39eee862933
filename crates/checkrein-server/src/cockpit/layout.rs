//! The frame around every page, and the headers it is sent with.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::mask::Mask;
use super::said::Said;
use super::theme::{self, Theme};
use super::view::{Download, Live, Secrets, See, Shown, View, Width};
use super::visit::Visit;
use super::{assets, navigation};
use crate::answer::value;

/// A file of JSON objects, a line each.
pub const JSON_LINES: &str = "application/jsonl";

/// Only files of this server, no script and no style inside a page, no frame around it, forms to here alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

pub fn response(visit: &Visit, shown: Shown) -> Response {
    match shown {
        Shown::View(view) => page(visit, *view),
        Shown::See(see) => elsewhere(see),
        Shown::File(file) => download(visit, file),
    }
}

fn page(visit: &Visit, view: View) -> Response {
    let document = document(visit, &view).into_string();
    let document = match view.secrets {
        Secrets::Masked => Mask::new(&visit.call.app, &view.about).page(&document),
        Secrets::Shown => document,
    };
    let mut response = (view.status, document).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // A form says by its origin that it comes from here.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    for cookie in view.cookies {
        headers.append(header::SET_COOKIE, cookie);
    }
    if visit.said.is_some() {
        headers.append(header::SET_COOKIE, Said::forgotten());
    }
    response
}

fn elsewhere(see: See) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let to = value(&see.to).unwrap_or_else(|_| HeaderValue::from_static("/"));
    headers.insert(header::LOCATION, to);
    let said = see.said.and_then(|said| said.remembered());
    for cookie in see.cookies.into_iter().chain(said) {
        headers.append(header::SET_COOKIE, cookie);
    }
    response
}

fn download(visit: &Visit, file: Download) -> Response {
    let engine = visit.engine();
    let bytes = match file.media_type {
        // Each line stays what it was: only texts in it change.
        JSON_LINES => file
            .bytes
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| {
                let (line, end) = line.strip_suffix(b"\n").map_or((line, ""), |line| (line, "\n"));
                let clean = engine.redacted_json(line, file.about.as_ref()).into_owned();
                clean.into_iter().chain(end.bytes()).collect::<Vec<u8>>()
            })
            .collect(),
        _ => Mask::new(&visit.call.app, file.about.as_slice()).bytes(file.bytes),
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = file.name.chars().map(|c| if kept(c) { c } else { '-' }).collect();
    if let Ok(how) = value(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, how);
    }
    headers.insert(
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    response
}

fn document(visit: &Visit, view: &View) -> Markup {
    let theme = Some(visit.theme).filter(|theme| *theme != Theme::System).map(Theme::name);
    let width = match view.width {
        Width::Text => None,
        Width::Full => Some("full"),
    };
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (view.title) " · Checkrein" }
                link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(assets::address("cockpit.css"));
                @for name in view.files.iter().filter(|name| name.ends_with(".css")) {
                    link rel="stylesheet" href=(assets::address(name));
                }
                script type="module" src=(assets::address("cockpit.js")) {}
                @for name in view.files.iter().filter(|name| name.ends_with(".js")) {
                    script type="module" src=(assets::address(name)) {}
                }
            }
            body data-me=[visit.guest.as_ref().map(|guest| &guest.by.name)] data-live=[live(view)] data-looks-at=[view.looks_at.as_deref()] {
                a class="skip" href="#main" { "Skip to the content" }
                header class="top" {
                    a class="brand" href="/" { (mark()) span { "Checkrein" } }
                    @if visit.guest.is_some() {
                        (navigation::shown(visit, view.place))
                        (account(visit))
                    }
                }
                main id="main" class=[width] tabindex="-1" {
                    div id="said" data-region="" role="status" aria-live="polite" {
                        @if let Some(said) = &visit.said { (said.shown()) }
                    }
                    (view.body)
                }
                @if visit.guest.is_some() { (keys(visit)) }
            }
        }
    }
}

/// What makes the page look again, for the script.
fn live(view: &View) -> Option<String> {
    let words: Vec<String> = view
        .live
        .iter()
        .map(|live| match live {
            Live::Everything => "all".to_owned(),
            Live::Run(id) => format!("run:{id}"),
            Live::Checkpoint(id) => format!("checkpoint:{}", super::link::encoded(id)),
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn account(visit: &Visit) -> Markup {
    html! {
        span id="live" class="live" hidden {}
        details class="account" {
            summary {
                @if let Some(guest) = &visit.guest {
                    span { (guest.by.name) }
                }
            }
            div class="menu" {
                @if let Some(guest) = &visit.guest {
                    p class="quiet" { "Signed in as " strong { (guest.by.name) } ", " (guest.by.role) "." }
                }
                (theme::switch(visit))
                p { button type="button" data-keys="" hidden { "Keyboard shortcuts " kbd { "?" } } }
                form method="post" action="/sign-out" { button { "Sign out" } }
            }
        }
    }
}

/// What the keyboard does; the script opens it.
fn keys(visit: &Visit) -> Markup {
    html! {
        dialog id="keys" aria-labelledby="keys-title" {
            h2 id="keys-title" { "Keyboard" }
            dl class="pairs" {
                @for (key, name) in navigation::keys(visit) {
                    dt { kbd { "g" } " " kbd { (key) } } dd { "Go to " (name) }
                }
                dt { kbd { "j" } " " kbd { "k" } } dd { "Next and previous entry" }
                dt { kbd { "o" } } dd { "Open the entry" }
                dt { kbd { "x" } } dd { "Select the entry" }
                dt { kbd { "a" } } dd { "Approve: goes to the button, press Enter to decide" }
                dt { kbd { "r" } } dd { "Say why, to reject or to request changes" }
                dt { kbd { "/" } } dd { "Search or filter" }
                dt { kbd { "?" } } dd { "This list" }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

fn mark() -> Markup {
    PreEscaped(include_str!("static/mark.svg").to_owned())
}
