//! A person in a browser: signed in by a link that works once, or by a token. A cookie that no script can
//! read says who it is; what changes something shows a second secret, which the page keeps in its own
//! storage. The cookie goes to every port of the host, that storage is of one origin.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::SessionRow;
use jiff::Timestamp;
use uuid::Uuid;

use crate::error::{Kind, Problem};

/// The beginning of the cookie's name.
pub const COOKIE: &str = "checkrein_session";

/// A browser is signed out after this.
pub const SESSION_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// A link that nobody used is worthless after this.
const LINK_MAX: Duration = Duration::from_secs(60 * 60);

/// Links that were printed and not used yet. They are gone when the server is.
#[derive(Debug, Default)]
pub struct Links(Mutex<Vec<Link>>);

#[derive(Clone, Debug)]
struct Link {
    secret: Digest,
    by: Principal,
    until: Timestamp,
}

impl Links {
    /// The secret of a new link, for the person this machine knows.
    pub fn make(&self, name: &str, now: Timestamp) -> String {
        let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let by = Principal::new(name, PrincipalKind::Person, Role::Admin);
        let until = now.checked_add(LINK_MAX).unwrap_or(Timestamp::MAX);
        let link = Link { secret: Digest::of(secret.as_bytes()), by, until };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        secret
    }

    /// Whom a link signs in; nobody the second time.
    pub fn take(&self, secret: &str, now: Timestamp) -> Option<Principal> {
        let digest = Digest::of(secret.as_bytes());
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > now);
        let index = links.iter().position(|link| link.secret == digest)?;
        Some(links.remove(index).by)
    }
}

/// What a change has to show beside the cookie. A page keeps it where other origins cannot look.
pub const FOR_CHANGES: HeaderName = HeaderName::from_static("x-csrf-token");

/// The secret of the session a request comes with.
pub fn shown(headers: &HeaderMap, transport: Transport) -> Option<&str> {
    let own = name(headers, transport);
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == own).map(|(_, value)| value)
}

/// Whether a request shows what makes it a change of this session.
pub fn may_change(headers: &HeaderMap, session: &SessionRow) -> bool {
    let mut shown = headers.get_all(FOR_CHANGES).into_iter();
    match (shown.next(), shown.next()) {
        (Some(secret), None) => Digest::of(secret.as_bytes().trim_ascii()) == session.for_changes,
        _ => false,
    }
}

/// A browser has one jar for all ports of a host, so the port is in the name: servers beside each other
/// do not sign each other's people out.
fn name(headers: &HeaderMap, transport: Transport) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host
        .rsplit_once(':')
        .map(|(_, port)| port)
        .filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let prefix = match transport {
        Transport::Plain => "",
        // No other host and no plain page can set it.
        Transport::Tls => "__Host-",
    };
    match port {
        Some(port) => format!("{prefix}{COOKIE}_{port}"),
        None => format!("{prefix}{COOKIE}"),
    }
}

/// How browsers reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Tls,
}

/// The header that begins a session.
pub fn begun(headers: &HeaderMap, secret: &str, transport: Transport) -> Result<HeaderValue, Problem> {
    written(headers, secret, SESSION_MAX, transport)
}

/// The header that ends one.
pub fn ended(headers: &HeaderMap, transport: Transport) -> Result<HeaderValue, Problem> {
    written(headers, "", Duration::ZERO, transport)
}

fn written(
    headers: &HeaderMap,
    value: &str,
    length: Duration,
    transport: Transport,
) -> Result<HeaderValue, Problem> {
    let secure = match transport {
        Transport::Plain => "",
        Transport::Tls => "; Secure",
    };
    let (name, seconds) = (name(headers, transport), length.as_secs());
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).map_err(|_| Problem::new(Kind::Internal, "the session cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_in_the_name_of_the_cookie() {
        for (host, transport, expected) in [
            ("localhost:7117", Transport::Plain, "checkrein_session_7117"),
            ("[::1]:80", Transport::Plain, "checkrein_session_80"),
            ("[::1]", Transport::Plain, "checkrein_session"),
            ("checkrein.example", Transport::Tls, "__Host-checkrein_session"),
            ("localhost:", Transport::Plain, "checkrein_session"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            assert_eq!(name(&headers, transport), expected, "{host}");
            let cookie = format!("a=b; {expected}=secret; {expected}x=c");
            headers.insert(header::COOKIE, HeaderValue::from_str(&cookie).unwrap());
            assert_eq!(shown(&headers, transport), Some("secret"), "{host}");
        }
    }
}
