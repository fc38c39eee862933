//! Signatures by Standard Webhooks: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What signs a webhook. It is shown once, and never by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is `{}` and 24 to 64 bytes in Base64", WebhookSecret::PREFIX)]
pub struct BadSecret;

impl WebhookSecret {
    pub const PREFIX: &str = "whsec_";

    /// Of random bytes.
    pub fn of(bytes: [u8; 32]) -> WebhookSecret {
        WebhookSecret(bytes.to_vec())
    }

    pub fn parse(text: &str) -> Result<WebhookSecret, BadSecret> {
        let encoded = text.trim().strip_prefix(WebhookSecret::PREFIX).ok_or(BadSecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| BadSecret)?;
        if (24..=64).contains(&bytes.len()) { Ok(WebhookSecret(bytes)) } else { Err(BadSecret) }
    }

    /// As it is shown to whoever has to check signatures.
    pub fn reveal(&self) -> String {
        format!("{}{}", WebhookSecret::PREFIX, STANDARD.encode(&self.0))
    }

    /// One word of `webhook-signature`.
    pub fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let mut text = format!("{id}.{seconds}.").into_bytes();
        text.extend_from_slice(body.as_bytes());
        // A key of any length will do.
        let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0) else { return String::new() };
        mac.update(&text);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Whether somebody who knows a secret signed a body by HMAC-SHA256, in hexadecimal digits: what forges do.
pub fn is_signed(secret: &[u8], body: &[u8], signature: &str) -> bool {
    let pairs = signature.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok());
    let Some(bytes) = bytes.collect::<Option<Vec<u8>>>() else { return false };
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(secret) else { return false };
    mac.update(body);
    // It takes as long whichever byte is the first wrong one.
    mac.verify_slice(&bytes).is_ok()
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}***", WebhookSecret::PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_forge_signed_is_told_from_what_it_did_not() {
        // By `printf %s '{"a":1}' | openssl dgst -sha256 -hmac secret`.
        let right = "aa9e2e3575f5d7098b6caccd790888c36d5fdb63342a73bada2d6a51747a8494";
        assert!(is_signed(b"secret", br#"{"a":1}"#, right));
        assert!(!is_signed(b"secret", br#"{"a":2}"#, right));
        assert!(!is_signed(b"other", br#"{"a":1}"#, right));
        for broken in ["", "0", "zz", "+1", "00112233"] {
            assert!(!is_signed(b"secret", br#"{"a":1}"#, broken), "{broken}");
        }
    }

    #[test]
    fn the_official_library_verifies_what_is_signed() {
        for bytes in [[0; 32], [255; 32], *b"0123456789abcdef0123456789abcdef"] {
            let secret = WebhookSecret::of(bytes);
            let official = standardwebhooks::Webhook::new(&secret.reveal()).unwrap();
            for body in ["{}", "{\"a\": \"\u{fc} \u{1f600}\"}", ""] {
                let signed = secret.sign("msg_1", 1_750_000_000, body);
                let theirs = official.sign("msg_1", 1_750_000_000, body.as_bytes()).unwrap();
                assert_eq!(signed, theirs);
            }
        }
    }

    #[test]
    fn a_secret_is_read_again_and_never_shown_by_accident() {
        let secret = WebhookSecret::of([7; 32]);
        assert_eq!(WebhookSecret::parse(&secret.reveal()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "whsec_***");
        for bad in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!"] {
            assert_eq!(WebhookSecret::parse(bad), Err(BadSecret), "{bad}");
        }
    }
}
