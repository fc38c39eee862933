//! One page or one form: method, path, who may use it, and what does the work.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::{HeaderMap, Method, Uri, header, request::Parts};
use axum::response::Response;
use checkrein_engine::Act;

use super::door;
use super::fields::Fields;
use super::layout;
use super::link;
use super::problem;
use super::view::Shown;
use super::visit::Visit;
use crate::app::App;
use crate::call::{self, Call};
use crate::connection::Peer;
use crate::error::Problem;
use crate::route::Access;
use crate::traces;

type Showing = Pin<Box<dyn Future<Output = Result<Shown, Problem>> + Send>>;

pub struct Page {
    pub method: Method,
    pub path: &'static str,
    access: Access,
    kept: Kept,
    handler: Box<dyn Fn(Visit) -> Showing + Send + Sync>,
}

/// What a form has to show beside the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// The secret that only pages of this origin can keep.
    Proven,
    /// Nothing: it changes nothing that is not the sender's own browser.
    Harmless,
}

impl Page {
    /// Something to look at. INVARIANT: nothing behind it changes anything.
    pub fn get<A, F, W>(path: &'static str, handler: F) -> Page
    where
        A: Into<Shown>,
        F: Fn(Visit) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        Page::new(Method::GET, path, handler)
    }

    /// A form that was sent.
    pub fn post<A, F, W>(path: &'static str, handler: F) -> Page
    where
        A: Into<Shown>,
        F: Fn(Visit) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        Page::new(Method::POST, path, handler)
    }

    fn new<A, F, W>(method: Method, path: &'static str, handler: F) -> Page
    where
        A: Into<Shown>,
        F: Fn(Visit) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let handler = move |visit: Visit| -> Showing {
            let working = handler(visit);
            Box::pin(async move { working.await.map(Into::into) })
        };
        Page { method, path, access: Access::To(Act::Read), kept: Kept::Proven, handler: Box::new(handler) }
    }

    /// For whoever may do this; without it, for whoever may read.
    pub fn to(self, act: Act) -> Page {
        Page { access: Access::To(act), ..self }
    }

    /// A form that changes nothing but how this browser sees the pages.
    pub fn harmless(self) -> Page {
        Page { kept: Kept::Harmless, ..self }
    }

    /// For everybody who is known.
    pub fn known(self) -> Page {
        Page { access: Access::Known, ..self }
    }

    /// For anybody.
    pub fn open(self) -> Page {
        Page { access: Access::Open, ..self }
    }
}

/// From a request to the page that answers it.
pub async fn answer(app: App, page: Arc<Page>, request: Request) -> Response {
    let span = app.traces().map(|traces| traces.request(&page.method, page.path, request.headers()));
    let response = answered(&app, &page, request).await;
    if let Some(span) = span {
        traces::answered(span, response.status());
    }
    response
}

async fn answered(app: &App, page: &Page, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let headers = Arc::new(parts.headers.clone());
    let uri = parts.uri.clone();
    // A form is sent to an address that cannot be looked at: what leads back leads to the page it was on.
    let here = match page.method {
        Method::POST => sent_from(&headers),
        _ => uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
    };
    let peer = parts.extensions.get::<Peer>().map(|Peer(address)| address.ip());
    let guest = match door::guest(app, &parts, peer).await {
        Ok(guest) => guest,
        Err(problem) => return problem::page(app, None, &headers, &problem),
    };
    let path = path_of(&mut parts).await;
    let known = guest.as_ref().map(|guest| (guest.by.clone(), guest.session.clone()));
    let call = Call::visiting(app, known, path, Arc::clone(&headers), peer);
    let mut visit = Visit::new(call, guest, &headers, here, uri.query().unwrap_or_default());
    let shown = go(app, page, &parts, body, &mut visit).await;
    match shown {
        Ok(shown) => layout::response(&visit, shown),
        Err(problem) => problem::page(app, Some(&visit), &headers, &problem),
    }
}

async fn go(
    app: &App,
    page: &Page,
    parts: &Parts,
    body: axum::body::Body,
    visit: &mut Visit,
) -> Result<Shown, Problem> {
    if let Some(guest) = &visit.guest {
        app.count(&guest.by)?;
    }
    match (&visit.guest, page.access) {
        (None, Access::Known | Access::To(_)) => return Err(call::unknown()),
        (Some(guest), access) if !access.allows(Some(guest.by.role)) => {
            return Err(call::refused(access, Some(&guest.by)));
        }
        _ => {}
    }
    if page.method == Method::POST {
        let body = call::collect(app.limits(), app.limits().body_bytes_max, body).await?;
        let media_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let form = Fields::of_body(media_type, body).await?;
        visit.form = Arc::new(form);
        door::sent_from_here(parts, visit.guest.as_ref())?;
        if let (Some(guest), Kept::Proven) = (&visit.guest, page.kept) {
            door::may_change(app, guest, &visit.form, visit.call.peer()).await?;
        }
    }
    (page.handler)(visit.clone()).await
}

/// The path and query of the page a form was on, where the browser says it.
fn sent_from(headers: &HeaderMap) -> String {
    let page = headers.get(header::REFERER).and_then(|value| value.to_str().ok()?.parse::<Uri>().ok());
    let path = page.as_ref().and_then(Uri::path_and_query).map(|path| path.as_str());
    path.filter(|path| link::is_local(path)).unwrap_or("/").to_owned()
}

async fn path_of(parts: &mut Parts) -> Vec<(String, String)> {
    let path = RawPathParams::from_request_parts(parts, &()).await;
    path.map(|path| path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        .unwrap_or_default()
}
