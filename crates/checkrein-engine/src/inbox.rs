//! What waits for a person, with what each asks and why.

use checkrein_core::boundary::Boundary;
use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus};
use checkrein_core::decision::{Situation, decide};
use checkrein_core::deliverable::{Content, Deliverable};
use checkrein_core::omission::Omission;
use checkrein_core::principal::Principal;
use checkrein_core::shown::count;
use checkrein_store::{CheckpointFilter, Page, StoredCheckpoint, Version};
use serde_json::Value;

use crate::{Engine, EngineError};

/// A checkpoint that waits, or waited.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub checkpoint: Checkpoint,
    /// How often it was changed.
    pub version: Version,
    pub asks: Asks,
}

/// What a checkpoint asks, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Asks {
    pub kind: AskKind,
    pub question: String,
    /// What the work is, in a line: a job's description. Nothing where the worker's name says it.
    pub subject: String,
    /// The reasons of the decision that holds.
    pub because: Vec<String>,
    /// What is asked about, in the words of who asks; the beginning of it where it is long.
    pub about: String,
    /// What its own page does not show either; of a review the review says it.
    pub omissions: Vec<Omission>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskKind {
    /// A worker wants something approved.
    Worker,
    /// A workflow asks whether to go on.
    CheckIn,
    /// A phase of a job is to be reviewed.
    Review,
}

/// So much is told of what is asked about.
const ABOUT_CHARS_MAX: usize = 600;

impl Engine {
    /// What waits, in creation order (C7), with what each asks.
    pub async fn inbox(
        &self,
        by: &Principal,
        filter: &CheckpointFilter,
        after: i64,
        limit: usize,
    ) -> Result<Page<Waiting>, EngineError> {
        let filter = CheckpointFilter { status: Some(CheckpointStatus::Pending), ..filter.clone() };
        let page = self.checkpoints(by, &filter, after, limit).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for StoredCheckpoint { checkpoint, version, .. } in page.items {
            let content = self.store.content(&checkpoint.digest).await?;
            let asks = self.asks(&checkpoint, content.as_ref())?;
            items.push(Waiting { checkpoint, version, asks });
        }
        Ok(Page { items, next: page.next })
    }

    /// What a checkpoint asks, told from what it is about and from its policy.
    pub fn asks(&self, checkpoint: &Checkpoint, content: Option<&Content>) -> Result<Asks, EngineError> {
        let deliverable = content.map(Content::deliverable);
        if checkpoint.run.is_none() {
            return Ok(Asks {
                kind: AskKind::Worker,
                question: format!("{} wants a {} approved.", checkpoint.worker, spaced(&checkpoint.kind)),
                subject: String::new(),
                because: self.reasons_of_worker(checkpoint)?,
                omissions: content.map(|content| Omission::of_content(content, false)).unwrap_or_default(),
                about: about(deliverable),
            });
        }
        let asked = match deliverable {
            Some(Deliverable::Json(asked)) => asked,
            _ => Value::Null,
        };
        let text = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let review = asked.get("kind").and_then(Value::as_str) == Some("review");
        // A check-in may have no other reason than its question.
        let because = Some(text("reason")).filter(|reason| !reason.is_empty() && *reason != text("question"));
        Ok(Asks {
            kind: if review { AskKind::Review } else { AskKind::CheckIn },
            question: text("question"),
            subject: if review { first_line(&text("description")) } else { String::new() },
            because: because.into_iter().collect(),
            omissions: content.map(|content| Omission::of_content(content, true)).unwrap_or_default(),
            about: beginning(&if review { text("summary") } else { found(&asked) }),
        })
    }

    /// Settings do not change under an engine, so its policy says again what it said.
    fn reasons_of_worker(&self, checkpoint: &Checkpoint) -> Result<Vec<String>, EngineError> {
        let policy = self.worker_policy(&checkpoint.worker)?;
        let boundary = Boundary {
            kind: checkpoint.kind.clone().into(),
            phase: Some(checkpoint.phase.clone()),
            ..Boundary::default()
        };
        let decision = decide(&policy, &Situation::at(&boundary));
        let reasons = decision.because.iter().map(ToString::to_string).collect();
        Ok(reasons)
    }
}

/// How much was found since a workflow last asked.
fn found(asked: &Value) -> String {
    let counted = |name: &str| {
        let counted = asked.get("counts").and_then(|counts| counts.get(name));
        counted.and_then(Value::as_u64).unwrap_or(0)
    };
    match (counted("errors"), counted("warnings")) {
        (0, 0) => "Nothing was found since it last asked.".to_owned(),
        (errors, warnings) => {
            format!("Since it last asked: {}, {}.", count(errors, "error"), count(warnings, "warning"))
        }
    }
}

fn about(deliverable: Option<Deliverable>) -> String {
    match deliverable {
        None => "What was to be approved is not kept any more.".to_owned(),
        Some(Deliverable::Text(text)) => beginning(&text),
        Some(Deliverable::Json(value)) => beginning(&value.to_string()),
        Some(Deliverable::Bytes(bytes)) => format!("{} bytes that are no text", bytes.len()),
    }
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}

fn beginning(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut beginning: String = chars.by_ref().take(ABOUT_CHARS_MAX).collect();
    if chars.next().is_some() {
        beginning.push('…');
    }
    beginning
}

fn spaced(word: &str) -> String {
    word.replace('_', " ")
}
