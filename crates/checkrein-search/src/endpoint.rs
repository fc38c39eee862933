//! Vectors from an endpoint that speaks as OpenAI's does: `POST {url}/embeddings`.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::embedder::EmbeddingError;
use crate::vector::Vector;

#[derive(Clone)]
pub struct Endpoint {
    client: reqwest::Client,
    url: String,
    model: String,
    key: Option<String>,
}

/// Texts in one request.
const TEXTS_MAX: usize = 64;
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// No answer to so many texts is longer.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// What an endpoint says about what went wrong is shown so far.
const REASON_CHARS_MAX: usize = 300;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

impl Endpoint {
    /// `url` is the base, such as `https://api.openai.com/v1`.
    pub fn new(url: &str, model: &str, key: Option<String>) -> Result<Endpoint, EmbeddingError> {
        let url = url.trim_end_matches('/').to_owned();
        let failed =
            |error: reqwest::Error| EmbeddingError::Endpoint { url: url.clone(), reason: error.to_string() };
        let client =
            reqwest::Client::builder().timeout(ANSWER_TIME_MAX).redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(failed)?;
        Ok(Endpoint { client, url, model: model.to_owned(), key })
    }

    pub fn name(&self) -> String {
        format!("{}@{}", self.model, self.url)
    }

    pub async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbeddingError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(TEXTS_MAX) {
            vectors.extend(self.ask(some).await?);
        }
        Ok(vectors)
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbeddingError> {
        let failed = |reason: String| EmbeddingError::Endpoint { url: self.url.clone(), reason };
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let mut request = self.client.post(format!("{}/embeddings", self.url)).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let mut answer = request.send().await.map_err(|error| failed(words(&error)))?;
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| failed(words(&error)))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(failed("its answer has no end".to_owned()));
            }
        }
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&bytes).chars().take(REASON_CHARS_MAX).collect();
            return Err(failed(format!("it answered {status}: {}", said.trim())));
        }
        let answer: Answer = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        let mut found: Vec<Option<Vector>> = vec![None; texts.len()];
        for one in answer.data {
            if let Some(slot) = found.get_mut(one.index) {
                *slot = Some(Vector::normalised(&one.embedding));
            }
        }
        let whole: Option<Vec<Vector>> = found.into_iter().collect();
        whole.ok_or_else(|| failed(format!("it answered {} texts with fewer vectors", texts.len())))
    }
}

fn words(error: &reqwest::Error) -> String {
    use std::error::Error;
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = error.to_string();
        source = error.source();
    }
    text
}

/// Its key is nobody's business.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}
