//! Who makes vectors of texts: the model in the program, or an endpoint.

use thiserror::Error;

use crate::endpoint::Endpoint;
use crate::model::Model;
use crate::vector::Vector;

#[derive(Clone, Debug, Default)]
pub enum Embedder {
    /// Part of the program: no network, no key.
    #[default]
    Builtin,
    Endpoint(Endpoint),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EmbeddingError {
    #[error("the embeddings endpoint {url} cannot be used: {reason}")]
    Endpoint { url: String, reason: String },
    #[error("the built-in model in this program is damaged")]
    Damaged,
}

impl Embedder {
    /// What its vectors are known by: those of another one cannot be compared with them.
    pub fn name(&self) -> String {
        match self {
            Embedder::Builtin => Model::NAME.to_owned(),
            Embedder::Endpoint(endpoint) => endpoint.name(),
        }
    }

    /// The vectors of texts, in their order. The built-in model takes so many threads, and blocks the one it is
    /// called on.
    pub async fn embed(&self, texts: &[&str], threads: usize) -> Result<Vec<Vector>, EmbeddingError> {
        match self {
            Embedder::Builtin => {
                let model = Model::builtin().ok_or(EmbeddingError::Damaged)?;
                Ok(match texts {
                    [one] => vec![model.embed(one)],
                    many => model.embed_all(many, threads),
                })
            }
            Embedder::Endpoint(endpoint) => endpoint.embed(texts).await,
        }
    }
}

/// How many threads may work on vectors in the background: one core is left for whoever asks something.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1)).max(1)
}
