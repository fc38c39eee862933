//! What every request has to pass, and what every answer carries.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::error::{Kind, Problem};

/// Nothing that is answered here is a page; one that is says what it needs itself.
const NO_PAGE: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

static HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, NO_PAGE),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

pub async fn pass(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let mut response = match app.names().check(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        if !headers.contains_key(name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    let route = route.as_deref().unwrap_or("none");
    app.metrics().answered(&method, route, response.status(), begun.elapsed());
    response
}

/// The names the server answers under. A page of another site whose name was pointed here has another
/// one, so it gets nothing.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub own: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Asked by machines that know an address and no name, and telling nothing.
const NAMELESS: [&str; 2] = ["/healthz", "/readyz"];

impl Names {
    fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
        if NAMELESS.contains(&uri.path()) {
            return Ok(());
        }
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Problem::new(Kind::Malformed, "the request has no `Host`, or several"));
        };
        let named = host.to_str().unwrap_or_default();
        let asked = uri.authority().map(|authority| authority.as_str());
        for name in std::iter::once(named).chain(asked) {
            if !self.has(name) {
                let name: String = name.chars().take(100).collect();
                return Err(Problem::new(
                    Kind::Misdirected,
                    format!("`{name}` is not a name of this server"),
                )
                .hint("name it with `checkrein serve --host NAME`, or ask for `localhost`"));
            }
        }
        Ok(())
    }

    /// Every name, without ports.
    pub fn all(&self) -> Vec<String> {
        LOOPBACK.into_iter().map(str::to_owned).chain(self.own.iter().cloned()).collect()
    }

    fn has(&self, host: &str) -> bool {
        let name = without_port(host);
        LOOPBACK.contains(&name) || self.own.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether a request that changes something was made by a page of this server, as a browser says it.
/// Whoever is known by a cookie has to come from here; whoever says nothing about who they are must not
/// come from elsewhere.
pub fn same_site(parts: &Parts, credentials: Credentials) -> Result<(), Problem> {
    if changes_nothing(&parts.method) {
        return Ok(());
    }
    let said = |name: HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = said(header::HOST).unwrap_or_default();
    let site = said(HeaderName::from_static("sec-fetch-site")).map(|site| site == "same-origin");
    let origin = said(header::ORIGIN)
        .map(|origin| origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host)));
    let here = match (credentials, site, origin) {
        // A browser sends no such header by itself.
        (Credentials::Bearer, ..) => true,
        (Credentials::Cookie, None, None) => false,
        (Credentials::Cookie | Credentials::None, site, origin) => {
            site.unwrap_or(true) && origin.unwrap_or(true)
        }
    };
    if here {
        return Ok(());
    }
    Err(Problem::new(Kind::CrossSite, "the request does not come from a page of this server")
        .hint("a program sends `Authorization: Bearer TOKEN` instead of a cookie"))
}

/// Whether a method can do nothing but look.
pub fn changes_nothing(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// How a request says who it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    None,
    Bearer,
    Cookie,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_answered_under() {
        let names = Names { own: vec!["checkrein.example".to_owned(), "[fe80::1]".to_owned()] };
        for (host, ours) in [
            ("localhost", true),
            ("localhost:7117", true),
            ("127.0.0.1:80", true),
            ("[::1]:7117", true),
            ("[::1]", true),
            ("[fe80::1]", true),
            ("Checkrein.Example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("evil.example:7117", false),
            ("127.0.0.1.nip.io", false),
            ("localhost:", false),
            ("user@localhost", false),
            ("", false),
        ] {
            assert_eq!(names.has(host), ours, "{host}");
        }
    }
}
