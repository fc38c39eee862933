//! `checkrein webhook`

mod add;
mod deliveries;
mod enable;
mod list;
mod remove;
mod retry;
mod rotate;
mod show;
mod test;

use checkrein_server::wire::webhook::Webhook;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Tell somebody what happens from now on; the secret is shown once
    ///
    /// Notifications are sent by `checkrein serve` and `checkrein worker`.
    Add(add::Args),
    /// List webhooks, without their secrets
    List(list::Args),
    /// A webhook, and how it goes with it
    Show(show::Args),
    /// Send something now, once, and see what comes of it
    ///
    /// Exit code 1 if it did not arrive.
    Test(test::Args),
    /// Give it a new secret; the old one signs as well for a while
    Rotate(rotate::Args),
    /// Send again to a webhook that was given up
    Enable(enable::Args),
    /// What was sent to it, and what is on its way; the newest first
    Deliveries(deliveries::Args),
    /// Send a delivery once more, as if it were new
    Retry(retry::Args),
    /// Tell it nothing any more, and forget what was on its way
    Remove(remove::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Add(args) => add::run(&args),
            Command::List(args) => list::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Test(args) => test::run(&args),
            Command::Rotate(args) => rotate::run(&args),
            Command::Enable(args) => enable::run(&args),
            Command::Deliveries(args) => deliveries::run(&args),
            Command::Retry(args) => retry::run(&args),
            Command::Remove(args) => remove::run(&args),
        }
    }
}

/// How it goes with a webhook, in a few words.
fn state(webhook: &Webhook) -> String {
    let mut words = match (webhook.disabled_at, webhook.failing_since) {
        (Some(at), _) => vec![format!("disabled {at}")],
        (None, Some(since)) => vec![format!("failing since {since}")],
        (None, None) => vec!["good".to_owned()],
    };
    for (count, word) in [(webhook.waiting, "waiting"), (webhook.dead, "dead")] {
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    words.join(", ")
}
