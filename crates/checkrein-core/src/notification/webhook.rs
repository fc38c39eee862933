//! Where notifications go.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a webhook is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookKind {
    /// A program: a signed CloudEvent by HTTP.
    Webhook,
    /// An incoming webhook of Slack, or of those that take the same.
    Slack,
    /// Mail.
    Smtp,
}

impl WebhookKind {
    pub const ALL: [WebhookKind; 3] = [WebhookKind::Webhook, WebhookKind::Slack, WebhookKind::Smtp];

    pub const fn name(self) -> &'static str {
        match self {
            WebhookKind::Webhook => "webhook",
            WebhookKind::Slack => "slack",
            WebhookKind::Smtp => "smtp",
        }
    }

    pub fn parse(word: &str) -> Option<WebhookKind> {
        WebhookKind::ALL.into_iter().find(|kind| kind.name() == word)
    }
}

impl fmt::Display for WebhookKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The address of a webhook. Whoever knows one of Slack's can write there, one of mail may hold a
/// password: it is never shown whole.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    pub fn new(text: impl Into<String>) -> WebhookUrl {
        WebhookUrl(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Scheme, host and port.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", ""));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let more = if path.len() > 1 { "/…" } else { "" };
        format!("{scheme}://{host}{more}")
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// What became of one notification on its way to one webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryStatus {
    /// To be sent, now or later.
    Waiting,
    Delivered,
    /// Given up; it can be sent again by hand.
    Dead,
}

impl DeliveryStatus {
    pub const ALL: [DeliveryStatus; 3] =
        [DeliveryStatus::Waiting, DeliveryStatus::Delivered, DeliveryStatus::Dead];

    pub const fn name(self) -> &'static str {
        match self {
            DeliveryStatus::Waiting => "waiting",
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::Dead => "dead",
        }
    }

    pub fn parse(word: &str) -> Option<DeliveryStatus> {
        DeliveryStatus::ALL.into_iter().find(|status| status.name() == word)
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_never_shown_whole() {
        for (url, shown) in [
            ("https://hooks.slack.com/services/T0/B0/secret", "https://hooks.slack.com/…"),
            ("https://example.com", "https://example.com"),
            ("https://example.com/", "https://example.com"),
            ("https://example.com:8443/?token=x", "https://example.com:8443/…"),
            ("https://user:pass@example.com/a", "https://example.com/…"),
            ("smtp://me%40x:p@ss@mail.example.com:587/?to=a", "smtp://mail.example.com:587/…"),
            ("http://[::1]:80/x", "http://[::1]:80/…"),
        ] {
            assert_eq!(WebhookUrl::new(url).shown(), shown);
            assert_eq!(format!("{:?}", WebhookUrl::new(url)), shown);
        }
    }
}
