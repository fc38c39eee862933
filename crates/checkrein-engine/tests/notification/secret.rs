//! Secrets: replaced without a gap, and seen nowhere.

use std::time::Duration;

use checkrein_core::notification::WebhookSecret;
use standardwebhooks::Webhook;

use crate::receiver::{Receiver, Request};
use crate::{Place, ann};

fn signed_by(request: &Request, secret: &WebhookSecret) -> bool {
    let seconds: i64 = request.headers["webhook-timestamp"].parse().unwrap();
    let official = Webhook::new(&secret.reveal()).unwrap();
    let signature = official.sign(request.id(), seconds, request.body.as_bytes()).unwrap();
    request.headers["webhook-signature"].split(' ').any(|one| one == signature)
}

#[tokio::test]
async fn while_a_secret_is_replaced_both_sign() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    let made = place.add(&receiver.url(), &[]).await;
    let id = made.view.webhook.id.clone();
    let first = made.secret.unwrap();
    let second =
        place.engine.rotate_webhook(&ann(), &id, Duration::from_secs(3600)).await.unwrap().secret.unwrap();
    assert_ne!(first, second);
    place.ask("c1", "x").await;
    place.deliver().await;
    // A second time without an overlap: the one before is worthless at once, and the first for long.
    let third = place.engine.rotate_webhook(&ann(), &id, Duration::ZERO).await.unwrap().secret.unwrap();
    place.ask("c2", "x").await;
    place.deliver().await;
    let got = receiver.got();
    let signed = |request: &Request| [&first, &second, &third].map(|secret| signed_by(request, secret));
    assert_eq!(signed(&got[0]), [true, true, false]);
    assert_eq!(signed(&got[1]), [false, false, true]);
    assert_eq!(got[0].headers["webhook-signature"].split(' ').count(), 2);
}

#[tokio::test]
async fn secrets_are_in_no_answer_and_no_export() {
    let (place, receiver) = (Place::new(), Receiver::answering("500 Oops"));
    let made = place.add(&receiver.url(), &[]).await;
    let id = made.view.webhook.id.clone();
    let secrets = [
        made.secret.as_ref().unwrap().reveal(),
        place
            .engine
            .rotate_webhook(&ann(), &id, Duration::from_secs(3600))
            .await
            .unwrap()
            .secret
            .unwrap()
            .reveal(),
        "secret-path".to_owned(),
    ];
    // An agent that repeats one in its work does not get it sent either.
    place.ask("c1", &format!("the secret is {}", secrets[0])).await;
    place.deliver().await;
    let mut export = Vec::new();
    place.engine.store().export(&mut export, place.engine.now()).await.unwrap();
    let export = String::from_utf8(export).unwrap();
    assert!(!export.contains(&secrets[1]) && !export.contains("secret-path"), "{export}");
    assert!(!receiver.got()[0].body.contains(&secrets[0]), "{}", receiver.got()[0].body);
    let shown = format!(
        "{:?} {:?} {:?}",
        place.engine.webhooks(&ann()).await.unwrap(),
        place.deliveries(&made).await,
        made
    );
    for secret in &secrets {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn values_that_are_secret_here_are_not_told() {
    let directory = tempfile::tempdir().unwrap();
    let yaml = "secrets: [DEPLOY_KEY]\n";
    let document = checkrein_core::document::Document::parse(
        "checkrein.yaml",
        yaml,
        checkrein_core::document::Format::Yaml,
    );
    let file = checkrein_core::config::CheckreinFile::read(
        &std::sync::Arc::new(document.unwrap()),
        checkrein_core::config::Owner::User,
        checkrein_core::policy::Reading::Strict,
    );
    let environment = vec![("DEPLOY_KEY".to_owned(), "hunter2-hunter2".to_owned())];
    let settings =
        checkrein_core::config::Settings::new(None, Some(file.unwrap().0), None, environment).unwrap();
    let store = checkrein_store::Store::open(&directory.path().join("store.db")).unwrap();
    let place = Place { engine: checkrein_engine::Engine::new(store, settings), directory };
    let receiver = Receiver::answering("200 OK");
    place.add(&receiver.url(), &[]).await;
    // Where it would be cut in two.
    place.ask("c1", &format!("{}hunter2-hunter2", "x".repeat(392))).await;
    place.deliver().await;
    let body = &receiver.got()[0].body;
    assert!(!body.contains("hunter2") && body.contains("x***"), "{body}");
}
