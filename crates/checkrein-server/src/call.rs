//! One call: who asks, from which request, until there is an answer.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::{HeaderMap, HeaderValue, Method, header, request::Parts};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_engine::{Engine, EngineError, Nonce};
use checkrein_store::{SessionRow, Version};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::answer::{Content, Sent};
use crate::app::{App, Limits};
use crate::ask::Expected;
use crate::connection::Peer;
use crate::door::{Credentials, changes_nothing, same_site};
use crate::error::{Kind, Problem};
use crate::keyed::{self, Go};
use crate::route::{Access, Handler, Login, Route, Secrets};
use crate::session::{self, Transport};
use crate::traces;

/// What a handler knows of the request beside its query and body.
#[derive(Clone)]
pub struct Call {
    pub app: App,
    /// Whoever asks; where anybody may, there is nobody to be asked for.
    by: Option<Principal>,
    /// The session they are known by, where no token came.
    session: Option<SessionRow>,
    path: Vec<(String, String)>,
    headers: Arc<HeaderMap>,
    nonce: Option<Nonce>,
    peer: Option<IpAddr>,
}

impl Call {
    /// Of somebody who looks at a page.
    pub fn visiting(
        app: &App,
        known: Option<(Principal, SessionRow)>,
        path: Vec<(String, String)>,
        headers: Arc<HeaderMap>,
        peer: Option<IpAddr>,
    ) -> Call {
        let (by, session) = known.unzip();
        Call { app: app.clone(), by, session, path, headers, nonce: None, peer }
    }

    pub fn engine(&self) -> &Engine {
        self.app.engine()
    }

    pub fn by(&self) -> Result<&Principal, Problem> {
        self.by.as_ref().ok_or_else(unknown)
    }

    /// Work that may block its thread, or has to stay on it. It goes on when whoever asked is gone.
    pub async fn apart<T, F, W>(&self, work: W) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>>,
        W: FnOnce(Arc<Engine>, Principal) -> F + Send + 'static,
    {
        let (engine, by) = (self.app.shared_engine(), self.by()?.clone());
        let runtime = tokio::runtime::Handle::current();
        let working = tokio::task::spawn_blocking(move || runtime.block_on(work(engine, by)));
        match working.await {
            Ok(done) => Ok(done?),
            Err(error) => Err(Problem::new(Kind::Internal, format!("the work broke off: {error}"))),
        }
    }

    /// The version a change was decided on, where the request names one.
    pub fn if_match(&self) -> Result<Option<Version>, Problem> {
        let Some(said) = self.header(header::IF_MATCH).map(str::trim).filter(|said| *said != "*") else {
            return Ok(None);
        };
        let number = said.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match number.and_then(|number| number.parse().ok()) {
            Some(version) => Ok(Some(Version(version))),
            None => Err(Problem::new(Kind::Malformed, "`If-Match` is not a version")
                .hint("send the `ETag` of the answer it was decided on")),
        }
    }

    /// The address the request comes from.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// The session they are known by, where no token came.
    pub fn session(&self) -> Option<&SessionRow> {
        self.session.as_ref()
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// What ids of new things are made of, where the request may be sent again.
    pub fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// A part of the path, by its name in the route.
    pub fn path(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Where git reaches the branches of a job, under the name this was asked by.
    pub fn clone_url(&self, job: &RunId) -> Option<String> {
        let scheme = match self.app.transport() {
            Transport::Plain => "http",
            Transport::Tls => "https",
        };
        self.header(header::HOST).map(|host| format!("{scheme}://{host}/git/{job}.git"))
    }

    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

pub fn unknown() -> Problem {
    Problem::new(Kind::Unauthenticated, "the request says nothing about who asks")
        .hint("send `Authorization: Bearer TOKEN`; `checkrein token create` makes one")
}

/// What a request to a route that is open may bring.
const OPEN_BODY_BYTES_MAX: usize = 64 << 10;

/// From a request to its answer.
pub async fn answer(app: App, route: Arc<Route>, request: Request) -> Response {
    let span = app.traces().map(|traces| traces.request(&route.method, route.path, request.headers()));
    let response = answer_to(app, &route, request).await;
    if let Some(span) = span {
        traces::answered(span, response.status());
    }
    response
}

async fn answer_to(app: App, route: &Route, request: Request) -> Response {
    match answered(&app, route, request).await {
        Ok(sent) => sent.into_response(),
        Err(problem) => {
            let asks = route.login == Login::Password && problem.kind == Kind::Unauthenticated;
            let mut response = masked(&app, problem.sent()).into_response();
            if asks {
                // Git looks for a password where it is asked for one.
                let how = HeaderValue::from_static("Basic realm=\"checkrein\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
            }
            response
        }
    }
}

async fn answered(app: &App, route: &Route, request: Request) -> Result<Sent, Problem> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().map(|Peer(address)| address.ip());
    let Known { by, session } = authenticated(app, route, &parts, peer).await?;
    if let Some(by) = &by {
        app.count(by)?;
    }
    if !route.access.allows(by.as_ref().map(|by| by.role)) {
        return Err(refused(route.access, by.as_ref()));
    }
    let path = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(path) => path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        Err(_) => return Err(Problem::new(Kind::Malformed, "the path is not UTF-8")),
    };
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let handler = match &route.handler {
        Handler::Whole(handler) => handler,
        Handler::Pieces(handler) => {
            let headers = Arc::new(parts.headers);
            let call = Call { app: app.clone(), by, session, path, headers, nonce: None, peer };
            return handler(call, query, body).await;
        }
    };
    let body = read(app, route, &parts, body).await?;
    let under_way = match keyed::begin(app, route, by.as_ref(), &parts, &body).await? {
        Go::Unkeyed => None,
        Go::Keyed(under_way) => Some(under_way),
        Go::Answered(sent) => return Ok(sent),
    };
    let nonce = under_way.as_ref().map(|under_way| under_way.nonce);
    let headers = Arc::new(parts.headers);
    let call = Call { app: app.clone(), by, session, path, headers, nonce, peer };
    let answered = handler(call, query, body).await.map(|sent| match route.secrets {
        Secrets::Masked => masked(app, sent),
        Secrets::Shown => sent,
    });
    if let Some(under_way) = under_way {
        keyed::end(under_way, keyed::kept(&answered)).await?;
    }
    answered
}

/// An answer without what is secret here. Streams mask each piece themselves.
fn masked(app: &App, mut sent: Sent) -> Sent {
    let about = sent.about.clone();
    if let Content::Whole { bytes, media_type } = &mut sent.content {
        let json = media_type.starts_with("application/json") || media_type.contains("+json");
        let clean = if json {
            app.engine().redacted_json(bytes, about.as_ref())
        } else {
            app.engine().masker(about.as_slice()).masked(bytes)
        };
        if let Cow::Owned(clean) = clean {
            *bytes = clean;
        }
    }
    sent
}

/// Who asks, as far as it is known.
#[derive(Default)]
struct Known {
    by: Option<Principal>,
    session: Option<SessionRow>,
}

/// Who asks: by a token, or by the cookie of a session. A route that is open asks nobody.
async fn authenticated(
    app: &App,
    route: &Route,
    parts: &Parts,
    peer: Option<IpAddr>,
) -> Result<Known, Problem> {
    if route.access == Access::Open {
        return same_site(parts, Credentials::None).map(|()| Known::default());
    }
    if let Some(said) = parts.headers.get(header::AUTHORIZATION) {
        let said = said.to_str().ok().and_then(|said| said.split_once(' '));
        let malformed = || Problem::new(Kind::Unauthenticated, "`Authorization` is not `Bearer TOKEN`");
        let (secret, credentials) = match said {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => {
                (Some(secret.to_owned()), Credentials::Bearer)
            }
            // A browser remembers a password and sends it again by itself.
            Some((scheme, pair))
                if route.login == Login::Password && scheme.eq_ignore_ascii_case("basic") =>
            {
                (password(pair), Credentials::None)
            }
            _ => (None, Credentials::Bearer),
        };
        same_site(parts, credentials)?;
        let by = app.authenticate(&secret.ok_or_else(malformed)?, peer).await?;
        return Ok(Known { by: Some(by), session: None });
    }
    if route.login == Login::Password {
        return Ok(Known::default());
    }
    let Some(secret) = session::shown(&parts.headers, app.transport()) else { return Ok(Known::default()) };
    same_site(parts, Credentials::Cookie)?;
    let (by, session) = app.signed_in(secret, peer).await?;
    if !changes_nothing(&parts.method) && !session::may_change(&parts.headers, &session) {
        return Err(Problem::new(
            Kind::CrossSite,
            "the request does not show what a change of this session takes",
        )
        .hint("a page sends the `csrf_token` it got when it signed in as `X-CSRF-Token`"));
    }
    Ok(Known { by: Some(by), session: Some(session) })
}

/// The token a request brings, where it says anything.
pub fn bearer(parts: &Parts) -> Result<Option<&str>, Problem> {
    let Some(said) = parts.headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let secret = said.to_str().ok().and_then(|said| {
        let (scheme, secret) = said.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(secret)
    });
    let malformed = || Problem::new(Kind::Unauthenticated, "`Authorization` is not `Bearer TOKEN`");
    secret.map(Some).ok_or_else(malformed)
}

/// The token in what git sends: as the password, or as the name where there is none.
fn password(pair: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64_STANDARD.decode(pair.trim()).ok()?).ok()?;
    let (name, password) = pair.split_once(':')?;
    Some(if password.is_empty() { name } else { password }.to_owned())
}

pub fn refused(access: Access, by: Option<&Principal>) -> Problem {
    match (access, by) {
        (Access::To(act), Some(by)) => {
            let (name, role) = (by.name.clone(), by.role);
            EngineError::Forbidden { name, role, act }.into()
        }
        _ => unknown(),
    }
}

/// The whole body, if it is of a size and kind that is taken, and comes in time.
async fn read(app: &App, route: &Route, parts: &Parts, body: Body) -> Result<Bytes, Problem> {
    if route.method == Method::GET {
        return Ok(Bytes::new());
    }
    let limits = app.limits();
    // Whoever may be anybody has not much to say.
    let bytes_max = match route.access {
        Access::Open => limits.body_bytes_max.min(route.body_bytes_max.unwrap_or(OPEN_BODY_BYTES_MAX)),
        Access::Known | Access::To(_) => limits.body_bytes_max,
    };
    let collected = collect(limits, bytes_max, body).await?;
    if route.expected != Expected::Nothing && !collected.is_empty() {
        let media_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = media_type.and_then(|text| text.split(';').next()).map(str::trim);
        if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
            return Err(Problem::new(Kind::UnsupportedMediaType, "the body is not declared to be JSON")
                .hint("send `Content-Type: application/json`"));
        }
    }
    Ok(collected)
}

/// The whole body, within its bounds.
pub async fn collect(limits: &Limits, bytes_max: usize, body: Body) -> Result<Bytes, Problem> {
    let limited = Limited::new(body, bytes_max);
    match tokio::time::timeout(limits.body_time_max, limited.collect()).await {
        Err(_) => Err(Problem::new(Kind::TooSlow, "the body did not arrive in time")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let kib = bytes_max >> 10;
            Err(Problem::new(Kind::TooLarge, format!("the body is larger than {kib} KiB")))
        }
        Ok(Err(error)) => Err(Problem::new(Kind::Malformed, format!("the body broke off: {error}"))),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
    }
}
