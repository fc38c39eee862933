//! What went wrong, in words, with what to do next.

use std::sync::Arc;

use axum::http::{HeaderMap, header, request::Parts};
use axum::response::Response;
use maud::{Markup, html};

use super::door;
use super::layout;
use super::sign_in::start;
use super::view::View;
use super::visit::Visit;
use crate::app::App;
use crate::call::Call;
use crate::error::{Kind, Problem};

/// A problem as a page; whoever is not known yet is asked to sign in.
pub fn page(app: &App, visit: Option<&Visit>, headers: &HeaderMap, problem: &Problem) -> Response {
    let nobody = || {
        let call = Call::visiting(app, None, Vec::new(), Arc::new(headers.clone()), None);
        Visit::new(call, None, headers, "/".to_owned(), "")
    };
    let made;
    let visit = match visit {
        Some(visit) => visit,
        None => {
            made = nobody();
            &made
        }
    };
    let view = match problem.kind {
        Kind::Unauthenticated if visit.guest.is_none() => {
            start::view(visit, Some(problem).filter(|_| !visit.here.is_empty())).status(problem.kind.status())
        }
        _ => View::new(heading(problem.kind), body(problem)).status(problem.kind.status()),
    };
    let mut response = layout::response(visit, view.into());
    if let Some(seconds) = problem.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A page that does not exist, for whoever reads pages.
pub async fn nothing_there(app: &App, parts: &Parts) -> Option<Response> {
    let problem = Problem::new(Kind::NotFound, format!("there is no page `{}`", parts.uri.path()))
        .hint("the link may be old; the inbox has everything that waits");
    instead(app, parts, &problem).await
}

/// An address that only takes forms, for whoever reads pages.
pub async fn only_forms(app: &App, parts: &Parts) -> Option<Response> {
    let problem = Problem::new(Kind::MethodNotAllowed, format!("`{}` is no page", parts.uri.path()))
        .hint("it takes a form; go back to the page the form is on and send it from there");
    instead(app, parts, &problem).await
}

/// What is shown instead of a page.
async fn instead(app: &App, parts: &Parts, problem: &Problem) -> Option<Response> {
    let (headers, path) = (&parts.headers, parts.uri.path());
    let wants = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !wants.is_some_and(|wants| wants.contains("text/html")) || path.starts_with("/v1/") {
        return None;
    }
    // Whoever is known keeps the way to everything else.
    let guest = door::guest(app, parts, None).await.ok().flatten();
    let known = guest.as_ref().map(|guest| (guest.by.clone(), guest.session.clone()));
    let call = Call::visiting(app, known, Vec::new(), Arc::new(headers.clone()), None);
    let visit = Visit::new(call, guest, headers, "/".to_owned(), "");
    Some(page(app, Some(&visit), headers, problem))
}

/// A problem as all that there is on a page.
fn body(problem: &Problem) -> Markup {
    html! {
        section class="problem notice bad" role="alert" {
            h1 { (heading(problem.kind)) }
            (told(problem))
            p { a href="/inbox" { "Go to the inbox" } }
        }
    }
}

/// A problem in its place on a page, such as above a form.
pub fn notice(problem: &Problem) -> Markup {
    html! { div class="problem notice bad" role="alert" { (told(problem)) } }
}

fn told(problem: &Problem) -> Markup {
    html! {
        p { (sentence(&problem.detail)) }
        @if problem.errors.len() > 1 {
            ul {
                @for fault in &problem.errors {
                    li {
                        @if !fault.path.is_empty() { code { (fault.path) } " " }
                        (fault.message)
                        @if let Some(hint) = &fault.hint { ": " (hint) }
                    }
                }
            }
        } @else if let Some(hint) = problem.errors.first().and_then(|fault| fault.hint.as_ref()) {
            p class="hint" { (sentence(hint)) }
        }
        @if let Some(hint) = &problem.hint {
            p class="hint" { (sentence(hint)) }
        }
    }
}

fn heading(kind: Kind) -> String {
    match kind {
        Kind::NotFound => "There is nothing here".to_owned(),
        Kind::Forbidden => "Your role does not allow that".to_owned(),
        Kind::Internal => "Something went wrong on the server".to_owned(),
        Kind::AlreadyDecided => "Somebody was faster".to_owned(),
        Kind::StaleDigest => "It changed while you looked".to_owned(),
        kind => sentence(kind.title()).trim_end_matches('.').to_owned(),
    }
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let mut sentence = first + chars.as_str();
    if !sentence.ends_with(['.', '!', '?', '…']) {
        sentence.push('.');
    }
    sentence
}
