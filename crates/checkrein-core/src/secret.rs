//! How a secret may be written, so that it is known wherever it turns up.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What an address keeps as it is.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What browsers keep beside that.
const LOOSE: &AsciiSet = &STRICT.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');

/// A secret as it is, decoded and encoded as in an address or a form, and each of these as JSON and HTML write it.
pub fn forms(secret: &str) -> Vec<String> {
    let decoded = percent_decode_str(secret).decode_utf8();
    let decoded = decoded.map_or_else(|_| secret.to_owned(), std::borrow::Cow::into_owned);
    let mut plain = vec![secret.to_owned(), decoded.clone(), secret.replace('+', " ")];
    for text in [secret, &decoded] {
        for set in [STRICT, LOOSE] {
            let encoded = utf8_percent_encode(text, set).to_string();
            plain.extend([encoded.replace("%20", "+"), lower_digits(&encoded), encoded]);
        }
    }
    let mut forms = plain.clone();
    for text in &plain {
        let json = serde_json::to_string(text).unwrap_or_default();
        let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
        // Some writers leave no sign in JSON that HTML knows, and escape the slash.
        forms.extend([inner.to_owned(), inner.replace('/', "\\/"), in_html(text)]);
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// `%2F` as others write it.
fn lower_digits(encoded: &str) -> String {
    let mut left = 0;
    let lower = |c: char| {
        if c == '%' {
            left = 2;
            return c;
        }
        let digit = left > 0;
        left -= i32::from(digit);
        if digit { c.to_ascii_lowercase() } else { c }
    };
    encoded.chars().map(lower).collect()
}

fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_however_it_is_written() {
        for secret in ["p@ss w/rd\"&+%", "p%40ss%20w%2Frd%22%26%2B%25"] {
            let forms = forms(secret);
            for form in [
                "p@ss w/rd\"&+%",
                "p@ss w/rd\\\"&+%",
                "p@ss w\\/rd\\\"&+%",
                "p@ss w/rd&quot;&amp;+%",
                "p%40ss%20w%2Frd%22%26%2B%25",
                "p%40ss%20w%2frd%22%26%2b%25",
                "p%40ss+w%2Frd%22%26%2B%25",
            ] {
                assert!(forms.iter().any(|known| known == form), "{secret}: {form} is not in {forms:?}");
            }
        }
        assert_eq!(forms("plain"), ["plain"]);
    }
}
