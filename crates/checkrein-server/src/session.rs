//! A person in a browser: signed in by a link that works once, or by a token, and known by a cookie
//! that no script can read and no other site can use.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use jiff::Timestamp;
use uuid::Uuid;

use crate::error::{Kind, Problem};

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

/// What the cookie carries: the secret of a token, and what becomes of that token at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub secret: String,
    pub made_for: MadeFor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeFor {
    /// The token was made for this session and ends with it.
    Session,
    /// It is somebody's token, who goes on having it.
    Bearer,
}

impl Session {
    /// The session a request comes with.
    pub fn of(headers: &HeaderMap) -> Option<Session> {
        let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
        let (mark, secret) = value.split_once('.')?;
        let made_for = match mark {
            "s" => MadeFor::Session,
            "t" => MadeFor::Bearer,
            _ => return None,
        };
        Some(Session { secret: secret.to_owned(), made_for })
    }

    /// The header that begins it.
    pub fn cookie(&self, length: Duration, transport: Transport) -> Result<HeaderValue, Problem> {
        let mark = match self.made_for {
            MadeFor::Session => "s",
            MadeFor::Bearer => "t",
        };
        written(&format!("{mark}.{}", self.secret), length, transport)
    }
}

/// How browsers reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Tls,
}

/// The header that ends a session.
pub fn ended(transport: Transport) -> Result<HeaderValue, Problem> {
    written("", Duration::ZERO, transport)
}

fn written(value: &str, length: Duration, transport: Transport) -> Result<HeaderValue, Problem> {
    let secure = match transport {
        Transport::Plain => "",
        Transport::Tls => "; Secure",
    };
    let seconds = length.as_secs();
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).map_err(|_| Problem::new(Kind::Internal, "the session cannot be written"))
}
