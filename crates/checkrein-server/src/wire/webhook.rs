//! A webhook and its deliveries as programs see them: without secrets, and its address without what
//! could be one.

use checkrein_core::notification::{DeliveryStatus, NotificationType, WebhookKind, WebhookSecret};
use checkrein_engine::{WebhookView, WebhookWithSecret};
use checkrein_store::DeliveryRow;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    pub id: String,
    pub name: String,
    pub kind: WebhookKind,
    /// Scheme and host of its address; the rest may be a secret
    pub url: String,
    /// What it is told of
    pub types: Vec<NotificationType>,
    /// Whether it may be in a private network, or on the server's machine
    pub allow_private: bool,
    pub created_at: Timestamp,
    /// Until when the secret before this one signs as well
    pub old_secret_until: Option<Timestamp>,
    /// Since when nothing arrives; null when the last attempt did
    pub failing_since: Option<Timestamp>,
    /// Since when it is sent nothing any more
    pub disabled_at: Option<Timestamp>,
    pub disabled_reason: Option<String>,
    /// How many deliveries are on their way
    pub waiting: u64,
    /// How many were given up
    pub dead: u64,
}

impl From<&WebhookView> for Webhook {
    fn from(view: &WebhookView) -> Webhook {
        let row = &view.webhook;
        Webhook {
            id: row.id.clone(),
            name: row.name.clone(),
            kind: row.kind,
            url: row.url.shown(),
            types: row.types.clone(),
            allow_private: row.allow_private,
            created_at: row.created_at,
            old_secret_until: row.old_secret.as_ref().map(|(_, until)| *until),
            failing_since: row.failing_since,
            disabled_at: row.disabled.as_ref().map(|(at, _)| *at),
            disabled_reason: row.disabled.as_ref().map(|(_, why)| why.clone()),
            waiting: view.backlog.waiting,
            dead: view.backlog.dead,
        }
    }
}

/// A webhook that has a new secret. It is shown once and never again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewWebhook {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Checks its signatures; null where it takes none
    pub secret: Option<String>,
}

impl From<&WebhookWithSecret> for NewWebhook {
    fn from(made: &WebhookWithSecret) -> NewWebhook {
        NewWebhook {
            webhook: Webhook::from(&made.view),
            secret: made.secret.as_ref().map(WebhookSecret::reveal),
        }
    }
}

/// One notification on its way to one webhook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// Its `webhook-id`, the same however often it is sent
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The checkpoint or run it is about
    pub subject: String,
    pub status: DeliveryStatus,
    pub attempts: u32,
    pub created_at: Timestamp,
    /// When it is sent, or sent again
    pub next_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// What came of the last attempt
    pub answer: Option<String>,
}

impl From<&DeliveryRow> for Delivery {
    fn from(row: &DeliveryRow) -> Delivery {
        Delivery {
            id: row.id.clone(),
            kind: row.kind.clone(),
            subject: row.subject.clone(),
            status: row.status,
            attempts: row.attempts,
            created_at: row.created_at,
            next_at: row.next_at,
            finished_at: row.finished_at,
            answer: row.answer.clone(),
        }
    }
}
