//! `Idempotency-Key`: a request that is sent again is answered as it was the first time.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, StatusCode, header, request::Parts};
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_engine::{Begun, UnderWay};
use checkrein_store::KeptAnswer;

use crate::answer::{Content, Sent};
use crate::app::App;
use crate::error::{Kind, Problem};
use crate::route::{Keyed, Route};

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer is the first one again.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const KEY_CHARS_MAX: usize = 200;

/// What to do with a request.
pub enum Go<'a> {
    /// It has no key.
    Unkeyed,
    Keyed(UnderWay<'a>),
    /// It is answered already.
    Answered(Sent),
}

pub async fn begin<'a>(
    app: &'a App,
    route: &Route,
    by: Option<&Principal>,
    parts: &Parts,
    body: &Bytes,
) -> Result<Go<'a>, Problem> {
    let (Some(key), Some(by)) = (parts.headers.get(IDEMPOTENCY_KEY), by) else { return Ok(Go::Unkeyed) };
    match route.keyed {
        Keyed::Yes => {}
        Keyed::Needless => return Ok(Go::Unkeyed),
        Keyed::Never => {
            return Err(Problem::new(Kind::Malformed, "this takes no `Idempotency-Key`")
                .hint("its answer is not kept; leave the key out"));
        }
    }
    let sound = |key: &&str| {
        (1..=KEY_CHARS_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let key = key.to_str().ok().map(str::trim).filter(sound).ok_or_else(|| {
        let detail = format!("`Idempotency-Key` takes 1 to {KEY_CHARS_MAX} visible characters of ASCII");
        Problem::new(Kind::Malformed, detail)
    })?;
    let mut same = format!("{} {}\n", parts.method, parts.uri).into_bytes();
    same.extend_from_slice(body);
    match app.engine().begin_request(by, key, Digest::of(&same)).await? {
        Begun::Now(under_way) => Ok(Go::Keyed(under_way)),
        Begun::Answered(answer) => Ok(Go::Answered(again(answer)?)),
        Begun::Already => {
            let problem = Problem::new(Kind::KeyInUse, format!("the request `{key}` is being done"));
            Err(Problem { retry_after: Some(1), ..problem })
        }
        Begun::Otherwise => Err(Problem::new(Kind::KeyReused, format!("`{key}` stands for another request"))
            .hint("take a new key for a new request")),
    }
}

/// What is to be kept of an answer; nothing where nothing was done.
pub fn kept(answered: &Result<Sent, Problem>) -> Option<KeptAnswer> {
    let Ok(Sent { status, headers, content: Content::Whole { media_type, bytes }, .. }) = answered else {
        return None;
    };
    let mut lines = format!("{}: {media_type}\n", header::CONTENT_TYPE);
    for (name, value) in headers {
        lines.push_str(&format!("{name}: {}\n", value.to_str().unwrap_or_default()));
    }
    Some(KeptAnswer { status: status.as_u16(), headers: lines, body: bytes.clone() })
}

/// Keeps an answer, or frees the key of a request that did nothing.
pub async fn end(under_way: UnderWay<'_>, kept: Option<KeptAnswer>) -> Result<(), Problem> {
    match kept {
        Some(kept) => Ok(under_way.answered(kept).await?),
        None => Ok(under_way.refused().await?),
    }
}

fn again(answer: KeptAnswer) -> Result<Sent, Problem> {
    let damaged = || Problem::new(Kind::Internal, "the answer that was kept cannot be read");
    let mut media_type = "application/json".to_owned();
    let mut headers = vec![(REPLAYED, HeaderValue::from_static("true"))];
    for line in answer.headers.lines() {
        let (name, value) = line.split_once(": ").ok_or_else(damaged)?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| damaged())?;
        if name == header::CONTENT_TYPE {
            media_type = value.to_owned();
        } else {
            headers.push((name, HeaderValue::from_str(value).map_err(|_| damaged())?));
        }
    }
    let status = StatusCode::from_u16(answer.status).map_err(|_| damaged())?;
    let content = Content::Whole { media_type, bytes: answer.body };
    Ok(Sent { status, headers, content, about: None })
}
