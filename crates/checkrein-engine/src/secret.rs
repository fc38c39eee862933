//! What is secret here, and is shown nowhere: the values of variables that the settings name, and tokens.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use checkrein_core::config::Settings;
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
        match without_tokens(&masked) {
            Some(clean) => Cow::Owned(clean),
            None => masked,
        }
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
    let prefix = PREFIX.as_bytes();
    let is_token = |at: &[u8]| {
        let digits = at.strip_prefix(prefix).and_then(|rest| rest.get(..SECRET_DIGITS));
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut out = Vec::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.windows(prefix.len()).position(|window| window == prefix) {
        let (before, after) = rest.split_at(at);
        out.extend_from_slice(before);
        let taken = if is_token(after) { prefix.len() + SECRET_DIGITS } else { prefix.len() };
        out.extend_from_slice(prefix);
        if taken > prefix.len() {
            found = true;
            out.extend_from_slice(MASK);
        }
        rest = after.get(taken..).unwrap_or_default();
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
}
