//! What is secret here, and is shown nowhere: the values of variables that the settings name, tokens, and
//! what signs for webhooks.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use checkrein_core::config::Settings;
use checkrein_core::notification::WebhookSecret;
use checkrein_core::run::RunId;

use crate::Engine;
use crate::token::{PREFIX, SECRET_DIGITS};

/// Shorter ones would be found in every other word.
const SECRET_BYTES_MIN: usize = 4;
const MASK: &[u8] = b"***";

/// Made once: settings do not change under an engine.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Option<AhoCorasick>);

impl Secrets {
    pub fn of(settings: &Settings) -> Secrets {
        let value = |name: &String| {
            let found = settings.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        Secrets::among(settings.secrets().filter_map(value))
    }

    fn among(values: impl Iterator<Item = String>) -> Secrets {
        let values = values.filter(|value| value.len() >= SECRET_BYTES_MIN);
        // In JSON a quote or a line end looks different, and shows the secret as well.
        let written = |value: String| {
            let json = serde_json::to_string(&value).unwrap_or_default();
            let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
            [inner.unwrap_or_default().to_owned(), value]
        };
        let patterns: Vec<String> = values.flat_map(written).collect();
        if patterns.is_empty() {
            return Secrets(None);
        }
        // A secret may begin with another one; the longer one must not leave its end behind.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns);
        Secrets(search.ok())
    }
}

impl Secrets {
    fn masked<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match &self.0 {
            Some(search) if search.is_match(text) => {
                let mut out = Vec::with_capacity(text.len());
                search.replace_all_with_bytes(text, &mut out, |_, _, out| {
                    out.extend_from_slice(MASK);
                    true
                });
                Cow::Owned(out)
            }
            _ => Cow::Borrowed(text),
        }
    }
}

impl Engine {
    /// A text without what is secret here.
    pub fn redacted<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let masked = self.secrets.masked(text);
        let without = [without_tokens, without_webhook_secrets];
        without.into_iter().fold(masked, |text, without| match without(&text) {
            Some(clean) => Cow::Owned(clean),
            None => text,
        })
    }

    /// A text about a job, without what is secret of the addresses it was given.
    pub fn redacted_of_job<'t>(&self, id: &RunId, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.job_secrets(id) {
            secrets if secrets.is_empty() => Cow::Borrowed(text),
            secrets => Cow::Owned(Secrets::among(secrets.into_iter()).masked(text).into_owned()),
        }
    }
}

/// None where there is no token in it.
fn without_tokens(text: &[u8]) -> Option<Vec<u8>> {
    without(text, PREFIX, |rest| {
        let digits = rest.get(..SECRET_DIGITS)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(SECRET_DIGITS)
    })
}

/// None where there is no secret of a webhook in it.
fn without_webhook_secrets(text: &[u8]) -> Option<Vec<u8>> {
    // So many characters are the shortest secret there is.
    const LEAST: usize = 32;
    without(text, WebhookSecret::PREFIX, |rest| {
        let of_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let length = rest.iter().take_while(|byte| of_base64(byte)).count();
        (length >= LEAST).then_some(length)
    })
}

/// Masks what follows a prefix, where it is so long a secret; none where it is nowhere.
fn without(text: &[u8], prefix: &str, secret: impl Fn(&[u8]) -> Option<usize>) -> Option<Vec<u8>> {
    let prefix = prefix.as_bytes();
    let mut out = Vec::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.windows(prefix.len()).position(|window| window == prefix) {
        let (before, after) = rest.split_at(at);
        out.extend_from_slice(before);
        rest = after.get(prefix.len()..).unwrap_or_default();
        out.extend_from_slice(prefix);
        if let Some(length) = secret(rest) {
            found = true;
            out.extend_from_slice(MASK);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    out.extend_from_slice(rest);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_masked_and_nothing_else() {
        let token = format!("chk_{}", "0123456789abcdef".repeat(4));
        for (text, expected) in [
            (format!("a {token} b {token}"), Some("a chk_*** b chk_***")),
            (format!("{token}ff"), Some("chk_***ff")),
            ("chk_short chk_".to_owned(), None),
            (String::new(), None),
            (format!("chk_chk_{token}"), Some("chk_chk_chk_***")),
        ] {
            let clean = without_tokens(text.as_bytes());
            assert_eq!(clean.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn secrets_of_webhooks_are_masked() {
        let secret = WebhookSecret::of([251; 32]).reveal();
        for (text, expected) in [
            (format!("a {secret}, b"), Some("a whsec_***, b")),
            (format!("\"{secret}\""), Some("\"whsec_***\"")),
            ("whsec_ and whsec_short".to_owned(), None),
        ] {
            let clean = without_webhook_secrets(text.as_bytes());
            assert_eq!(clean.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
