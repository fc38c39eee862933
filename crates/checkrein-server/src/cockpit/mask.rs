//! A page without what is secret: in its texts and in what its fields hold, never in its markup.

use std::borrow::Cow;

use crate::app::App;
use checkrein_core::run::RunId;

/// Attributes that hold what others wrote.
const WRITTEN: [&str; 6] = ["value", "title", "placeholder", "aria-label", "data-text", "alt"];

pub struct Mask<'a> {
    app: &'a App,
    of_job: Vec<String>,
}

impl<'a> Mask<'a> {
    pub fn new(app: &'a App, about: &[RunId]) -> Mask<'a> {
        let secrets = about.iter().flat_map(|job| app.engine().job_secrets(job));
        // Shorter ones would be found in every other word.
        let mut of_job: Vec<String> = secrets.filter(|secret| secret.len() >= 4).collect();
        // One may begin with another; the longer one must not leave its end behind.
        of_job.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        of_job.dedup();
        Mask { app, of_job }
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let clean = match self.app.redacted(&bytes) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => bytes,
        };
        if self.of_job.is_empty() {
            return clean;
        }
        match String::from_utf8(clean) {
            Ok(text) => self.without_of_job(text).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }

    fn without_of_job(&self, mut text: String) -> String {
        for secret in &self.of_job {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        text
    }

    /// The same for a page.
    pub fn page(&self, page: &str) -> String {
        let mut out = String::with_capacity(page.len());
        let mut rest = page;
        while let Some((text, tag)) = rest.split_once('<') {
            self.text(&mut out, text);
            out.push('<');
            rest = self.tag(&mut out, tag);
        }
        self.text(&mut out, rest);
        out
    }

    /// Writes a tag, and returns what follows it.
    fn tag<'t>(&self, out: &mut String, tag: &'t str) -> &'t str {
        let mut rest = tag;
        loop {
            // INVARIANT: what pages are made with writes every value between `"`, and escapes `"` in it.
            let Some(at) = rest.find(['"', '>']) else {
                out.push_str(rest);
                return "";
            };
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            if let Some(after) = after.strip_prefix('>') {
                out.push('>');
                return after;
            }
            let inner = after.get(1..).unwrap_or_default();
            let Some((value, after)) = inner.split_once('"') else {
                out.push_str(after);
                return "";
            };
            out.push('"');
            let name = before.trim_end_matches('=').rsplit([' ', '\n']).next().unwrap_or_default();
            if WRITTEN.contains(&name) {
                self.text(out, value)
            } else {
                out.push_str(value)
            }
            out.push('"');
            rest = after;
        }
    }

    fn text(&self, out: &mut String, text: &str) {
        if text.trim().is_empty() {
            return out.push_str(text);
        }
        let plain = unescaped(text);
        let clean = self.bytes(plain.as_bytes().to_vec());
        if clean == plain.as_bytes() {
            return out.push_str(text);
        }
        maud::Render::render_to(&String::from_utf8_lossy(&clean).as_ref(), out);
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Cow::Owned(text.replace("&amp;", "&"))
}
