//! Notifications over real connections: to programs, to Slack, by mail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod mail;
mod receiver;
mod retry;
mod secret;
mod slack;
mod told;

use std::path::{Path, PathBuf};

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::notification::{DeliveryStatus, NotificationType, WebhookUrl};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, NewWebhook, Shift, VerdictRequest, WebhookWithSecret};
use checkrein_store::{DeliveryRow, Store};
use tempfile::TempDir;

struct Place {
    engine: Engine,
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = TempDir::new().unwrap();
        let engine = engine(&directory.path().join("store.db"));
        Place { engine, directory }
    }

    /// Another engine on the same store, as another process would have.
    fn other(&self) -> Engine {
        engine(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    async fn add(&self, url: &str, types: &[NotificationType]) -> WebhookWithSecret {
        let new = NewWebhook {
            name: String::new(),
            kind: None,
            url: WebhookUrl::new(url),
            types: types.to_vec(),
            allow_private: true,
        };
        self.engine.create_webhook(&ann(), new).await.unwrap()
    }

    async fn ask(&self, id: &str, text: &str) {
        let new = NewCheckpoint {
            id: Some(id.to_owned()),
            worker: "writer".to_owned(),
            phase: "draft".to_owned(),
            kind: "deliverable".to_owned(),
            deliverable: Deliverable::Text(text.to_owned()),
        };
        self.engine.create_checkpoint(&ann(), new).await.unwrap();
    }

    async fn approve(&self, id: &str) {
        let request = VerdictRequest::new(Verdict::Approve, Some("as agreed".to_owned()));
        self.engine.give_verdict(&ann(), id, &request).await.unwrap();
    }

    /// Sends everything that is due.
    async fn deliver(&self) {
        deliver(&self.engine).await;
    }

    /// As if all the time had passed that anything waits for.
    fn time_passes(&self) {
        self.execute("UPDATE deliveries SET next_ms = 0 WHERE status = 'waiting'");
    }

    fn execute(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute(sql, []).unwrap();
    }

    async fn deliveries(&self, webhook: &WebhookWithSecret) -> Vec<DeliveryRow> {
        let id = &webhook.view.webhook.id;
        self.engine.deliveries(&ann(), id, None, None, 100).await.unwrap().items
    }

    async fn only(&self, webhook: &WebhookWithSecret) -> DeliveryRow {
        let mut rows = self.deliveries(webhook).await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }

    /// Status, number of attempts and answer of the one delivery.
    async fn state(&self, webhook: &WebhookWithSecret) -> (DeliveryStatus, u32, String) {
        let row = self.only(webhook).await;
        (row.status, row.attempts, row.answer.unwrap_or_default())
    }
}

fn engine(path: &Path) -> Engine {
    let settings = Settings::new(None, None, None, Vec::new()).unwrap();
    let engine = Engine::new(Store::open(path).unwrap(), settings);
    engine.with_public_url(Some("https://rein.example".to_owned()))
}

async fn deliver(engine: &Engine) {
    let (_end, stop) = tokio::sync::watch::channel(false);
    engine.deliver(Shift::Once, &stop, &|text| panic!("{text}")).await;
}

fn ann() -> Principal {
    Principal::new("ann", PrincipalKind::Person, Role::Admin)
}
