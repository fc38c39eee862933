//! What does not arrive: tried again, given up, taken up again.

use checkrein_core::notification::{ATTEMPTS_MAX, DeliveryStatus};
use jiff::SignedDuration;

use crate::receiver::{Receiver, answer};
use crate::{Place, ann};

use DeliveryStatus::{Dead, Delivered, Waiting};

#[tokio::test]
async fn it_is_tried_again_until_it_arrives_under_the_same_id() {
    let place = Place::new();
    let receiver = Receiver::start(|number, _| {
        Some(answer(
            ["500 Oops", "404 Not Found", "301 Moved", "200 OK"][number.min(3)],
            "Location: /elsewhere\r\n",
        ))
    });
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    for (attempt, status, said) in [
        (1, Waiting, "answered 500"),
        (2, Waiting, "answered 404"),
        (3, Waiting, "answered 301, which is not followed"),
        (4, Delivered, "answered 200"),
    ] {
        place.deliver().await;
        assert_eq!(place.state(&webhook).await, (status, attempt, said.to_owned()));
        // Not before its time.
        place.deliver().await;
        assert_eq!(receiver.got().len(), attempt as usize);
        let failing =
            place.engine.webhook(&ann(), &webhook.view.webhook.id).await.unwrap().webhook.failing_since;
        assert_eq!(failing.is_some(), status == Waiting);
        place.time_passes();
    }
    let got = receiver.got();
    assert!(got.iter().all(|request| request.id() == got[0].id() && request.body == got[0].body));
    assert!(got.iter().all(|request| request.path == "/hook/secret-path"), "a redirect was followed");
}

#[tokio::test]
async fn a_receiver_says_when_to_come_back() {
    let place = Place::new();
    let receiver = Receiver::start(|_, _| Some(answer("429 Slow Down", "Retry-After: 3600\r\n")));
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    let before = place.engine.now();
    place.deliver().await;
    let wait = place.only(&webhook).await.next_at.unwrap().duration_since(before);
    assert!(wait >= SignedDuration::from_hours(1), "{wait}");
}

#[tokio::test]
async fn after_the_last_attempt_it_is_a_dead_letter_that_can_be_sent_by_hand() {
    let place = Place::new();
    let receiver = Receiver::start(|number, _| {
        let status = if number < ATTEMPTS_MAX as usize { "503 Busy" } else { "200 OK" };
        Some(answer(status, ""))
    });
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    for attempt in 1..=ATTEMPTS_MAX {
        place.time_passes();
        place.deliver().await;
        let status = if attempt < ATTEMPTS_MAX { Waiting } else { Dead };
        assert_eq!(place.state(&webhook).await, (status, attempt, "answered 503".to_owned()));
    }
    place.time_passes();
    place.deliver().await;
    assert_eq!(receiver.got().len(), ATTEMPTS_MAX as usize);
    let id = webhook.view.webhook.id.clone();
    assert_eq!(place.engine.webhook(&ann(), &id).await.unwrap().backlog.dead, 1);

    let dead = place.only(&webhook).await.id;
    let again = place.engine.retry_delivery(&ann(), &id, &dead).await.unwrap();
    assert_eq!((again.status, again.attempts), (Waiting, 0));
    place.deliver().await;
    assert_eq!(place.state(&webhook).await, (Delivered, 1, "answered 200".to_owned()));
    assert!(receiver.got().iter().all(|request| request.id() == dead));
}

#[tokio::test]
async fn one_that_is_gone_is_sent_nothing_any_more() {
    let place = Place::new();
    let receiver = Receiver::start(|number, _| Some(answer(["410 Gone", "200 OK"][number.min(1)], "")));
    let webhook = place.add(&receiver.url(), &[]).await;
    let id = webhook.view.webhook.id.clone();
    place.ask("c1", "x").await;
    place.deliver().await;
    assert_eq!(place.state(&webhook).await, (Dead, 1, "answered 410".to_owned()));
    let (_, why) = place.engine.webhook(&ann(), &id).await.unwrap().webhook.disabled.unwrap();
    assert_eq!(why, "it answered 410: it wants nothing any more");
    place.ask("c2", "x").await;
    place.deliver().await;
    assert_eq!(receiver.got().len(), 1);
    // Taken up again, it is told of what happens from then on.
    place.engine.enable_webhook(&ann(), &id).await.unwrap();
    place.ask("c3", "x").await;
    place.deliver().await;
    let subjects: Vec<String> = place.deliveries(&webhook).await.into_iter().map(|row| row.subject).collect();
    assert_eq!(subjects, ["c3", "c1"]);
    assert_eq!(receiver.got().len(), 2);
}

#[tokio::test]
async fn one_that_fails_for_days_is_given_up_and_one_that_recovered_is_not() {
    let place = Place::new();
    let broken = Receiver::answering("500 Oops");
    let recovered = Receiver::start(|number, _| Some(answer(["500 Oops", "200 OK"][number.min(1)], "")));
    let [broken, recovered] = [place.add(&broken.url(), &[]).await, place.add(&recovered.url(), &[]).await];
    place.ask("c1", "x").await;
    place.deliver().await;
    for (days, disabled) in [(4, false), (6, true)] {
        let since = place.engine.now() - SignedDuration::from_hours(24 * days);
        place.execute(&format!(
            "UPDATE webhooks SET failing_ms = {} WHERE failing_ms IS NOT NULL",
            since.as_millisecond()
        ));
        place.time_passes();
        place.deliver().await;
        let now = place.engine.webhook(&ann(), &broken.view.webhook.id).await.unwrap().webhook;
        assert_eq!(now.disabled.is_some(), disabled, "{days}");
    }
    let well = place.engine.webhook(&ann(), &recovered.view.webhook.id).await.unwrap().webhook;
    assert!(well.disabled.is_none() && well.failing_since.is_none());
}

/// The one who claimed it died: another one sends it, under the same id, when that is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_claimed_and_did_not_finish_is_sent_again_under_the_same_id() {
    let place = Place::new();
    let receiver = Receiver::start(|number, _| (number > 0).then(|| answer("200 OK", "")));
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    let (_end, stop) = tokio::sync::watch::channel(false);
    let engine = place.other();
    let first = tokio::spawn(async move {
        engine.deliver(checkrein_engine::Shift::Once, &stop, &|text| panic!("{text}")).await;
    });
    tokio::task::block_in_place(|| receiver.until(1));
    first.abort();
    let _ = first.await;
    // It is somebody's until then.
    place.deliver().await;
    assert_eq!(receiver.got().len(), 1);
    place.time_passes();
    place.deliver().await;
    assert_eq!(place.state(&webhook).await, (Delivered, 2, "answered 200".to_owned()));
    let got = receiver.got();
    assert_eq!((got.len(), got[0].id(), &got[0].body), (2, got[1].id(), &got[1].body));
}

#[tokio::test]
async fn what_brings_its_sender_down_is_not_sent_for_ever() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    let new = place.engine.test_webhook(&ann(), &webhook.view.webhook.id).await.unwrap();
    place.execute(&format!(
        "UPDATE deliveries SET status = 'waiting', attempts = {ATTEMPTS_MAX}, next_ms = 0 WHERE id = '{}'",
        new.id
    ));
    place.deliver().await;
    let row = place.engine.store().delivery(&new.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.answer.as_deref()), (Dead, Some("whoever sent it died each time")));
    assert_eq!(receiver.got().len(), 2, "the test, and c1");
}

/// What a receiver says besides its status is not waited for.
#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let place = Place::new();
    let receiver = Receiver::start(|_, _| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
        Some(format!("{head}{}", "x".repeat(64 << 10)))
    });
    let webhook = place.add(&receiver.url(), &[]).await;
    place.ask("c1", "x").await;
    place.deliver().await;
    assert_eq!(place.state(&webhook).await, (Delivered, 1, "answered 200".to_owned()));
}

#[tokio::test]
async fn nobody_there_is_a_failure_that_does_not_name_the_address() {
    let place = Place::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let webhook = place.add(&format!("http://127.0.0.1:{port}/top-secret"), &[]).await;
    place.ask("c1", "x").await;
    place.deliver().await;
    let (status, _, said) = place.state(&webhook).await;
    assert_eq!(status, Waiting);
    assert!(said.contains("refused") && !said.contains("top-secret"), "{said}");
}
