//! Whom people ask about jobs.

use schemars::JsonSchema;
use serde::Deserialize;

use super::model::ModelShape;

/// The companion of conversations about jobs. Followed in the user's own settings alone: what a job holds is sent to
/// no address that came with a repository.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompanionShape {
    /// The model that answers. Without one, questions are answered with what a search finds.
    pub model: Option<ModelShape>,
    /// Where it searches the web before a job. Without it, it cannot.
    pub web_search: Option<WebSearchShape>,
}

/// An endpoint that answers `GET {url}?q=…&format=json` with `{"results": [{"title", "url", "content"}]}`, as SearXNG does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebSearchShape {
    /// Such as `https://searx.example/search`.
    pub url: String,
    /// The variable that has a key, sent as `Authorization: Bearer`.
    pub key_env: Option<String>,
}
