//! A webhook of the forge: that something happened there. It is a hint to look, and nothing it says is believed.

use checkrein_core::notification::is_signed;
use serde_json::Value;

use crate::Engine;

/// Why a webhook is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HintError {
    #[error(
        "no forge with `webhook_secret_env` is in the settings of this server, or that variable is not set"
    )]
    NotSetUp,
    #[error("the signature does not fit the body and the secret")]
    NotSigned,
    #[error("the body names no repository")]
    NoRepository,
}

impl Engine {
    /// Takes a signed webhook; how many jobs are looked at because of it.
    pub fn hint_of_forge(&self, signature: Option<&str>, body: &[u8]) -> Result<usize, HintError> {
        let (shape, url) =
            self.settings.forge().and_then(|shape| Some((shape, shape.url()?))).ok_or(HintError::NotSetUp)?;
        let name = shape.webhook_secret_env.as_deref().ok_or(HintError::NotSetUp)?;
        let secret = self.settings.variable(name).filter(|secret| !secret.is_empty());
        let secret = secret.ok_or(HintError::NotSetUp)?;
        let signature = signature.map(|text| text.strip_prefix("sha256=").unwrap_or(text));
        if !signature.is_some_and(|signature| is_signed(secret.as_bytes(), body, signature)) {
            return Err(HintError::NotSigned);
        }
        let told: Value = serde_json::from_slice(body).map_err(|_| HintError::NoRepository)?;
        let repository = told.pointer("/repository/full_name").and_then(Value::as_str);
        Ok(self.hint_at(url, repository.ok_or(HintError::NoRepository)?))
    }
}
