//! The server itself: is it there, can it work, what does it do.

pub mod health;
pub mod metrics;
pub mod openapi;
pub mod ready;
