//! A page without what is secret: in its texts and in what its fields hold, never in its markup.

use std::borrow::Cow;

use checkrein_core::run::RunId;
use checkrein_engine::Masker;

use crate::app::App;

/// Attributes that hold what others wrote.
const WRITTEN: [&str; 6] = ["value", "title", "placeholder", "aria-label", "data-text", "alt"];

pub struct Mask<'a>(Masker<'a>);

impl<'a> Mask<'a> {
    pub fn new(app: &'a App, about: &[RunId]) -> Mask<'a> {
        Mask(app.engine().masker(about))
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.0.masked(&bytes) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => bytes,
        }
    }

    pub fn string(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.0.masked(text.as_bytes())).into_owned()
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
        match self.0.masked(plain.as_bytes()) {
            Cow::Borrowed(_) => out.push_str(text),
            Cow::Owned(clean) => maud::Render::render_to(&String::from_utf8_lossy(&clean).as_ref(), out),
        }
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Cow::Owned(text.replace("&amp;", "&"))
}
