//! Webhooks: who is told what happens.

pub mod create;
pub mod deliveries;
pub mod enable;
pub mod list;
pub mod remove;
pub mod retry;
pub mod rotate;
pub mod show;
pub mod test;
