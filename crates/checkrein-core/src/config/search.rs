//! How workspaces are searched.

use schemars::JsonSchema;
use serde::Deserialize;

/// How workspaces of jobs are searched. Followed in the user's own settings alone: what a job holds is sent to no
/// address that came with a repository.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchShape {
    /// Who makes vectors of texts. The model that is built in, if nothing is said.
    pub embeddings: Option<EmbeddingsShape>,
}

/// An endpoint that answers `POST {url}/embeddings` as OpenAI's does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingsShape {
    /// The base of the API, such as `https://api.openai.com/v1`.
    pub url: String,
    /// The model that is asked for.
    pub model: String,
    /// The variable that has the key.
    pub key_env: Option<String>,
}
