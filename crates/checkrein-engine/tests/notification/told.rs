//! What is told, to whom, and once.

use checkrein_core::notification::{DeliveryStatus, NotificationType};
use checkrein_engine::{EngineError, NewWebhook, Shift};
use serde_json::json;

use crate::receiver::Receiver;
use crate::{Place, ann, deliver};

#[tokio::test]
async fn what_waits_is_told_as_a_signed_cloud_event() {
    let (place, receiver) = (Place::new(), Receiver::answering("204 No Content"));
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c 1", "Dear Ann,\nall is well").await;
    place.deliver().await;
    let got = receiver.got();
    let [request] = &got[..] else { panic!("{got:?}") };
    assert_eq!(request.path, "/hook/secret-path");
    assert_eq!(request.headers["content-type"], "application/cloudevents+json");
    let secret = webhook.secret.unwrap().reveal();
    let official = standardwebhooks::Webhook::new(&secret).unwrap();
    let header = |name: &str| request.headers[name].clone();
    let seconds: i64 = header("webhook-timestamp").parse().unwrap();
    let signature = official.sign(request.id(), seconds, request.body.as_bytes()).unwrap();
    assert_eq!(header("webhook-signature"), signature);
    let said = request.json();
    let fixed =
        ["specversion", "source", "type", "subject", "datacontenttype"].map(|name| said[name].clone());
    let expected = ["1.0", "https://rein.example", "checkpoint.created", "c 1", "application/json"];
    assert_eq!(fixed, expected.map(|text| json!(text)));
    assert_eq!(said["id"], request.id());
    assert_eq!(said["data"]["title"], "writer waits for an answer: deliverable in draft");
    assert_eq!(said["data"]["excerpt"], "Dear Ann,\nall is well");
    assert_eq!(said["data"]["url"], "https://rein.example/checkpoints/c%201");
    assert_eq!(said["data"]["checkpoint"]["since"], said["time"]);
}

#[tokio::test]
async fn each_is_told_of_what_it_asked_for_and_of_nothing_before() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    place.ask("before", "x").await;
    let all = place.add(&receiver.url(), &NotificationType::ALL).await;
    let decided = place.add(&receiver.url(), &[NotificationType::CheckpointResolved]).await;
    place.approve("before").await;
    place.ask("c1", "x").await;
    place.deliver().await;
    place.deliver().await;
    for (webhook, expected) in [
        (&all, &["checkpoint.created c1", "checkpoint.resolved before"][..]),
        (&decided, &["checkpoint.resolved before"]),
    ] {
        let rows = place.deliveries(webhook).await;
        let words: Vec<String> = rows.iter().map(|row| format!("{} {}", row.kind, row.subject)).collect();
        assert_eq!(words, expected);
        assert!(
            rows.iter().all(|row| row.status == DeliveryStatus::Delivered && row.attempts == 1),
            "{rows:?}"
        );
    }
    assert_eq!(receiver.got().len(), 3, "each once");
}

/// An import brings old events to new positions.
#[tokio::test]
async fn what_happened_long_before_is_history() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("old", "x").await;
    place.execute("UPDATE events SET at_ms = at_ms - 48 * 3600 * 1000");
    place.ask("new", "x").await;
    place.deliver().await;
    assert_eq!(place.only(&webhook).await.subject, "new");
}

/// Several processes deliver; each event is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_deliver_tell_each_event_once() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    place.add(&receiver.url(), &[]).await;
    let (end, stop) = tokio::sync::watch::channel(false);
    let delivering: Vec<_> = (0..4)
        .map(|_| {
            let (engine, stop) = (place.other(), stop.clone());
            tokio::spawn(
                async move { engine.deliver(Shift::UntilStopped, &stop, &|text| panic!("{text}")).await },
            )
        })
        .collect();
    for number in 0..40 {
        place.ask(&format!("c{number}"), "x").await;
    }
    tokio::task::block_in_place(|| receiver.until(40));
    end.send(true).unwrap();
    for task in delivering {
        task.await.unwrap();
    }
    deliver(&place.engine).await;
    let mut ids: Vec<String> = receiver.got().iter().map(|request| request.id().to_owned()).collect();
    assert_eq!(ids.len(), 40);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 40, "some were sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_one_keeps_nobody_waiting() {
    let (place, fast, slow) = (Place::new(), Receiver::answering("200 OK"), Receiver::start(|_, _| None));
    let slow_one = place.add(&slow.url(), &[]).await;
    let fast_one = place.add(&fast.url(), &[]).await;
    for number in 0..10 {
        place.ask(&format!("c{number}"), "x").await;
    }
    let (end, stop) = tokio::sync::watch::channel(false);
    let engine = place.other();
    let delivering =
        tokio::spawn(
            async move { engine.deliver(Shift::UntilStopped, &stop, &|text| panic!("{text}")).await },
        );
    // All of the fast one's arrive while the slow one has answered none, and is not flooded.
    tokio::task::block_in_place(|| (fast.until(10), slow.until(4)));
    assert_eq!(slow.got().len(), 4);
    assert!(place.deliveries(&slow_one).await.iter().all(|row| row.status == DeliveryStatus::Waiting));
    delivering.abort();
    let _ = (delivering.await, end);
    assert_eq!(place.deliveries(&fast_one).await.len(), 10);
}

#[tokio::test]
async fn a_test_says_what_came_of_it_and_is_not_repeated() {
    let place = Place::new();
    for (status, expected, answer) in [
        ("200 OK", DeliveryStatus::Delivered, "answered 200"),
        ("500 Oops", DeliveryStatus::Dead, "answered 500"),
        ("302 Found", DeliveryStatus::Dead, "answered 302, which is not followed"),
    ] {
        let receiver = Receiver::answering(status);
        let webhook = place.add(&receiver.url(), &[]).await;
        let row = place.engine.test_webhook(&ann(), &webhook.view.webhook.id).await.unwrap();
        assert_eq!((row.status, row.answer.as_deref()), (expected, Some(answer)));
        place.time_passes();
        place.deliver().await;
        assert_eq!(receiver.got().len(), 1);
        assert_eq!(receiver.got()[0].json()["type"], "webhook.test");
    }
}

/// Whatever a name resolves to by the time it is used is judged again.
#[tokio::test]
async fn nothing_is_sent_where_it_must_not_be() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    let webhook = place.add(&receiver.url(), &[]).await;
    let id = webhook.view.webhook.id.clone();
    let port = receiver.address.port();
    for (url, why) in [
        (format!("http://127.0.0.1:{port}/"), "it takes `https://`"),
        (format!("https://localhost:{port}/"), "private network or on this machine"),
        (format!("https://127.0.0.1:{port}/"), "private network or on this machine"),
        ("https://169.254.169.254/".to_owned(), "nothing is sent to"),
        (format!("smtp://localhost:{port}/?from=a@b.c&to=d@e.f"), ""),
    ] {
        // Named when it was allowed, used when it is not any more.
        let sql = format!("UPDATE webhooks SET url = '{url}', private = 0 WHERE id = '{id}'");
        place.execute(&sql);
        let row = place.engine.test_webhook(&ann(), &id).await.unwrap();
        let answer = row.answer.unwrap();
        assert!(row.status == DeliveryStatus::Dead && answer.contains(why), "{url}: {answer}");
    }
    assert_eq!(receiver.got().len(), 0);
}

#[tokio::test]
async fn what_cannot_be_sent_to_is_refused_and_not_repeated_in_words() {
    let place = Place::new();
    for url in
        ["http://example.com/top-secret", "https://10.0.0.1/top-secret", "gopher://top-secret", "top-secret"]
    {
        let new = NewWebhook {
            name: String::new(),
            kind: None,
            url: checkrein_core::notification::WebhookUrl::new(url),
            types: Vec::new(),
            allow_private: false,
        };
        let refused = place.engine.create_webhook(&ann(), new).await.unwrap_err();
        assert!(
            matches!(refused, EngineError::BadWebhook(_) | EngineError::PrivateWebhook(_)),
            "{url}: {refused}"
        );
        assert!(!refused.to_string().contains("top-secret"), "{refused}");
    }
}
