//! One attempt to deliver, and what is made of it.

use checkrein_core::notification::{
    ATTEMPTS_MAX, DISABLED_AFTER, DeliveryStatus, Envelope, NotificationType, WebhookKind, mail,
    next_attempt, slack,
};
use checkrein_core::shown::one_line;
use checkrein_store::{Delivered, DeliveryRow, Health, WebhookRow};
use jiff::{SignedDuration, Timestamp};

use super::target::Target;
use super::{Outcome, smtp};
use crate::{Engine, EngineError};

/// Longer answers say no more.
const ANSWER_CHARS_MAX: usize = 300;

impl Engine {
    /// Sends a delivery that is claimed, and records what came of it.
    pub(crate) async fn attempt_delivery(
        &self,
        webhook: &WebhookRow,
        delivery: &DeliveryRow,
        lease: String,
    ) -> Result<(), EngineError> {
        // An attempt counts when it begins, so what brings its sender down is not sent for ever.
        let outcome = if delivery.attempts > ATTEMPTS_MAX {
            Outcome::failed("whoever sent it died each time".to_owned())
        } else {
            self.send(webhook, delivery).await
        };
        let done = self.judge(delivery, lease, outcome, self.now());
        self.store.record_delivery(done).await?;
        Ok(())
    }

    async fn send(&self, webhook: &WebhookRow, delivery: &DeliveryRow) -> Outcome {
        let target = match Target::of(webhook.kind, &webhook.url, webhook.allow_private) {
            Ok(target) => target,
            Err(why) => return Outcome::failed(format!("the address cannot be used: {why}")),
        };
        let envelope = || {
            serde_json::from_str::<Envelope>(&delivery.body)
                .map_err(|error| Outcome::failed(format!("what is to be said cannot be read: {error}")))
        };
        let now = self.now();
        match target {
            Target::Smtp(target) => match envelope() {
                Ok(envelope) => smtp::send(&target, &delivery.id, mail(&envelope)).await,
                Err(outcome) => outcome,
            },
            Target::Http { url, reach } => {
                let (body, media_type) = match (webhook.kind, envelope()) {
                    (WebhookKind::Slack, Ok(envelope)) => (slack(&envelope).to_string(), "application/json"),
                    (WebhookKind::Slack, Err(outcome)) => return outcome,
                    _ => (delivery.body.clone(), "application/cloudevents+json"),
                };
                let mut headers = signed(webhook, &delivery.id, &body, now);
                headers.push(("content-type", media_type.to_owned()));
                self.senders.0.post((url, reach), &headers, body, now).await
            }
        }
    }

    /// What becomes of a delivery, and of its webhook.
    fn judge(&self, delivery: &DeliveryRow, lease: String, outcome: Outcome, at: Timestamp) -> Delivered {
        let is_test = delivery.kind == NotificationType::WebhookTest.name();
        let disable_before =
            SignedDuration::try_from(DISABLED_AFTER).map_or(Timestamp::MIN, |after| at - after);
        let failing = Health::Failing { disable_before };
        let (status, wait, answer, health) = match outcome {
            Outcome::Arrived { answer } => (DeliveryStatus::Delivered, None, answer, Health::Well),
            Outcome::Gone { answer } => {
                let health = Health::Gone(format!("it {answer}: it wants nothing any more"));
                (DeliveryStatus::Dead, None, answer, health)
            }
            // Whoever tries sees what comes of it.
            Outcome::Failed { answer, .. } if is_test => {
                (DeliveryStatus::Dead, None, answer, Health::Unknown)
            }
            Outcome::Failed { answer, retry_after } => {
                let wait = next_attempt(delivery.attempts.min(ATTEMPTS_MAX), &delivery.id, retry_after);
                let status = if wait.is_some() { DeliveryStatus::Waiting } else { DeliveryStatus::Dead };
                (status, wait, answer, failing)
            }
        };
        let redacted = self.redacted(answer.as_bytes()).into_owned();
        let answer: String =
            one_line(&String::from_utf8_lossy(&redacted)).chars().take(ANSWER_CHARS_MAX).collect();
        let next_at = wait.and_then(|wait| at.checked_add(wait).ok());
        Delivered { id: delivery.id.clone(), lease, status, next_at, answer, at, health }
    }
}

/// The headers of Standard Webhooks. While a secret is replaced, the old one signs as well.
fn signed(webhook: &WebhookRow, id: &str, body: &str, now: Timestamp) -> Vec<(&'static str, String)> {
    let seconds = now.as_second();
    let old = webhook.old_secret.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
    let signatures: Vec<String> =
        webhook.secret.iter().chain(old).map(|secret| secret.sign(id, seconds, body)).collect();
    let mut headers = vec![("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string())];
    if !signatures.is_empty() {
        headers.push(("webhook-signature", signatures.join(" ")));
    }
    headers
}
