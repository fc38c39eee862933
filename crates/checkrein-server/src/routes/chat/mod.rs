//! Conversations before there is a job; those about a job are among its run's.

pub mod ask;
pub mod begin;
pub mod draft;
pub mod list;
pub mod show;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::wire::page::Limit;

/// From where, and how much.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Go on after this message, as an answer names it in `next`
    after: Option<i64>,
    /// How many messages at most
    #[serde(default)]
    limit: Limit,
}

impl Wanted {
    pub fn part(&self) -> (i64, usize) {
        (self.after.unwrap_or(0), self.limit.get())
    }
}

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What you want to know, or want done
    #[schemars(length(min = 1))]
    pub text: String,
}
