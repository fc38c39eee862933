//! An event as programs see it.

use checkrein_core::event::Event as Said;
use checkrein_store::StoredEvent;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Object;

/// Something that happened. What exactly is in the fields beside these, by the kind of event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the log; go on after it and nothing is missed
    pub position: i64,
    /// The run it happened to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The checkpoint it happened to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// Its number among those of the same run or checkpoint
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub said: Object,
}

impl From<&StoredEvent> for Event {
    fn from(stored: &StoredEvent) -> Event {
        let of_run = matches!(stored.event, Said::Run(_));
        let stream = Some(stored.stream.clone());
        let (run_id, checkpoint_id) = if of_run { (stream, None) } else { (None, stream) };
        let said = said(&stored.event);
        Event { position: stored.position.0, run_id, checkpoint_id, seq: stored.seq, at: stored.at, said }
    }
}

impl Event {
    /// The event itself again; nothing where a newer server says what is not known here.
    pub fn unsaid(&self) -> Option<Said> {
        let said = self.said.iter().map(|(key, value)| match key.as_str() {
            "boundary" => ("at".to_owned(), value.clone()),
            _ => (key.clone(), value.clone()),
        });
        serde_json::from_value(serde_json::Value::Object(said.collect())).ok()
    }
}

/// What an event says. Where something happened is `at` in the event; when is the same word in what is
/// around it.
pub fn said(event: &impl Serialize) -> Object {
    let Ok(serde_json::Value::Object(said)) = serde_json::to_value(event) else { return Object::new() };
    let renamed = said.into_iter().map(|(key, value)| match key.as_str() {
        "at" => ("boundary".to_owned(), value),
        _ => (key, value),
    });
    renamed.collect()
}
