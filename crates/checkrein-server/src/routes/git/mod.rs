//! Git for people: they clone and fetch the branches of a job, and push to the one that is open.

pub mod advertise;
pub mod fetch;
pub mod push;

use axum::body::Body;
use axum::http::{StatusCode, header};
use checkrein_engine::BranchesWanted;
use checkrein_forge::Part;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::answer::{Answer, Content, Sent};
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::git::{Conversation, Request};

/// What git says, as it says it.
struct Said {
    media_type: &'static str,
    body: Body,
}

/// What git calls what it says.
const MEDIA_TYPES: [&str; 4] = [
    "application/x-git-receive-pack-advertisement",
    "application/x-git-receive-pack-result",
    "application/x-git-upload-pack-advertisement",
    "application/x-git-upload-pack-result",
];

impl Answer for Said {
    fn described(_: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let content: serde_json::Map<String, Value> =
            MEDIA_TYPES.iter().map(|kind| ((*kind).to_owned(), json!({}))).collect();
        vec![(200, json!({"description": "What git says", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        let content = Content::Stream { media_type: self.media_type, body: self.body };
        Ok(Sent { status: StatusCode::OK, headers: Vec::new(), content, about: None })
    }
}

/// The job in an address: `JOB.git`, or without the end.
fn job(call: &Call) -> &str {
    let name = call.path("id");
    name.strip_suffix(".git").unwrap_or(name)
}

/// One half of a conversation with git about a job.
async fn converse(call: &Call, wanted: BranchesWanted, part: Part, body: Body) -> Result<Body, Problem> {
    let (run, bare, service) = call.engine().job_branches(call.by()?, job(call), wanted).await?;
    let request = Request {
        protocol: protocol(call),
        packing: call.header(header::CONTENT_ENCODING).map(str::to_owned),
        body,
    };
    Conversation { app: call.app.clone(), run, bare, service, part }.begin(request).await
}

/// The version of git's protocol that is asked for. It goes into git's environment, so it is plain.
fn protocol(call: &Call) -> Option<String> {
    let plain = |text: &&str| {
        text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=:._-".contains(&byte))
    };
    call.header(header::HeaderName::from_static("git-protocol")).filter(plain).map(str::to_owned)
}

/// Only git sends this; a form of a web page cannot.
fn expect_type(call: &Call, expected: &str) -> Result<(), Problem> {
    match call.header(header::CONTENT_TYPE) {
        Some(said) if said == expected => Ok(()),
        _ => Err(Problem::new(Kind::UnsupportedMediaType, format!("the body is not `{expected}`"))
            .hint("only git asks here")),
    }
}
