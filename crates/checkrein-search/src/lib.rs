//! Finding text by its words and by its meaning.
//!
//! Documents become chunks by their structure; chunks become vectors, by a model that is part of the program or by
//! an endpoint somebody names; what two ways of looking found is fused into one ranking. Nothing here is kept:
//! the store has the index.

mod chunk;
mod document;
mod embedder;
mod endpoint;
mod model;
mod query;
mod rank;
mod snippet;
mod vector;
mod wordpiece;

pub use chunk::{CHUNK_WORDS_MAX, Chunk, chunks};
pub use document::{DOCUMENT_BYTES_MAX, DocumentKind, Unreadable, blocks};
pub use embedder::{Embedder, EmbeddingError, threads};
pub use endpoint::Endpoint;
pub use model::{Model, matmul_flops_per_second};
pub use query::{coverage, stem, terms};
pub use rank::{FUSION_K, fuse, nearest, weight_by_words};
pub use snippet::{Snippet, snippet};
pub use vector::Vector;
