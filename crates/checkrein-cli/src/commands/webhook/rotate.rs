use std::time::Duration;

use checkrein_core::notification::WebhookSecret;
use checkrein_server::wire::webhook::NewWebhook;

use crate::commands::checkpoint::duration;
use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    /// How long the old secret signs as well
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = duration)]
    overlap: Duration,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.manager()?;
    let made = session.wait(session.engine.rotate_webhook(&who, &args.id, args.overlap))?;
    if args.json {
        return Output::json(&NewWebhook::from(&made));
    }
    if let Some((_, until)) = &made.view.webhook.old_secret {
        note(format_args!("shown once; the old secret signs as well until {until}"));
    }
    let secret = made.secret.as_ref().map(WebhookSecret::reveal).unwrap_or_default();
    Ok(Output::text(format!("{secret}\n")))
}
