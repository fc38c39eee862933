//! What is told to the world outside: which events, in which words, signed how, and how often it is tried.

mod envelope;
mod kind;
mod mail;
mod schedule;
mod signature;
mod slack;
mod webhook;

pub use envelope::{AboutCheckpoint, AboutRun, Envelope, Told, tell, test};
pub use kind::NotificationType;
pub use mail::{Mail, mail};
pub use schedule::{ATTEMPTS_MAX, DISABLED_AFTER, next_attempt};
pub use signature::{BadSecret, WebhookSecret, is_signed};
pub use slack::slack;
pub use webhook::{DeliveryStatus, WebhookKind, WebhookUrl};
