//! A search of the web on the endpoint the user named: `GET {url}?q=…&format=json`, as SearXNG answers it.

use std::time::Duration;

use checkrein_core::config::WebSearchShape;
use serde::{Deserialize, Serialize};

pub(crate) struct WebSearch {
    url: String,
    key: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<Hit>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Hit {
    #[serde(default)]
    title: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    content: String,
}

const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: usize = 1 << 20;
const HITS_MAX: usize = 8;
const QUERY_CHARS_MAX: usize = 300;

impl WebSearch {
    pub fn new(shape: &WebSearchShape, key: Option<String>) -> WebSearch {
        WebSearch { url: shape.url.clone(), key }
    }

    pub(super) async fn search(&self, query: &str) -> Result<Vec<Hit>, String> {
        let query: String = query.chars().take(QUERY_CHARS_MAX).collect();
        // Whoever set another one up was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(ANSWER_TIME_MAX)
            // A key goes to the address it is meant for, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("checkrein/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        let mut url = url::Url::parse(&self.url).map_err(|error| format!("`{}`: {error}", self.url))?;
        url.query_pairs_mut().append_pair("q", &query).append_pair("format", "json");
        let mut request = client.get(url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let failed = |error: reqwest::Error| format!("the web cannot be searched: {}", error.without_url());
        let mut answer = request.send().await.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(format!("the web cannot be searched: the endpoint answered {}", answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err("the web cannot be searched: the endpoint says too much".to_owned());
            }
        }
        let mut found: Answer = serde_json::from_slice(&bytes)
            .map_err(|error| format!("the endpoint of web searches answered something else: {error}"))?;
        found.results.truncate(HITS_MAX);
        Ok(found.results)
    }
}
