//! Webhooks: who is told what happens, and what became of it.

use std::time::Duration;

use checkrein_core::notification::{
    DeliveryStatus, Envelope, NotificationType, WebhookKind, WebhookSecret, WebhookUrl, test,
};
use checkrein_core::principal::Principal;
use checkrein_core::shown::hides_something;
use checkrein_store::{Backlog, DeliveryRow, Page, WebhookRow};
use jiff::SignedDuration;
use uuid::Uuid;

use crate::authority::{Act, require};
use crate::notification::{check, kind_of};
use crate::{Engine, EngineError};

#[derive(Clone, Debug)]
pub struct NewWebhook {
    /// What people call it; may be empty.
    pub name: String,
    /// None takes what the address looks like.
    pub kind: Option<WebhookKind>,
    pub url: WebhookUrl,
    /// None is what waits for a person.
    pub types: Vec<NotificationType>,
    pub allow_private: bool,
}

/// A webhook with what it has not taken.
#[derive(Clone, Debug)]
pub struct WebhookView {
    pub webhook: WebhookRow,
    pub backlog: Backlog,
}

/// A webhook that has a new secret, which is shown once and never again.
#[derive(Clone, Debug)]
pub struct WebhookWithSecret {
    pub view: WebhookView,
    /// None where it takes no signature.
    pub secret: Option<WebhookSecret>,
}

/// Whoever needs more wants a program that forwards.
const WEBHOOKS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 100;
/// How long a test may be under way before it counts as lost.
const TEST_LEASE: SignedDuration = SignedDuration::from_secs(60);

impl Engine {
    /// Adds a webhook. It is told of what happens from now on.
    pub async fn create_webhook(
        &self,
        by: &Principal,
        new: NewWebhook,
    ) -> Result<WebhookWithSecret, EngineError> {
        require(by, Act::ManageWebhooks)?;
        if hides_something(&new.name) {
            return Err(EngineError::Invisible("name"));
        }
        if new.name.chars().count() > NAME_CHARS_MAX {
            let why = format!("its name is longer than {NAME_CHARS_MAX} characters");
            return Err(EngineError::BadWebhook(why));
        }
        let kind = new.kind.unwrap_or_else(|| kind_of(new.url.reveal()));
        if let Err(why) = check(kind, &new.url, new.allow_private) {
            let would_do = !new.allow_private && check(kind, &new.url, true).is_ok();
            return Err(if would_do {
                EngineError::PrivateWebhook(why)
            } else {
                EngineError::BadWebhook(why)
            });
        }
        if self.store.webhooks().await?.len() >= WEBHOOKS_MAX {
            return Err(EngineError::BadWebhook(format!("there are {WEBHOOKS_MAX} already")));
        }
        let mut types = new.types;
        if types.is_empty() {
            types.extend(NotificationType::DEFAULT);
        }
        let secret = (kind == WebhookKind::Webhook).then(secret);
        let row = WebhookRow {
            id: Uuid::new_v4().simple().to_string().chars().take(12).collect(),
            name: new.name,
            kind,
            url: new.url,
            types: NotificationType::ALL.into_iter().filter(|kind| types.contains(kind)).collect(),
            allow_private: new.allow_private,
            secret: secret.clone(),
            old_secret: None,
            position: checkrein_store::Position::default(),
            created_at: self.now(),
            failing_since: None,
            disabled: None,
        };
        let id = row.id.clone();
        self.store.add_webhook(row).await?;
        Ok(WebhookWithSecret { view: self.webhook_view(&id).await?, secret })
    }

    pub async fn webhooks(&self, by: &Principal) -> Result<Vec<WebhookView>, EngineError> {
        require(by, Act::ManageWebhooks)?;
        let mut views = Vec::new();
        for webhook in self.store.webhooks().await? {
            let backlog = self.store.backlog(&webhook.id).await?;
            views.push(WebhookView { webhook, backlog });
        }
        Ok(views)
    }

    pub async fn webhook(&self, by: &Principal, id: &str) -> Result<WebhookView, EngineError> {
        require(by, Act::ManageWebhooks)?;
        self.webhook_view(id).await
    }

    /// Tells it nothing any more; the webhook as it was.
    pub async fn remove_webhook(&self, by: &Principal, id: &str) -> Result<WebhookView, EngineError> {
        require(by, Act::ManageWebhooks)?;
        let view = self.webhook_view(id).await?;
        self.store.remove_webhook(id.to_owned()).await?;
        Ok(view)
    }

    /// Sends to a webhook again that was given up.
    pub async fn enable_webhook(&self, by: &Principal, id: &str) -> Result<WebhookView, EngineError> {
        require(by, Act::ManageWebhooks)?;
        self.webhook_view(id).await?;
        self.store.enable_webhook(id.to_owned()).await?;
        self.webhook_view(id).await
    }

    /// Gives a webhook a new secret. For `overlap` the old one signs as well, so that whoever checks can
    /// change over without losing anything.
    pub async fn rotate_webhook(
        &self,
        by: &Principal,
        id: &str,
        overlap: Duration,
    ) -> Result<WebhookWithSecret, EngineError> {
        require(by, Act::ManageWebhooks)?;
        let webhook = self.webhook_view(id).await?.webhook;
        if webhook.secret.is_none() {
            return Err(EngineError::BadWebhook(format!("{} takes no signature", webhook.kind)));
        }
        let far = |_| EngineError::BadWebhook("the overlap is further away than times go".to_owned());
        let old_until = self.now().checked_add(overlap).map_err(far)?;
        let secret = secret();
        self.store.rotate_webhook(id.to_owned(), secret.clone(), old_until).await?;
        Ok(WebhookWithSecret { view: self.webhook_view(id).await?, secret: Some(secret) })
    }

    /// Sends something to a webhook now, once, and says what came of it.
    pub async fn test_webhook(&self, by: &Principal, id: &str) -> Result<DeliveryRow, EngineError> {
        require(by, Act::ManageWebhooks)?;
        let webhook = self.webhook_view(id).await?.webhook;
        let message = format!("msg_{}", Uuid::new_v4().simple());
        let public_url = self.public_url.as_deref();
        let kind = NotificationType::WebhookTest;
        let told = test(id, public_url);
        let envelope = Envelope::new(message.clone(), kind, id, self.now(), public_url, told);
        let new = self.new_delivery(message.clone(), &envelope)?;
        let lease = Uuid::new_v4().to_string();
        let until = self.now() + TEST_LEASE;
        let claimed = self.store.add_claimed_delivery(id.to_owned(), new, lease.clone(), until).await?;
        if let Some(delivery) = claimed {
            self.attempt_delivery(&webhook, &delivery, lease).await?;
        }
        self.delivery_of_webhook(id, &message).await
    }

    /// What was sent to a webhook, and what is on its way; the newest first.
    pub async fn deliveries(
        &self,
        by: &Principal,
        id: &str,
        status: Option<DeliveryStatus>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<DeliveryRow>, EngineError> {
        require(by, Act::ManageWebhooks)?;
        self.webhook_view(id).await?;
        Ok(self.store.deliveries(id, status, before, limit).await?)
    }

    /// Sends a delivery once more, as if it were new.
    pub async fn retry_delivery(
        &self,
        by: &Principal,
        id: &str,
        delivery: &str,
    ) -> Result<DeliveryRow, EngineError> {
        require(by, Act::ManageWebhooks)?;
        self.delivery_of_webhook(id, delivery).await?;
        self.store.send_again(delivery.to_owned(), self.now()).await?;
        self.delivery_of_webhook(id, delivery).await
    }

    async fn webhook_view(&self, id: &str) -> Result<WebhookView, EngineError> {
        let webhook = self.store.webhook(id).await?.ok_or_else(|| EngineError::NoWebhook(id.to_owned()))?;
        Ok(WebhookView { backlog: self.store.backlog(id).await?, webhook })
    }

    async fn delivery_of_webhook(&self, id: &str, delivery: &str) -> Result<DeliveryRow, EngineError> {
        let found = self.store.delivery(delivery).await?.filter(|found| found.webhook == id);
        found.ok_or_else(|| EngineError::NoDelivery(delivery.to_owned()))
    }
}

/// The address of a server as links begin with it; none where no link can.
pub fn public_url(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    let sound = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    sound.then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// Two random UUIDs carry 244 random bits; hashed, they are a key like any other.
fn secret() -> WebhookSecret {
    let random = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
    WebhookSecret::of(*checkrein_core::deliverable::Digest::of(&random).as_bytes())
}
