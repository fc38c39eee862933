//! Makes deliveries of what happened.

use std::collections::HashMap;

use checkrein_core::checkpoint::CheckpointId;
use checkrein_core::deliverable::{Content, Digest, Encoding};
use checkrein_core::event::Event;
use checkrein_core::notification::{Envelope, NotificationType, tell};
use checkrein_core::run::RunId;
use checkrein_store::{NewDelivery, Position, StoredEvent, WebhookRow};
use jiff::SignedDuration;

use crate::{Engine, EngineError};

const READ_AT_ONCE: usize = 500;
/// So long before a webhook was added things are history. Positions say exactly what came after it, but
/// an import brings old events to new positions; clocks do not differ by so much.
const HISTORY: SignedDuration = SignedDuration::from_hours(24);

impl Engine {
    /// Brings every webhook up to date with the log. `read` says how far it was read before, where
    /// nothing in it was to be told.
    pub(super) async fn tell_webhooks(
        &self,
        read: &mut HashMap<String, Position>,
    ) -> Result<(), EngineError> {
        let webhooks = self.store.webhooks().await?;
        read.retain(|id, _| webhooks.iter().any(|webhook| webhook.id == *id));
        // What is wrong with one keeps no other from being told; it is tried again.
        let mut failed = None;
        for webhook in webhooks.into_iter().filter(|webhook| webhook.disabled.is_none()) {
            if let Err(error) = self.tell_webhook(webhook, read).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn tell_webhook(
        &self,
        mut webhook: WebhookRow,
        read: &mut HashMap<String, Position>,
    ) -> Result<(), EngineError> {
        loop {
            let from = read.get(&webhook.id).copied().unwrap_or_default().max(webhook.position);
            let events = self.store.events(from, None, READ_AT_ONCE).await?;
            let Some(last) = events.last().map(|event| event.position) else { return Ok(()) };
            let more = events.len() == READ_AT_ONCE;
            let mut deliveries = Vec::new();
            for event in &events {
                deliveries.extend(self.delivery_of(&webhook, event).await?);
            }
            // To note only that nothing was to be told, now and then is enough.
            if !deliveries.is_empty() || more {
                let between = (webhook.position, last);
                if !self.store.advance_webhook(webhook.id.clone(), between, deliveries).await? {
                    // Somebody else was faster; it is looked at again with the next change.
                    return Ok(());
                }
                webhook.position = last;
            }
            read.insert(webhook.id.clone(), last);
            if !more {
                return Ok(());
            }
        }
    }

    /// What a webhook is told of an event, if it is.
    async fn delivery_of(
        &self,
        webhook: &WebhookRow,
        event: &StoredEvent,
    ) -> Result<Option<NewDelivery>, EngineError> {
        if NotificationType::of(&event.event).is_none_or(|kind| !webhook.types.contains(&kind)) {
            return Ok(None);
        }
        // What was imported happened long ago, however new it is here.
        if webhook.created_at.duration_since(event.at) > HISTORY {
            return Ok(None);
        }
        let (mut checkpoint, mut content, mut workflow) = (None, None, None);
        match &event.event {
            Event::Run(_) => {
                workflow = self.store.run(&event.stream).await?.map(|stored| stored.run.workflow)
            }
            Event::CheckpointCreated { digest, .. }
            | Event::CheckpointMoved { digest }
            | Event::CheckpointResolved { digest, .. } => {
                if let Ok(id) = CheckpointId::new(event.stream.clone()) {
                    checkpoint = self.store.checkpoint(&id).await?.map(|stored| stored.checkpoint);
                }
                content = self
                    .store
                    .content(digest)
                    .await?
                    .map(|content| self.harmless_content(&event.stream, content));
            }
        }
        let known = (checkpoint.as_ref(), content.as_ref(), workflow.as_deref());
        let public_url = self.public_url.as_deref();
        let Some((kind, told)) = tell(&event.event, &event.stream, known, event.at, public_url) else {
            return Ok(None);
        };
        let id = message_id(&[
            &webhook.id,
            &event.stream,
            &event.seq.to_string(),
            &event.at.as_millisecond().to_string(),
        ]);
        let envelope = Envelope::new(id.clone(), kind, &event.stream, event.at, public_url, told);
        Ok(Some(self.new_delivery(id, &envelope)?))
    }

    /// A notification as it is sent, without what is secret here.
    pub(crate) fn new_delivery(&self, id: String, envelope: &Envelope) -> Result<NewDelivery, EngineError> {
        let body =
            serde_json::to_vec(envelope).map_err(|error| EngineError::Definition(error.to_string()))?;
        let body = String::from_utf8_lossy(&self.redacted_json(&body, None)).into_owned();
        let (kind, subject) = (envelope.kind.name(), envelope.subject.clone());
        Ok(NewDelivery { id, kind, subject, body, at: self.now() })
    }

    /// Without secrets before it is cut: half of one would not be known again.
    fn harmless_content(&self, stream: &str, content: Content) -> Content {
        let run = RunId::new(stream.split('.').next().unwrap_or_default());
        let bytes = match content.encoding {
            Encoding::Json => self.redacted_json(&content.bytes, Some(&run)).into_owned(),
            Encoding::Text | Encoding::Bytes => {
                self.masker(std::slice::from_ref(&run)).masked(&content.bytes).into_owned()
            }
        };
        Content { bytes, ..content }
    }
}

/// The id of what is told of one event to one webhook: the same whoever makes it, and another one for
/// another event, even where a store was put back to what it was.
pub(crate) fn message_id(parts: &[&str]) -> String {
    let digest = Digest::of(parts.join("\n").as_bytes()).to_string();
    let short: String = digest.chars().take(32).collect();
    format!("msg_{short}")
}
