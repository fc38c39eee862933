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
        let once = in_json(text);
        // JSON in a text of JSON, and in a page.
        forms.extend(once.iter().map(|json| quoted(json)));
        forms.extend(once.iter().flat_map(|json| in_html(json)));
        forms.extend(in_html(text).iter().flat_map(|html| in_json(html)));
        forms.extend(once);
        forms.extend(in_html(text));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// What stands between the quotes of JSON.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// A text as one writer of JSON or another has it: some escape the slash, some all that is not ASCII, some what
/// means something to HTML.
fn in_json(text: &str) -> Vec<String> {
    let inner = quoted(text);
    let html = |c: char| matches!(c, '<' | '>' | '&' | '\'' | '+');
    let tags = |c: char| matches!(c, '<' | '>' | '&');
    let foreign = |c: char| !c.is_ascii();
    let mut written = vec![
        escaped(&inner, foreign),
        escaped(&inner, tags),
        escaped(&inner, |c| foreign(c) || tags(c)),
        escaped(&inner.replace("\\\"", "\\u0022"), |c| foreign(c) || html(c)),
    ];
    let capitals = |json: &String| upper_digits(json);
    written.extend(written.iter().map(capitals).collect::<Vec<_>>());
    written.push(inner);
    written.extend(written.iter().map(|json| json.replace('/', "\\/")).collect::<Vec<_>>());
    written
}

/// These characters as `\u00e9`.
fn escaped(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if which(c) {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// `\u00E9` as others write it.
fn upper_digits(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once("\\u") {
        let (digits, end) = after.split_at_checked(4).unwrap_or((after, ""));
        out.push_str(before);
        out.push_str("\\u");
        out.push_str(&digits.to_ascii_uppercase());
        rest = end;
    }
    out + rest
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

/// A text as one writer of HTML or another has it.
fn in_html(text: &str) -> Vec<String> {
    let base = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let quotes =
        [("\"", "'"), ("&quot;", "'"), ("&quot;", "&#39;"), ("&quot;", "&#x27;"), ("&#34;", "&#39;")];
    quotes.iter().map(|(double, single)| base.replace('"', double).replace('\'', single)).collect()
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

    #[test]
    fn writers_of_json_and_html_differ() {
        let known = forms("caf\u{e9}\"Sec/ret<1>&'x'");
        for form in [
            // Python, PHP, Go, .NET
            r#"caf\u00e9\"Sec/ret<1>&'x'"#,
            r#"caf\u00e9\"Sec\/ret<1>&'x'"#,
            r#"café\"Sec/ret\u003c1\u003e\u0026'x'"#,
            r#"caf\u00E9\u0022Sec/ret\u003C1\u003E\u0026\u0027x\u0027"#,
            // JSON in JSON
            r#"café\\\"Sec/ret<1>&'x'"#,
            r#"caf\\u00e9\\\"Sec/ret<1>&'x'"#,
            // HTML
            r#"café"Sec/ret&lt;1&gt;&amp;'x'"#,
            "café&quot;Sec/ret&lt;1&gt;&amp;&#39;x&#39;",
            "café&quot;Sec/ret&lt;1&gt;&amp;&#x27;x&#x27;",
            "café&#34;Sec/ret&lt;1&gt;&amp;&#39;x&#39;",
            // JSON in HTML, HTML in JSON
            r#"caf\u00e9\&quot;Sec/ret&lt;1&gt;&amp;'x'"#,
            r#"caf\u00e9&quot;Sec/ret&lt;1&gt;&amp;'x'"#,
        ] {
            assert!(known.iter().any(|known| known == form), "{form}");
        }
        assert!(known.len() < 2000, "{}", known.len());
        // Beyond what two bytes hold.
        assert!(forms("key\u{1F511}").contains(&r"key\ud83d\udd11".to_owned()));
    }
}
