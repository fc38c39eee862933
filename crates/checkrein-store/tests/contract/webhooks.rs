//! Webhooks: told of each event once, and sent each delivery by one at a time.

use checkrein_core::notification::{
    DeliveryStatus, NotificationType, WebhookKind, WebhookSecret, WebhookUrl,
};
use checkrein_store::{Backlog, Delivered, Health, NewDelivery, Position, Store, WebhookRow};

use crate::{Open, creation, pending, time};

fn webhook(id: &str) -> WebhookRow {
    WebhookRow {
        id: id.to_owned(),
        name: "ops ü".to_owned(),
        kind: WebhookKind::Webhook,
        url: WebhookUrl::new("https://example.com/secret"),
        types: vec![NotificationType::CheckpointCreated, NotificationType::RunFailed],
        allow_private: true,
        secret: Some(WebhookSecret::of([1; 32])),
        old_secret: None,
        position: Position(0),
        created_at: time(1),
        failing_since: None,
        disabled: None,
    }
}

fn delivery(id: &str, at_ms: i64) -> NewDelivery {
    NewDelivery {
        id: id.to_owned(),
        kind: NotificationType::CheckpointCreated.name(),
        subject: "c1".to_owned(),
        body: "{}".to_owned(),
        at: time(at_ms),
    }
}

fn outcome(id: &str, lease: &str, status: DeliveryStatus, health: Health) -> Delivered {
    Delivered {
        id: id.to_owned(),
        lease: lease.to_owned(),
        status,
        next_at: (status == DeliveryStatus::Waiting).then(|| time(500)),
        answer: "answered".to_owned(),
        at: time(100),
        health,
    }
}

/// A webhook with these deliveries.
async fn with(store: &Store, ids: &[&str]) {
    store.add_webhook(webhook("w")).await.unwrap();
    let new = ids.iter().map(|id| delivery(id, 10)).collect();
    let from = store.webhook("w").await.unwrap().unwrap().position;
    assert!(store.advance_webhook("w".to_owned(), (from, Position(7)), new).await.unwrap());
}

async fn claimed(store: &Store, lease: &str, now_ms: i64, limit: usize) -> Vec<String> {
    let times = (time(now_ms), time(now_ms + 60));
    let rows = store.claim_deliveries("w".to_owned(), lease.to_owned(), times, limit).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

pub async fn a_webhook_is_read_again_and_begins_at_the_end_of_the_log(open: Open<'_>) {
    let (store, other) = (open(), open());
    store.commit(creation(pending("c1"))).await.unwrap();
    let last = store.last_position().await.unwrap();
    store.add_webhook(webhook("b")).await.unwrap();
    store.add_webhook(webhook("a")).await.unwrap();
    assert!(store.add_webhook(webhook("a")).await.is_err(), "the same id");
    let at_the_end = |id: &str| WebhookRow { position: last, ..webhook(id) };
    assert_eq!(other.webhook("a").await.unwrap(), Some(at_the_end("a")));
    assert_eq!(other.webhooks().await.unwrap(), [at_the_end("b"), at_the_end("a")]);
    let second = WebhookSecret::of([2; 32]);
    assert!(store.rotate_webhook("a".to_owned(), second.clone(), time(9)).await.unwrap());
    let rotated = other.webhook("a").await.unwrap().unwrap();
    assert_eq!(rotated.secret, Some(second));
    assert_eq!(rotated.old_secret, Some((WebhookSecret::of([1; 32]), time(9))));
    assert!(store.remove_webhook("a".to_owned()).await.unwrap());
    assert!(!store.remove_webhook("a".to_owned()).await.unwrap());
    assert_eq!(other.webhook("a").await.unwrap(), None);
}

pub async fn of_two_who_tell_a_webhook_one_is_first(open: Open<'_>) {
    let (store, other) = (open(), open());
    store.add_webhook(webhook("w")).await.unwrap();
    for round in 0..20 {
        let between = (Position(round), Position(round + 1));
        let new = |who: &str| vec![delivery(&format!("{round} {who}"), 10)];
        let (one, two) = tokio::join!(
            store.advance_webhook("w".to_owned(), between, new("one")),
            other.advance_webhook("w".to_owned(), between, new("two")),
        );
        assert!(one.unwrap() != two.unwrap(), "{round}");
    }
    assert_eq!(store.backlog("w").await.unwrap(), Backlog { waiting: 20, dead: 0 });
    assert_eq!(store.webhook("w").await.unwrap().unwrap().position, Position(20));
}

pub async fn a_delivery_is_claimed_by_one_until_its_time_is_over(open: Open<'_>) {
    let (store, other) = (open(), open());
    with(&store, &["d1", "d2", "d3"]).await;
    assert_eq!(store.due_webhooks(time(9)).await.unwrap(), Vec::<String>::new());
    assert_eq!(store.due_webhooks(time(10)).await.unwrap(), ["w"]);
    assert_eq!(claimed(&store, "one", 9, 5).await, Vec::<String>::new(), "before it is due");
    assert_eq!(claimed(&store, "one", 10, 2).await, ["d1", "d2"]);
    assert_eq!(claimed(&other, "two", 11, 5).await, ["d3"]);
    assert_eq!(claimed(&other, "two", 12, 5).await, Vec::<String>::new());
    assert_eq!(store.next_delivery().await.unwrap(), Some(time(70)));
    // The first one died; whoever comes after that time takes what it had, and is believed alone.
    assert_eq!(claimed(&other, "two", 70, 5).await, ["d1", "d2"]);
    let late = outcome("d1", "one", DeliveryStatus::Delivered, Health::Well);
    assert!(!store.record_delivery(late).await.unwrap());
    let row = store.delivery("d1").await.unwrap().unwrap();
    assert_eq!((row.status, row.attempts), (DeliveryStatus::Waiting, 2));
    assert!(
        store.record_delivery(outcome("d1", "two", DeliveryStatus::Delivered, Health::Well)).await.unwrap()
    );
    let row = store.delivery("d1").await.unwrap().unwrap();
    assert_eq!(
        (row.status, row.finished_at, row.next_at),
        (DeliveryStatus::Delivered, Some(time(100)), None)
    );
    // What is given back can be taken at once, and was not tried.
    store.release_deliveries("two".to_owned(), time(80)).await.unwrap();
    assert_eq!(claimed(&store, "one", 80, 5).await, ["d2", "d3"]);
    assert_eq!(store.delivery("d3").await.unwrap().unwrap().attempts, 1);
}

pub async fn what_came_of_it_is_said_of_its_webhook(open: Open<'_>) {
    let store = open();
    with(&store, &["d1", "d2", "d3"]).await;
    claimed(&store, "one", 10, 5).await;
    let health = || async {
        let row = store.webhook("w").await.unwrap().unwrap();
        (row.failing_since, row.disabled)
    };
    let failing = |disable_before_ms| Health::Failing { disable_before: time(disable_before_ms) };
    store.record_delivery(outcome("d1", "one", DeliveryStatus::Waiting, failing(50))).await.unwrap();
    assert_eq!(health().await, (Some(time(100)), None));
    store.record_delivery(outcome("d2", "one", DeliveryStatus::Delivered, Health::Well)).await.unwrap();
    assert_eq!(health().await, (None, None));
    store.record_delivery(outcome("d3", "one", DeliveryStatus::Dead, failing(101))).await.unwrap();
    assert_eq!(health().await, (Some(time(100)), Some((time(100), "answered".to_owned()))));
    assert_eq!(store.due_webhooks(time(1000)).await.unwrap(), Vec::<String>::new());
    assert_eq!(store.next_delivery().await.unwrap(), None);
    let told =
        store.advance_webhook("w".to_owned(), (Position(7), Position(8)), vec![delivery("d4", 10)]).await;
    assert!(!told.unwrap(), "it is told nothing any more");
    assert!(store.enable_webhook("w".to_owned()).await.unwrap());
    assert!(!store.enable_webhook("w".to_owned()).await.unwrap());
    assert_eq!(health().await, (None, None));
    assert!(store.send_again("d3".to_owned(), time(200)).await.unwrap());
    assert_eq!(claimed(&store, "two", 1000, 5).await, ["d3", "d1"]);
    let gone = outcome("d3", "two", DeliveryStatus::Dead, Health::Gone("gone".to_owned()));
    store.record_delivery(gone).await.unwrap();
    assert_eq!(health().await.1, Some((time(100), "gone".to_owned())));
}

pub async fn deliveries_are_listed_newest_first_and_forgotten_when_they_are_old(open: Open<'_>) {
    let store = open();
    with(&store, &["d1", "d2", "d3"]).await;
    claimed(&store, "one", 10, 2).await;
    store.record_delivery(outcome("d1", "one", DeliveryStatus::Delivered, Health::Well)).await.unwrap();
    store.record_delivery(outcome("d2", "one", DeliveryStatus::Dead, Health::Unknown)).await.unwrap();
    let ids = |status, before, limit| {
        let store = store.clone();
        async move {
            let page = store.deliveries("w", status, before, limit).await.unwrap();
            (page.items.into_iter().map(|row| row.id).collect::<Vec<_>>(), page.next)
        }
    };
    let (first, next) = ids(None, None, 2).await;
    assert_eq!(first, ["d3", "d2"]);
    assert_eq!(ids(None, next, 2).await, (vec!["d1".to_owned()], None));
    assert_eq!(ids(Some(DeliveryStatus::Dead), None, 9).await.0, ["d2"]);
    store.prune_deliveries(time(101), time(100)).await.unwrap();
    assert_eq!(ids(None, None, 9).await.0, ["d3", "d2"]);
    store.prune_deliveries(time(101), time(101)).await.unwrap();
    assert_eq!(ids(None, None, 9).await.0, ["d3"]);
    store.remove_webhook("w".to_owned()).await.unwrap();
    assert_eq!(ids(None, None, 9).await.0, Vec::<String>::new());
}
