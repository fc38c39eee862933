//! What is secret here, and is shown nowhere: the values of variables that the settings name, tokens, and
//! what signs for webhooks.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::{AhoCorasick, MatchKind};
use checkrein_core::config::Settings;
use checkrein_core::deliverable::Encoding;
use checkrein_core::notification::WebhookSecret;
use checkrein_core::run::RunId;
use checkrein_core::secret::forms;
use serde_json::Value;

use crate::token::{PREFIX, SECRET_DIGITS};
use crate::{CheckpointView, Engine};

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
        Secrets::among(settings.secrets().filter_map(value).flat_map(|value| forms(&value)))
    }

    /// Of values in every form they may be written in.
    fn among(values: impl Iterator<Item = String>) -> Secrets {
        let patterns: Vec<String> = values.filter(|value| value.len() >= SECRET_BYTES_MIN).collect();
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

/// The secrets of jobs that were looked at. What a job was given never changes.
pub(crate) type JobSecrets = Mutex<HashMap<RunId, Arc<Secrets>>>;

/// So many jobs are remembered.
const JOBS_MAX: usize = 256;

impl Engine {
    /// A text without what is secret here, nor of the jobs it names.
    pub fn redacted<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut clean = self.secrets.masked(text);
        for without in [without_tokens, without_webhook_secrets] {
            if let Some(cleaner) = without(&clean) {
                clean = Cow::Owned(cleaner);
            }
        }
        for secrets in named(text).iter().filter_map(|job| self.secrets_of_job(job)) {
            if let Cow::Owned(cleaner) = secrets.masked(&clean) {
                clean = Cow::Owned(cleaner);
            }
        }
        clean
    }

    /// What takes secrets out of texts about these jobs: what is secret here, and of the addresses each job
    /// was given. Looked up once, for as many texts as there are.
    pub fn masker(&self, about: &[RunId]) -> Masker<'_> {
        Masker { engine: self, of_jobs: about.iter().filter_map(|job| self.secrets_of_job(job)).collect() }
    }

    /// JSON without what is secret here, of the jobs it names, or of the one it is about. Only texts in it
    /// change, so it stays what it was: a secret may look like a number, or like a field of ours.
    pub fn redacted_json<'t>(&self, json: &'t [u8], about: Option<&RunId>) -> Cow<'t, [u8]> {
        let Cow::Owned(cleaned) = self.masker(about.map_or(&[], std::slice::from_ref)).masked(json) else {
            return Cow::Borrowed(json);
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(json) else { return Cow::Owned(cleaned) };
        let jobs: Vec<RunId> = named(json).into_iter().chain(about.cloned()).collect();
        let masker = self.masker(&jobs);
        let mask = |text: &str| String::from_utf8_lossy(&masker.masked(text.as_bytes())).into_owned();
        mask_texts(&mut value, &mask);
        Cow::Owned(serde_json::to_vec(&value).unwrap_or(cleaned))
    }

    /// What a checkpoint asks about, without secrets in bytes that nobody can read any more once they are
    /// written as Base64. Texts and JSON are masked where they are shown.
    pub fn redacted_view(&self, mut view: CheckpointView) -> CheckpointView {
        if let Some(content) = view.content.as_mut().filter(|content| content.encoding == Encoding::Bytes) {
            let run = view.checkpoint.run.as_deref().map(RunId::new);
            content.bytes = self.masker(run.as_slice()).masked(&content.bytes).into_owned();
        }
        view
    }

    fn secrets_of_job(&self, id: &RunId) -> Option<Arc<Secrets>> {
        let known = || self.job_secrets_known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secrets) = known().get(id) {
            return Some(Arc::clone(secrets));
        }
        let values = self.job_secrets(id);
        if values.is_empty() {
            return None;
        }
        let secrets = Arc::new(Secrets::among(values.into_iter()));
        let mut known = known();
        if known.len() >= JOBS_MAX {
            known.clear();
        }
        known.insert(id.clone(), Arc::clone(&secrets));
        Some(secrets)
    }
}

/// Takes out what is secret here and of some jobs.
pub struct Masker<'e> {
    engine: &'e Engine,
    of_jobs: Vec<Arc<Secrets>>,
}

impl Masker<'_> {
    pub fn masked<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut clean = self.engine.redacted(text);
        for secrets in &self.of_jobs {
            if let Cow::Owned(cleaner) = secrets.masked(&clean) {
                clean = Cow::Owned(cleaner);
            }
        }
        clean
    }
}

/// A name of a field that is so long is nobody's but its writer's, and may be a secret.
const KEY_BYTES_MIN: usize = 8;

fn mask_texts(value: &mut Value, mask: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = mask(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, mask)),
        Value::Object(fields) => {
            let odd = |key: &String| key.len() >= KEY_BYTES_MIN && mask(key) != *key;
            if fields.keys().any(odd) {
                let old = std::mem::take(fields);
                fields.extend(old.into_iter().map(|(key, value)| {
                    let key = if odd(&key) { mask(&key) } else { key };
                    (key, value)
                }));
            }
            fields.values_mut().for_each(|value| mask_texts(value, mask));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The runs a text names, by what their ids look like.
fn named(text: &[u8]) -> BTreeSet<RunId> {
    const DATE: usize = 8;
    let mut found = BTreeSet::new();
    let mut from = 0;
    while let Some(dash) = text.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == b'-')) {
        let dash = from + dash;
        from = dash + 1;
        let whole = dash.checked_sub(DATE).and_then(|start| text.get(start..start + RunId::LENGTH));
        let plain = |id: &&str| {
            // It becomes the name of a directory.
            RunId::looks_like(id) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if let Some(id) = whole.and_then(|id| std::str::from_utf8(id).ok()).filter(plain) {
            found.insert(RunId::new(id));
        }
    }
    found
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
    let finder = memchr::memmem::Finder::new(prefix);
    finder.find(text)?;
    let mut out = Vec::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = finder.find(rest) {
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
    fn only_texts_in_json_change() {
        let secrets =
            Secrets::among(["1234", "role", "pass\"word", "hunter2hunter2"].map(str::to_owned).into_iter());
        let mask = |text: &str| String::from_utf8_lossy(&secrets.masked(text.as_bytes())).into_owned();
        for (json, expected) in [
            (r#"{"n": 12345, "role": "a role"}"#, r#"{"n":12345,"role":"a ***"}"#),
            (r#"["pass\"word", {"x": [null, true, "1234"]}]"#, r#"["***",{"x":[null,true,"***"]}]"#),
            (r#"{"my hunter2hunter2": {"b": 1}, "a": 2}"#, r#"{"my ***":{"b":1},"a":2}"#),
            (r#""\u0031234""#, r#""***""#),
        ] {
            let mut value: Value = serde_json::from_str(json).unwrap();
            mask_texts(&mut value, &mask);
            assert_eq!(value.to_string(), expected);
        }
    }

    #[test]
    fn runs_are_found_by_their_ids() {
        let text = b"a-b 20260301-120000-7kq2m, 20260301-120000-7kq2m.2 20260301-120000-../.. x-20260302-120000-abcde-y 20260301-1200";
        let found: Vec<String> = named(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["20260301-120000-7kq2m", "20260302-120000-abcde"]);
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
