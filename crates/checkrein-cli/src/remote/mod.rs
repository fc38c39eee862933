//! A server elsewhere: the same verbs over HTTP, with the shapes of `wire`.

mod chat;
mod checkpoint;
mod events;
mod run;

use std::time::{Duration, Instant};

use checkrein_core::config::env;
use checkrein_server::error::{Kind, ProblemJson};
use checkrein_server::wire::page::Page;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{CliError, Exit};
use crate::output::one_line;

/// A server and who asks it.
pub struct Remote {
    http: reqwest::Client,
    base: Url,
    runtime: tokio::runtime::Runtime,
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A request that is waited for on purpose says how long itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a request that is being done is waited for, and how often it is asked for.
const UNDER_WAY_MAX: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// What a page has at most.
const PAGE: usize = 1000;

impl Remote {
    pub fn at(url: &str) -> Result<Remote, CliError> {
        let base = address(url)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(token) = std::env::var(env::TOKEN).ok().filter(|token| !token.trim().is_empty()) {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                .map_err(|_| CliError::usage(format!("{} is no token", env::TOKEN)))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // Whoever set another one up was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("checkrein/", env!("CARGO_PKG_VERSION")))
            // A token is for the server that was named, and for no other.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&base) {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| CliError::failed(format!("no HTTP client: {error}")))?;
        Ok(Remote { http, base, runtime: crate::session::runtime()? })
    }

    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn get<T: DeserializeOwned>(&self, path: &[&str], query: &[(&str, String)]) -> Result<T, CliError> {
        self.wait(self.get_async(path, query))
    }

    pub async fn get_async<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, CliError> {
        self.answer(self.request(Method::GET, path, query).timeout(ANSWER_TIMEOUT)).await
    }

    /// Asks for a change. Whatever makes something new may be sent again without making two.
    pub fn post<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T, CliError> {
        self.wait(self.post_async(path, body))
    }

    pub async fn post_async<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        let key = uuid::Uuid::new_v4().to_string();
        let request = self.request(Method::POST, path, &[]).json(body).timeout(ANSWER_TIMEOUT);
        let request = request.header(HeaderName::from_static("idempotency-key"), key);
        let begun = Instant::now();
        let mut broke = false;
        loop {
            let Some(again) = request.try_clone() else { return self.answer(request).await };
            match self.answer(again).await {
                // The connection broke; what was done is not done again.
                Err(error) if error.is_unreachable() && !broke => broke = true,
                // The server is still at what it was asked before that.
                Err(error) if error.kind() == Some(Kind::KeyInUse) && begun.elapsed() < UNDER_WAY_MAX => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                answered => return answered,
            }
        }
    }

    /// The same where the answer is a secret, which no server keeps to give it again.
    pub fn post_unkeyed<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        self.wait(self.answer(self.request(Method::POST, path, &[]).json(body).timeout(ANSWER_TIMEOUT)))
    }

    pub fn delete<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CliError> {
        self.wait(self.answer(self.request(Method::DELETE, path, &[]).timeout(ANSWER_TIMEOUT)))
    }

    /// So many items of a list, however many pages they take.
    pub fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        cursor: &str,
        limit: usize,
    ) -> Result<Page<T>, CliError> {
        let mut all = Page { items: Vec::new(), next: None };
        loop {
            let left = limit.saturating_sub(all.items.len());
            let mut query = query.to_vec();
            query.push(("limit", left.min(PAGE).to_string()));
            if let Some(next) = all.next {
                query.retain(|(name, _)| *name != cursor);
                query.push((cursor, next.to_string()));
            }
            let page: Page<T> = self.get(path, &query)?;
            all.items.extend(page.items);
            all.next = page.next;
            if all.next.is_none() || all.items.len() >= limit {
                return Ok(all);
            }
        }
    }

    /// An answer that is text.
    pub fn text(&self, path: &[&str], query: &[(&str, String)]) -> Result<String, CliError> {
        self.wait(async {
            let request = self.request(Method::GET, path, query).timeout(ANSWER_TIMEOUT);
            let response = self.sent(request).await?;
            response.text().await.map_err(|error| self.unreachable(&error))
        })
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v1").extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.http.request(method, url)
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CliError> {
        let response = self.sent(request).await?;
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            CliError::failed(format!("the answer of {} cannot be read: {error}", self.base))
                .hint("is it a Checkrein server of the same version?")
        })
    }

    async fn sent(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = response.bytes().await.unwrap_or_default();
        Err(match serde_json::from_slice::<ProblemJson>(&bytes) {
            Ok(problem) => refused(problem),
            Err(_) => CliError::failed(format!("{} answered {status}", self.base))
                .hint("is it the address of a Checkrein server?"),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> CliError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let why = if error.is_timeout() { "it took too long".to_owned() } else { cause.to_string() };
        CliError::unreachable(format!("the server at {} cannot be asked: {}", self.base, one_line(&why)))
            .hint("`checkrein serve` starts one; `--server URL` names another")
    }
}

/// What a server refuses is to scripts what an engine refuses.
fn refused(problem: ProblemJson) -> CliError {
    let kind = Kind::of_uri(&problem.kind);
    let exit = match problem.status {
        404 | 409 | 412 if kind.is_some() => Exit::Conflict,
        400 | 413 | 415 | 422 => Exit::Usage,
        _ => Exit::Failed,
    };
    let hint = problem.hint.or_else(|| match problem.status {
        401 => Some(format!("set {} to a token of that server", env::TOKEN)),
        _ => None,
    });
    let error = CliError::with(exit, problem.detail).of_kind(kind);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn address(text: &str) -> Result<Url, CliError> {
    let wrong = |why: &str| {
        CliError::usage(format!("`{text}` is no address of a server: {why}"))
            .hint("write it such as https://checkrein.example.org or http://127.0.0.1:7411")
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("it takes http:// or https:// and a name"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("credentials do not belong into it"));
    }
    if url.scheme() == "http" && !is_loopback(&url) && std::env::var_os(env::TOKEN).is_some() {
        crate::error::warn(format_args!("{} is sent to {url} in the clear", env::TOKEN));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}
