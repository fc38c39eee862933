//! Language models as settings name them: for the built-in agent, and for whoever else talks to one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language model and how it is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "model")]
pub struct ModelShape {
    /// The dialect: `anthropic`, or `openai` for chat completions, which most other servers speak.
    pub api: ModelApi,
    /// The name the API knows it by.
    pub model: String,
    /// Where the API is; the vendor's own address if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variable its key is in: ANTHROPIC_API_KEY or OPENAI_API_KEY if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// How long one answer may be, in tokens. 8192 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much the model can read, in tokens. 200000 by default for Anthropic, 128000 for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// What it costs; without it nothing is said about cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelApi {
    Anthropic,
    Openai,
}

/// Of a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Of what is read from the cache; as `input` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Of what is put into the cache; as `input` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl ModelApi {
    const fn vendor(self) -> &'static str {
        match self {
            ModelApi::Anthropic => "https://api.anthropic.com",
            ModelApi::Openai => "https://api.openai.com/v1",
        }
    }

    /// The variable the vendors' own programs are pointed elsewhere with.
    const fn url_variable(self) -> &'static str {
        match self {
            ModelApi::Anthropic => "ANTHROPIC_BASE_URL",
            ModelApi::Openai => "OPENAI_BASE_URL",
        }
    }

    const fn key_variable(self) -> &'static str {
        match self {
            ModelApi::Anthropic => "ANTHROPIC_API_KEY",
            ModelApi::Openai => "OPENAI_API_KEY",
        }
    }
}

impl ModelShape {
    /// Where it is: as the settings say, as the vendor's variable does, or at the vendor.
    pub fn address(&self, get: impl Fn(&str) -> Option<String>) -> String {
        let elsewhere = || get(self.api.url_variable()).filter(|url| !url.trim().is_empty());
        self.url.clone().or_else(elsewhere).unwrap_or_else(|| self.api.vendor().to_owned())
    }

    /// The variables whoever talks to it needs.
    pub fn variables(&self) -> [&str; 2] {
        [self.key_variable(), self.api.url_variable()]
    }

    pub fn key_variable(&self) -> &str {
        self.key_env.as_deref().unwrap_or(self.api.key_variable())
    }

    /// Models on this machine often want none; whoever names a variable wants one.
    pub fn needs_key(&self) -> bool {
        self.key_env.is_some() || self.url.is_none()
    }

    pub fn output_tokens_max(&self) -> u32 {
        self.max_tokens.unwrap_or(8192)
    }

    pub fn context_tokens(&self) -> u64 {
        self.context_tokens.unwrap_or(match self.api {
            ModelApi::Anthropic => 200_000,
            ModelApi::Openai => 128_000,
        })
    }
}
