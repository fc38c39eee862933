//! MCP over HTTP, at `/mcp`. Who asks is asked anew with every request, by a token alone: a cookie is nothing
//! here. The newest revision of the protocol has no sessions; those of the older ones belong to the token
//! that began them.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, Method, header, request::Parts};
use axum::response::{IntoResponse, Response};
use checkrein_core::principal::Principal;
use checkrein_engine::{ATTEMPT_PREFIX, OwnAttempt};
use futures_util::StreamExt;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::asking::{Caller, Look};
use super::{Mcp, Place, exact};
use crate::app::App;
use crate::call;
use crate::connection::Peer;
use crate::error::{Kind, Problem};
use crate::session::Transport;

/// Where it is found.
pub const PATH: &str = "/mcp";

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// So many sessions one token has at once; a further one ends its oldest.
const SESSIONS_MAX: usize = 32;
/// A session nobody uses is forgotten.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(3600);

#[derive(Clone)]
pub struct Endpoint {
    app: App,
    service: StreamableHttpService<Mcp, LocalSessionManager>,
    sessions: Arc<Sessions>,
}

impl Endpoint {
    pub fn new(app: &App) -> Endpoint {
        let mcp = Mcp::new(Place {
            engine: Some(app.shared_engine()),
            later: None,
            attempt: None,
            experts: app.experts(),
            tools_listed: None,
            directory: None,
            by: None,
            closing: Some(app.closing_watch()),
        });
        let mut manager = LocalSessionManager::default();
        manager.session_config = SessionConfig::default();
        manager.session_config.keep_alive = Some(SESSION_IDLE_MAX);
        let manager = Arc::new(manager);
        let names = app.names().all();
        let origins = names.iter().flat_map(|name| [format!("http://{name}:*"), format!("https://{name}:*")]);
        let config = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(app.limits().sign_of_life))
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_allowed_hosts(names)
            .with_max_request_body_bytes(app.limits().body_bytes_max);
        // Streams that stay open end with the server.
        let (closing, streams) = (app.clone(), config.cancellation_token.clone());
        tokio::spawn(async move {
            closing.closing().await;
            streams.cancel();
        });
        let service = StreamableHttpService::new(move || Ok(mcp.clone()), Arc::clone(&manager), config);
        Endpoint {
            app: app.clone(),
            service,
            sessions: Arc::new(Sessions { manager, owners: Mutex::default() }),
        }
    }

    pub async fn answer(self, request: Request) -> Response {
        match self.answered(request).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn answered(&self, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Peer>().map(|Peer(address)| address.ip());
        let (by, attempt) = self.authenticated(&parts, peer).await?;
        self.app.count(&by)?;
        if self.app.is_closing() {
            return Err(Problem::new(Kind::Unavailable, "the server is ending").hint("come back later"));
        }
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if session.as_deref().is_some_and(|id| !self.sessions.is_of(id, &by)) {
            return Err(Problem::new(Kind::NotFound, "there is no such session of this token")
                .hint("begin a new one with `initialize`"));
        }
        let body = match parts.method {
            Method::POST => call::collect(self.app.limits(), self.app.limits().body_bytes_max, body).await?,
            _ => axum::body::Bytes::new(),
        };
        let caller = Caller { by: by.clone(), look: Look::Server(self.address(&parts)), attempt };
        parts.extensions.insert(caller);
        // Whatever looks at a request further on has no use for the secret it came with.
        parts.headers.remove(header::AUTHORIZATION);
        parts.headers.remove(header::COOKIE);
        let ends = parts.method == Method::DELETE;
        let response = self
            .service
            .handle(Request::from_parts(parts, Body::from(exact::noted(&body).into_owned())))
            .await;
        let begun = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match (session, begun) {
            (Some(ended), _) if ends => self.sessions.forget(&ended),
            (None, Some(begun)) => self.sessions.begin(begun, &by).await,
            _ => {}
        }
        let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let streams = media_type.is_some_and(|media_type| media_type.starts_with("text/event-stream"));
        Ok(response.map(|body| if streams { self.while_known(by, Body::new(body)) } else { Body::new(body) }))
    }

    /// What goes on for long ends with the token it was begun with.
    fn while_known(&self, by: Principal, body: Body) -> Body {
        let state = (self.app.clone(), by, body.into_data_stream(), Instant::now());
        Body::from_stream(futures_util::stream::unfold(
            state,
            |(app, by, mut pieces, mut known_at)| async move {
                let patience = app.limits().sign_of_life;
                loop {
                    let left = patience.saturating_sub(known_at.elapsed());
                    if left.is_zero() {
                        app.engine().still_authentic(&by).await.ok()?;
                        known_at = Instant::now();
                        continue;
                    }
                    if let Ok(piece) = tokio::time::timeout(left, pieces.next()).await {
                        return piece.map(|piece| (piece, (app, by, pieces, known_at)));
                    }
                }
            },
        ))
    }

    /// Who asks, and the one attempt it speaks for, if it is one.
    async fn authenticated(
        &self,
        parts: &Parts,
        peer: Option<IpAddr>,
    ) -> Result<(Principal, Option<OwnAttempt>), Problem> {
        match call::bearer(parts)? {
            Some(secret) if secret.starts_with(ATTEMPT_PREFIX) => {
                let (by, files) = self.app.authenticate_attempt(secret, peer).await?;
                Ok((by, Some(OwnAttempt::Phase(files))))
            }
            Some(secret) => Ok((self.app.authenticate(secret, peer).await?, None)),
            None => Err(call::unknown()),
        }
    }

    /// Where people find the server; what it is called where the request comes from, if nobody said. Its
    /// name was looked at by the door.
    fn address(&self, parts: &Parts) -> String {
        if let Some(url) = self.app.engine().public_url() {
            return url.trim_end_matches('/').to_owned();
        }
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        let scheme = match self.app.transport() {
            Transport::Plain => "http",
            Transport::Tls => "https",
        };
        format!("{scheme}://{host}")
    }
}

/// Whose each session is.
struct Sessions {
    manager: Arc<LocalSessionManager>,
    /// Oldest first: session, and who began it.
    owners: Mutex<VecDeque<(String, String)>>,
}

impl Sessions {
    fn owners(&self) -> std::sync::MutexGuard<'_, VecDeque<(String, String)>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_of(&self, id: &str, by: &Principal) -> bool {
        let who = key(by);
        self.owners().iter().any(|(known, owner)| known == id && *owner == who)
    }

    fn forget(&self, id: &str) {
        self.owners().retain(|(known, _)| known != id);
    }

    /// Remembers a session, forgets those that are over, and ends what is too much.
    async fn begin(&self, id: String, by: &Principal) {
        let alive: Vec<String> = self.manager.sessions.read().await.keys().map(ToString::to_string).collect();
        let who = key(by);
        let too_much = {
            let mut owners = self.owners();
            owners.retain(|(known, _)| alive.contains(known));
            owners.push_back((id, who.clone()));
            let of_same = owners.iter().filter(|(_, owner)| *owner == who).count();
            let oldest = owners.iter().position(|(_, owner)| *owner == who);
            oldest.filter(|_| of_same > SESSIONS_MAX).and_then(|oldest| owners.remove(oldest))
        };
        if let Some((oldest, _)) = too_much {
            let _ = self.manager.close_session(&SessionId::from(oldest)).await;
        }
    }
}

/// By which a principal is told from others, also of the same name.
fn key(by: &Principal) -> String {
    by.token.clone().unwrap_or_else(|| by.name.clone())
}
