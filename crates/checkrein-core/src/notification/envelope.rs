//! What is told, as a CloudEvent. Agents wrote parts of it, so it is bounded and harmless to read.

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NotificationType;
use crate::checkpoint::{Checkpoint, CheckpointStatus};
use crate::deliverable::{Content, Deliverable, Digest};
use crate::event::Event;
use crate::run::{HoldKind, RunEvent, RunStatus};
use crate::shown::{harmless, one_line};

/// A CloudEvent 1.0 in its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    pub specversion: String,
    /// The same as `webhook-id`: one for each event and webhook, however often it is sent
    pub id: String,
    /// Which Checkrein says so: its public address, where it has one
    pub source: String,
    #[serde(rename = "type")]
    pub kind: NotificationType,
    /// The checkpoint or run it is about
    pub subject: String,
    pub time: Timestamp,
    pub datacontenttype: String,
    pub data: Told,
}

/// What happened, to whom, and where to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// In one line
    pub title: String,
    /// How what is judged begins, or what an agent says of it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Where a browser finds it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Shows it in a terminal
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<AboutCheckpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<AboutRun>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AboutCheckpoint {
    pub id: String,
    pub worker: String,
    pub phase: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub round: u32,
    pub digest: Digest,
    pub status: CheckpointStatus,
    /// Since when it waits, or waited
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AboutRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Everything longer is somewhere to be looked at, not in a message.
const TITLE_CHARS_MAX: usize = 140;
const EXCERPT_CHARS_MAX: usize = 400;
const FIELD_CHARS_MAX: usize = 200;
const REASON_CHARS_MAX: usize = 400;

/// What a path of a URL may hold as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What an event says, if it is told. `checkpoint` is the checkpoint it is about as far as it is known,
/// `content` what it asks about without its secrets, `workflow` what the run follows.
pub fn tell(
    event: &Event,
    stream: &str,
    known: (Option<&Checkpoint>, Option<&Content>, Option<&str>),
    at: Timestamp,
    public_url: Option<&str>,
) -> Option<(NotificationType, Told)> {
    let kind = NotificationType::of(event)?;
    let (checkpoint, content, workflow) = known;
    let told = match event {
        Event::Run(event) => of_run(event, kind, stream, workflow, public_url)?,
        event => {
            let about = about(event, stream, checkpoint, at);
            of_checkpoint(kind, about, content, public_url)
        }
    };
    Some((kind, told))
}

/// What somebody sends to see whether it arrives.
pub fn test(webhook: &str, public_url: Option<&str>) -> Told {
    Told {
        title: "Checkrein can reach you: this is a test".to_owned(),
        excerpt: None,
        url: public_url.map(str::to_owned),
        command: format!("checkrein webhook show {webhook}"),
        checkpoint: None,
        run: None,
    }
}

impl Envelope {
    pub fn new(
        id: String,
        kind: NotificationType,
        subject: &str,
        time: Timestamp,
        public_url: Option<&str>,
        data: Told,
    ) -> Envelope {
        Envelope {
            specversion: "1.0".to_owned(),
            id,
            source: public_url.unwrap_or("urn:checkrein").to_owned(),
            kind,
            subject: subject.to_owned(),
            time,
            datacontenttype: "application/json".to_owned(),
            data,
        }
    }
}

/// The event itself says most; the rest comes from the checkpoint, where it is still there.
fn about(event: &Event, id: &str, known: Option<&Checkpoint>, at: Timestamp) -> AboutCheckpoint {
    let text = |field: fn(&Checkpoint) -> &str| field_text(known.map(field).unwrap_or_default());
    let mut about = AboutCheckpoint {
        id: id.to_owned(),
        worker: text(|known| &known.worker),
        phase: text(|known| &known.phase),
        kind: text(|known| &known.kind),
        round: known.map_or(1, |known| known.round),
        digest: known.map_or_else(|| Digest::of(b""), |known| known.digest),
        status: CheckpointStatus::Pending,
        since: known.map_or(at, |known| known.created_at),
        run: known.and_then(|known| known.run.clone()),
        resolved_by: None,
        reason: None,
    };
    match event {
        Event::CheckpointCreated { run, worker, phase, kind, digest, round, status, .. } => {
            about.run.clone_from(run);
            about.worker = field_text(worker);
            about.phase = field_text(phase);
            about.kind = field_text(kind);
            (about.digest, about.round, about.status, about.since) = (*digest, *round, *status, at);
        }
        Event::CheckpointMoved { digest } => about.digest = *digest,
        Event::CheckpointResolved { status, reason, by, digest, .. } => {
            (about.status, about.digest) = (*status, *digest);
            about.resolved_by = by.as_deref().map(field_text);
            about.reason = reason.as_deref().map(|reason| bounded(&harmless(reason), REASON_CHARS_MAX));
        }
        Event::Run(_) => {}
    }
    about
}

fn of_checkpoint(
    kind: NotificationType,
    about: AboutCheckpoint,
    content: Option<&Content>,
    public_url: Option<&str>,
) -> Told {
    let (question, excerpt) = content.map(excerpt).unwrap_or_default();
    let place = if about.phase.is_empty() { String::new() } else { format!(" in {}", about.phase) };
    let what = format!("{}{place}", about.kind);
    let title = match kind {
        NotificationType::CheckpointResolved => {
            let by = about.resolved_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!("{}: {what} is {}{by}", about.worker, about.status.name().replace('_', " "))
        }
        NotificationType::CheckpointMoved => format!("{} waits with something else: {what}", about.worker),
        _ => match question {
            Some(question) => format!("{} waits: {question}", about.worker),
            None => format!("{} waits for an answer: {what}", about.worker),
        },
    };
    let verb = if about.kind == HoldKind::Review.name() { "review" } else { "checkpoint show" };
    Told {
        title: bounded(&title, TITLE_CHARS_MAX),
        // What was decided needs no second look.
        excerpt: excerpt.filter(|_| kind != NotificationType::CheckpointResolved),
        url: public_url.map(|base| link(base, "checkpoints", &about.id)),
        command: format!("checkrein {verb} {}", word(&about.id)),
        checkpoint: Some(about),
        run: None,
    }
}

fn of_run(
    event: &RunEvent,
    kind: NotificationType,
    id: &str,
    workflow: Option<&str>,
    public_url: Option<&str>,
) -> Option<Told> {
    let (status, by, reason) = match event {
        RunEvent::RunEnded { status, reason, .. } => (*status, None, reason),
        RunEvent::RunPaused { by, reason, .. } => (RunStatus::Paused, Some(by), reason),
        RunEvent::RunCancelled { by, reason } => (RunStatus::Cancelled, Some(by), reason),
        _ => return None,
    };
    let workflow = workflow.map(field_text);
    let ended = match kind {
        NotificationType::RunStopped => "was stopped".to_owned(),
        _ => format!("is {}", status.name().replace('_', " ")),
    };
    let title = format!("{} {ended}", workflow.as_deref().unwrap_or(id));
    let reason = reason.as_deref().map(|reason| bounded(&harmless(reason), REASON_CHARS_MAX));
    Some(Told {
        title: bounded(&title, TITLE_CHARS_MAX),
        excerpt: reason.clone(),
        url: public_url.map(|base| link(base, "runs", id)),
        command: format!("checkrein show {}", word(id)),
        checkpoint: None,
        run: Some(AboutRun { id: id.to_owned(), workflow, status, by: by.map(|by| field_text(by)), reason }),
    })
}

/// The question of a run, and how the content begins.
fn excerpt(content: &Content) -> (Option<String>, Option<String>) {
    let cut = |text: &str| Some(bounded(harmless(text.trim()).trim(), EXCERPT_CHARS_MAX));
    match content.deliverable() {
        Deliverable::Text(text) => (None, cut(&beginning(&text)).filter(|text| !text.is_empty())),
        Deliverable::Bytes(bytes) => (None, Some(format!("{} bytes", bytes.len()))),
        Deliverable::Json(value) => {
            let text =
                |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            let said = ["summary", "title", "description", "reason"].into_iter().find_map(text);
            let question = text("question").map(|question| one_line(&beginning(question)));
            let whole = || cut(&beginning(&value.to_string()));
            (question, said.map_or_else(whole, |said| cut(&beginning(said))))
        }
    }
}

/// Deliverables may be large; so much is looked at.
fn beginning(text: &str) -> String {
    text.chars().take(EXCERPT_CHARS_MAX * 4).collect()
}

fn field_text(text: &str) -> String {
    bounded(&one_line(text), FIELD_CHARS_MAX)
}

fn bounded(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

fn link(base: &str, noun: &str, id: &str) -> String {
    format!("{}/{noun}/{}", base.trim_end_matches('/'), utf8_percent_encode(id, PATH))
}

/// An id as a shell takes it for one word.
fn word(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    if id.chars().all(plain) && !id.starts_with('-') {
        return id.to_owned();
    }
    format!("'{}'", id.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(worker: &str, phase: &str, kind: &str) -> Event {
        Event::CheckpointCreated {
            run: Some("r1".into()),
            owner: None,
            created_by: None,
            worker: worker.into(),
            phase: phase.into(),
            kind: kind.into(),
            digest: Digest::of(b"x"),
            round: 1,
            status: CheckpointStatus::Pending,
            expires_at: None,
        }
    }

    fn told(event: &Event, id: &str, deliverable: impl Into<Deliverable>) -> Told {
        let content = deliverable.into().content().unwrap();
        let known = (None, Some(&content), None);
        tell(event, id, known, Timestamp::UNIX_EPOCH, Some("https://rein.example/")).unwrap().1
    }

    #[test]
    fn it_says_what_waits_and_where_to_look() {
        let review = serde_json::json!({"question": "phase-1-strategic waits for review. Approve it?",
            "summary": "A plan in three steps", "head": "abc"});
        for (event, id, deliverable, expected) in [
            (
                created("writer", "draft", "deliverable"),
                "c1",
                Deliverable::from("\n  Dear Ann,\nhello"),
                [
                    "writer waits for an answer: deliverable in draft",
                    "Dear Ann,\nhello",
                    "https://rein.example/checkpoints/c1",
                    "checkrein checkpoint show c1",
                ],
            ),
            (
                created("job", "phase-1-strategic", "review"),
                "r1.1",
                Deliverable::from(review),
                [
                    "job waits: phase-1-strategic waits for review. Approve it?",
                    "A plan in three steps",
                    "https://rein.example/checkpoints/r1.1",
                    "checkrein review r1.1",
                ],
            ),
            (
                created("w", "", "final_output"),
                "it's; rm -rf ü?",
                Deliverable::from(vec![0, 159]),
                [
                    "w waits for an answer: final_output",
                    "2 bytes",
                    "https://rein.example/checkpoints/it%27s%3B%20rm%20-rf%20%C3%BC%3F",
                    r"checkrein checkpoint show 'it'\''s; rm -rf ü?'",
                ],
            ),
        ] {
            let told = told(&event, id, deliverable);
            let actual = [
                told.title.as_str(),
                told.excerpt.as_deref().unwrap_or_default(),
                told.url.as_deref().unwrap_or_default(),
                told.command.as_str(),
            ];
            assert_eq!(actual, expected);
            assert_eq!(told.checkpoint.unwrap().since, Timestamp::UNIX_EPOCH);
        }
    }

    #[test]
    fn what_agents_wrote_is_bounded_and_harmless() {
        let worker = format!("w\r\nBcc: all{}", "x".repeat(5000));
        let told =
            told(&created(&worker, "p\u{202e}", "t\u{1b}[2J"), "c", "\u{7}ring\u{1b}]0;x ".repeat(99_999));
        let text = serde_json::to_string(&told).unwrap();
        assert!(text.len() < 3000, "{}", text.len());
        let about = told.checkpoint.as_ref().unwrap();
        for line in [&told.title, &about.worker, &about.phase, &about.kind] {
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        assert!(!told.excerpt.unwrap().lines().any(crate::shown::hides_something));
    }

    #[test]
    fn what_was_decided_says_by_whom() {
        let event = Event::CheckpointResolved {
            status: CheckpointStatus::ChangesRequested,
            reason: Some("shorter".into()),
            by: Some("ann".into()),
            by_kind: None,
            by_token: None,
            digest: Digest::of(b"x"),
        };
        let told = tell(&event, "c1", (None, None, None), Timestamp::UNIX_EPOCH, None).unwrap().1;
        assert!(told.title.ends_with("is changes requested by ann"), "{}", told.title);
        assert_eq!(told.url, None);
        assert_eq!(told.checkpoint.unwrap().reason.as_deref(), Some("shorter"));
    }
}
