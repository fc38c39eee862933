//! A checkpoint as programs see it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::checkpoint::{self, CheckpointStatus, Verdict};
use checkrein_core::deliverable::{Deliverable, Digest};
use checkrein_core::omission::Omission;
use checkrein_engine::{CheckpointView, Judged, Naming, NewCheckpoint, VerdictRequest};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::review::{BadComment, CommentBody};

/// The fixed contract. `worker_name` and `rejection_reason` are names other tools know.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    pub id: String,
    pub status: CheckpointStatus,
    pub worker: String,
    pub worker_name: String,
    pub phase: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// A verdict may name it, and is refused when the content is another one
    pub digest: Digest,
    pub created_at: Timestamp,
    /// When it is rejected if nobody answered by then; absent where it waits for ever
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    pub reason: Option<String>,
    pub rejection_reason: String,
    pub resolved_by: Option<String>,
}

impl From<&checkpoint::Checkpoint> for Checkpoint {
    fn from(checkpoint: &checkpoint::Checkpoint) -> Checkpoint {
        let reason = checkpoint.reason.clone();
        let rejected = checkpoint.status == CheckpointStatus::Rejected;
        Checkpoint {
            id: checkpoint.id.to_string(),
            status: checkpoint.status,
            worker: checkpoint.worker.clone(),
            worker_name: checkpoint.worker.clone(),
            phase: checkpoint.phase.clone(),
            kind: checkpoint.kind.clone(),
            digest: checkpoint.digest,
            created_at: checkpoint.created_at,
            expires_at: checkpoint.expires_at,
            resolved_at: checkpoint.resolved_at,
            rejection_reason: reason.clone().filter(|_| rejected).unwrap_or_default(),
            reason,
            resolved_by: checkpoint.resolved_by.clone(),
        }
    }
}

/// A checkpoint with what it is about.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WholeCheckpoint {
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// Text, JSON, or `{"base64": …}` for bytes that are neither; null when retention has removed it
    pub deliverable: Value,
    pub round: u32,
    pub comments: Vec<Value>,
    /// What no view shows of it; an approval then has to be `confirmed`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<Omission>,
}

impl From<&CheckpointView> for WholeCheckpoint {
    fn from(view: &CheckpointView) -> WholeCheckpoint {
        let deliverable = match view.content.as_ref().map(|content| content.deliverable()) {
            None => Value::Null,
            Some(Deliverable::Text(text)) => text.into(),
            Some(Deliverable::Json(value)) => value,
            Some(Deliverable::Bytes(bytes)) => json!({"base64": BASE64_STANDARD.encode(bytes)}),
        };
        WholeCheckpoint {
            checkpoint: (&view.checkpoint).into(),
            deliverable,
            round: view.checkpoint.round,
            comments: Vec::new(),
            not_shown: view
                .content
                .as_ref()
                .map(|content| Omission::of_content(content, view.checkpoint.run.is_some()))
                .unwrap_or_default(),
        }
    }
}

impl WholeCheckpoint {
    /// How many bytes a deliverable has that is neither text nor JSON.
    pub fn bytes(&self) -> Option<usize> {
        let object = self.deliverable.as_object().filter(|object| object.len() == 1)?;
        let encoded = object.get("base64")?.as_str()?;
        // JSON that looks the same is JSON.
        let bytes = BASE64_STANDARD.decode(encoded).ok()?;
        (Digest::of(&bytes) == self.checkpoint.digest).then_some(bytes.len())
    }
}

/// What a worker asks about.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRequest {
    /// A key of your own: asking again with it gives the answer there already is
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub id: Option<String>,
    /// Who asks
    #[serde(alias = "worker_name")]
    #[schemars(length(min = 1))]
    pub worker: String,
    /// Where in the work
    #[serde(default)]
    pub phase: String,
    /// What kind of point it is, such as phase_transition, deliverable or final_output
    #[serde(rename = "type", default = "deliverable")]
    #[schemars(length(min = 1))]
    pub kind: String,
    /// What to approve: a text, or any JSON
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub deliverable: Option<Value>,
    /// What to approve, where it is neither text nor JSON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliverable_base64: Option<String>,
}

fn deliverable() -> String {
    "deliverable".to_owned()
}

/// Null is something to approve; a field that is left out is not.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Why a request cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDeliverable {
    #[error("`deliverable_base64` is not Base64")]
    NotBase64,
    #[error("there is `deliverable` and `deliverable_base64`; one of them is what to approve")]
    Both,
    #[error("there is nothing to approve: `deliverable` is missing")]
    Nothing,
}

impl TryFrom<CheckpointRequest> for NewCheckpoint {
    type Error = BadDeliverable;

    fn try_from(request: CheckpointRequest) -> Result<NewCheckpoint, BadDeliverable> {
        let deliverable = match (request.deliverable, request.deliverable_base64) {
            (None, None) => return Err(BadDeliverable::Nothing),
            (None, Some(base64)) => {
                let bytes = BASE64_STANDARD.decode(base64).map_err(|_| BadDeliverable::NotBase64)?;
                Deliverable::from_bytes(bytes)
            }
            (Some(value), None) => Deliverable::from_json(value),
            (Some(_), Some(_)) => return Err(BadDeliverable::Both),
        };
        let CheckpointRequest { id, worker, phase, kind, .. } = request;
        Ok(NewCheckpoint { id, worker, phase, kind, deliverable })
    }
}

/// For whoever asks a server.
impl From<NewCheckpoint> for CheckpointRequest {
    fn from(new: NewCheckpoint) -> CheckpointRequest {
        let (deliverable, deliverable_base64) = match new.deliverable {
            Deliverable::Text(text) => (Some(Value::String(text)), None),
            Deliverable::Json(value) => (Some(value), None),
            Deliverable::Bytes(bytes) => (None, Some(BASE64_STANDARD.encode(bytes))),
        };
        let NewCheckpoint { id, worker, phase, kind, .. } = new;
        CheckpointRequest { id, worker, phase, kind, deliverable, deliverable_base64 }
    }
}

/// A person's answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictBody {
    pub verdict: Verdict,
    /// Why; needed unless it is an approval
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was looked at; a checkpoint that holds something else is not decided. Of a review it may be
    /// the commit, and has to be given
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// For the agent, with a verdict on a review
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<CommentBody>,
    /// With a request for changes: on a new branch instead of the one that was looked at
    #[serde(default)]
    pub start_over: bool,
    /// Approve although changes are requested of single files, or parts are not shown
    #[serde(default)]
    pub confirmed: bool,
}

/// For whoever asks a server.
impl From<&VerdictRequest> for VerdictBody {
    fn from(request: &VerdictRequest) -> VerdictBody {
        VerdictBody {
            verdict: request.verdict,
            reason: request.reason.clone(),
            digest: request.judged.as_ref().map(|judged| match judged {
                Judged::Digest(digest) => digest.to_string(),
                Judged::Commit(commit) => commit.clone(),
            }),
            comments: request.comments.iter().cloned().map(CommentBody::from).collect(),
            start_over: request.start_over,
            confirmed: request.confirmed,
        }
    }
}

/// Why a verdict cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVerdict {
    #[error("`digest` is neither a SHA-256 digest nor the full name of a commit")]
    Digest,
    #[error(transparent)]
    Comment(#[from] BadComment),
    #[error("only a request for changes starts over")]
    StartOver,
}

impl TryFrom<VerdictBody> for VerdictRequest {
    type Error = BadVerdict;

    fn try_from(body: VerdictBody) -> Result<VerdictRequest, BadVerdict> {
        let VerdictBody { verdict, reason, digest, comments, start_over, confirmed } = body;
        if start_over && verdict != Verdict::RequestChanges {
            return Err(BadVerdict::StartOver);
        }
        let judged = digest.map(|text| Judged::parse(&text).ok_or(BadVerdict::Digest)).transpose()?;
        let comments: Result<Vec<_>, BadComment> = comments.into_iter().map(TryInto::try_into).collect();
        let comments = comments?;
        let request = VerdictRequest::new(verdict, reason);
        Ok(VerdictRequest { judged, comments, start_over, confirmed, naming: Naming::Always, ..request })
    }
}
