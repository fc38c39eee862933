//! The files that pages load. Their addresses hold a digest of what is in them, so a browser keeps them for
//! good and still never has an old one.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use checkrein_core::deliverable::Digest;

use crate::error::{Kind, Problem};

pub const PATH: &str = "/assets/{digest}/{name}";

/// A new file is a row here.
static FILES: &[(&str, &str)] = &[
    ("chat.css", include_str!("static/chat.css")),
    ("chat.js", include_str!("static/chat.js")),
    ("cockpit.css", include_str!("static/cockpit.css")),
    ("cockpit.js", include_str!("static/cockpit.js")),
    ("draft.js", include_str!("static/draft.js")),
    ("frames.js", include_str!("static/frames.js")),
    ("review.css", include_str!("static/review.css")),
    ("review.js", include_str!("static/review.js")),
    ("search.js", include_str!("static/search.js")),
    ("icon.svg", include_str!("static/icon.svg")),
];

struct Asset {
    name: &'static str,
    text: &'static str,
    digest: String,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |(name, text): &(&'static str, &'static str)| {
        let digest = Digest::of(text.as_bytes()).to_string();
        let digest = digest.rsplit(':').next().unwrap_or_default().chars().take(16).collect();
        Asset { name, text, digest }
    };
    FILES.iter().map(asset).collect()
});

/// Where a page finds a file.
pub fn address(name: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or_else(String::new, |asset| format!("/assets/{}/{}", asset.digest, asset.name))
}

pub async fn answer(Path((digest, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let found = ASSETS.iter().find(|asset| asset.name == name && asset.digest == digest);
    let Some(asset) = found else {
        return Problem::new(Kind::NotFound, format!("there is no file `{name}` of this version"))
            .hint("load the page again")
            .into_response();
    };
    let tag = format!("\"{}\"", asset.digest);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let fresh = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut response = if fresh {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let media_type = match name.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        };
        ([(header::CONTENT_TYPE, media_type)], asset.text).into_response()
    };
    let answered = response.headers_mut();
    answered.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answered.insert(header::ETAG, tag);
    }
    response
}
