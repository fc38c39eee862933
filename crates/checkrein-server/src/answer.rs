//! What is sent back, as types that are described and written alike.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use checkrein_core::run::RunId;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Kind, Problem};

pub trait Answer: Send {
    /// Each status it may have, as OpenAPI describes it.
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)>;
    fn sent(self) -> Result<Sent, Problem>;
}

/// An answer on its way out.
#[derive(Debug)]
pub struct Sent {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub content: Content,
    /// The job it is about, whose secrets it must not show.
    pub about: Option<RunId>,
}

#[derive(Debug)]
pub enum Content {
    Whole {
        media_type: String,
        bytes: Vec<u8>,
    },
    /// Goes on for as long as somebody reads.
    Stream {
        media_type: &'static str,
        body: Body,
    },
}

impl Sent {
    pub fn into_response(self) -> Response {
        let (media_type, body) = match self.content {
            Content::Whole { media_type, bytes } => (media_type, Body::from(bytes)),
            Content::Stream { media_type, body } => (media_type.to_owned(), body),
        };
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        if let Ok(media_type) = HeaderValue::from_str(&media_type) {
            headers.insert(header::CONTENT_TYPE, media_type);
        }
        headers.extend(self.headers);
        response
    }
}

/// JSON, with a version where it has one.
#[derive(Clone, Debug)]
pub struct Reply<T, const STATUS: u16 = 200> {
    body: T,
    version: Option<u64>,
    location: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    about: Option<RunId>,
}

/// Something was made.
pub type Created<T> = Reply<T, 201>;
/// Something was begun.
pub type Accepted<T> = Reply<T, 202>;

impl<T, const STATUS: u16> Reply<T, STATUS> {
    pub fn new(body: T) -> Reply<T, STATUS> {
        Reply { body, version: None, location: None, headers: Vec::new(), about: None }
    }

    /// The version `If-Match` can name.
    pub fn at(self, version: u64) -> Reply<T, STATUS> {
        Reply { version: Some(version), ..self }
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Reply<T, STATUS> {
        self.headers.push((name, value));
        self
    }

    /// The job it is about.
    pub fn about(self, job: &RunId) -> Reply<T, STATUS> {
        Reply { about: Some(job.clone()), ..self }
    }

    pub fn location(self, path: String) -> Reply<T, STATUS> {
        Reply { location: Some(path), ..self }
    }
}

impl<T: Serialize + JsonSchema + Send, const STATUS: u16> Answer for Reply<T, STATUS> {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let schema = generator.subschema_for::<T>();
        let about = match STATUS {
            201 => "It was made",
            202 => "It was begun",
            _ => "Done",
        };
        vec![(STATUS, json!({"description": about, "content": {"application/json": {"schema": schema}}}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        let bytes = serde_json::to_vec(&self.body).map_err(|error| {
            Problem::new(Kind::Internal, format!("the answer cannot be written as JSON: {error}"))
        })?;
        let mut headers = self.headers;
        if let Some(version) = self.version {
            headers.push((header::ETAG, value(&etag(version))?));
        }
        if let Some(location) = self.location {
            headers.push((header::LOCATION, value(&location)?));
        }
        let content = Content::Whole { media_type: "application/json".to_owned(), bytes };
        let status = StatusCode::from_u16(STATUS).unwrap_or(StatusCode::OK);
        Ok(Sent { status, headers, content, about: self.about })
    }
}

/// Text of a kind.
#[derive(Clone, Debug)]
pub struct Written {
    pub media_type: &'static str,
    pub text: String,
}

impl Written {
    pub fn sent_as(self) -> Sent {
        let content =
            Content::Whole { media_type: self.media_type.to_owned(), bytes: self.text.into_bytes() };
        Sent { status: StatusCode::OK, headers: Vec::new(), content, about: None }
    }
}

impl Answer for Written {
    fn described(_: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        vec![(200, json!({"description": "Done", "content": {"text/plain": {"schema": {"type": "string"}}}}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        Ok(self.sent_as())
    }
}

/// A version as `ETag` writes it.
pub fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

pub fn value(text: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(text)
        .map_err(|_| Problem::new(Kind::Internal, format!("`{text}` cannot be a header")))
}
