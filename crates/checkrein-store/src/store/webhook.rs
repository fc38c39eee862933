//! Webhooks and deliveries, as the store is asked for them.

use checkrein_core::notification::{DeliveryStatus, WebhookSecret};
use jiff::Timestamp;

use super::Store;
use crate::{
    Backlog, Delivered, DeliveryRow, NewDelivery, Page, Position, StoreError, WebhookRow, delivery, webhook,
};

impl Store {
    /// Adds a webhook. It is told of what happens from now on.
    pub async fn add_webhook(&self, row: WebhookRow) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| webhook::put(connection, &row)).await
    }

    pub async fn webhook(&self, id: &str) -> Result<Option<WebhookRow>, StoreError> {
        self.read(|connection| webhook::get(connection, id))
    }

    /// In the order they were made.
    pub async fn webhooks(&self) -> Result<Vec<WebhookRow>, StoreError> {
        self.read(webhook::list)
    }

    /// Whether there was one; what was on its way to it goes, too.
    pub async fn remove_webhook(&self, id: String) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| webhook::remove(connection, &id)).await
    }

    /// Gives a webhook a new secret; the one it had signs as well until `old_until`.
    pub async fn rotate_webhook(
        &self,
        id: String,
        secret: WebhookSecret,
        old_until: Timestamp,
    ) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| webhook::rotate(connection, &id, &secret, old_until)).await
    }

    /// Sends to a webhook again: what happens from now on, and what was waiting.
    pub async fn enable_webhook(&self, id: String) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| webhook::enable(connection, &id)).await
    }

    /// Notes that a webhook was told of everything between two positions, with what came of it. False
    /// where it is not at the first one any more; then nothing is changed.
    pub async fn advance_webhook(
        &self,
        id: String,
        between: (Position, Position),
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| webhook::advance(connection, &id, between, &deliveries)).await
    }

    pub async fn backlog(&self, webhook: &str) -> Result<Backlog, StoreError> {
        self.read(|connection| webhook::backlog(connection, webhook))
    }

    /// Adds one delivery that comes of no event, claimed from the beginning.
    pub async fn add_claimed_delivery(
        &self,
        webhook: String,
        new: NewDelivery,
        lease: String,
        until: Timestamp,
    ) -> Result<Option<DeliveryRow>, StoreError> {
        self.writer()?
            .run(move |connection| {
                delivery::put(connection, &webhook, &new)?;
                delivery::claim_one(connection, &new.id, &lease, until)
            })
            .await
    }

    pub async fn delivery(&self, id: &str) -> Result<Option<DeliveryRow>, StoreError> {
        self.read(|connection| delivery::get(connection, id))
    }

    /// Of a webhook, the newest first, before the one numbered `before`.
    pub async fn deliveries(
        &self,
        webhook: &str,
        status: Option<DeliveryStatus>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<DeliveryRow>, StoreError> {
        self.read(|connection| delivery::list(connection, webhook, status, before, limit))
    }

    /// Takes what is due for a webhook, so that nobody else sends it until `until`.
    pub async fn claim_deliveries(
        &self,
        webhook: String,
        lease: String,
        (now, until): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        self.writer()?
            .run(move |connection| delivery::claim(connection, &webhook, &lease, (now, until), limit))
            .await
    }

    /// Records what came of an attempt. False where somebody else claimed it meanwhile.
    pub async fn record_delivery(&self, done: Delivered) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| delivery::record(connection, &done)).await
    }

    /// Gives back what is claimed under a lease.
    pub async fn release_deliveries(&self, lease: String, now: Timestamp) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| delivery::release(connection, &lease, now)).await
    }

    /// Sends a delivery once more, as if it were new.
    pub async fn send_again(&self, id: String, now: Timestamp) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| delivery::again(connection, &id, now)).await
    }

    /// Webhooks for which something is due.
    pub async fn due_webhooks(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        self.read(|connection| delivery::due_webhooks(connection, now))
    }

    /// When the next delivery is due, or its sender counts as dead.
    pub async fn next_delivery(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(delivery::next_due)
    }

    /// Forgets deliveries that are over.
    pub async fn prune_deliveries(
        &self,
        delivered_before: Timestamp,
        dead_before: Timestamp,
    ) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| delivery::prune(connection, delivered_before, dead_before)).await
    }
}
