//! Slack, and those that take the same.

use checkrein_core::notification::{DeliveryStatus, WebhookKind, WebhookUrl};
use checkrein_engine::NewWebhook;

use crate::receiver::Receiver;
use crate::{Place, ann};

#[tokio::test]
async fn what_an_agent_wrote_is_only_text() {
    let (place, receiver) = (Place::new(), Receiver::answering("200 OK"));
    let new = NewWebhook {
        name: "team".to_owned(),
        kind: Some(WebhookKind::Slack),
        url: WebhookUrl::new(receiver.url()),
        types: Vec::new(),
        allow_private: true,
    };
    let made = place.engine.create_webhook(&ann(), new).await.unwrap();
    assert!(made.secret.is_none(), "there is nothing to sign with");
    place.ask("c1", "<!channel> <https://evil.example|Approve> @here & more").await;
    place.deliver().await;
    assert_eq!(place.state(&made).await.0, DeliveryStatus::Delivered);
    let request = receiver.got().remove(0);
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(!request.headers.contains_key("webhook-signature"));
    let said = request.json();
    let ours = "<https://rein.example/checkpoints/c1|Look at it>";
    assert_eq!(said["text"], format!("writer waits for an answer: deliverable in draft {ours}"));
    assert!(said["blocks"].is_array());
    assert!(!request.body.replace(ours, "").contains(['<', '>']), "{}", request.body);
    assert!(!request.body.contains("@here") && request.body.contains("&amp; more"), "{}", request.body);
    let refused = place.engine.rotate_webhook(&ann(), &made.view.webhook.id, std::time::Duration::ZERO).await;
    assert!(refused.is_err());
}
