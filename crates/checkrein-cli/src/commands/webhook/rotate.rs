use std::time::Duration;

use checkrein_core::duration::Written;
use checkrein_server::wire::webhook::NewWebhook;
use serde_json::json;

use crate::commands::checkpoint::duration;
use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

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
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let made: NewWebhook = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            NewWebhook::from(&session.wait(session.engine.rotate_webhook(&who, &args.id, args.overlap))?)
        }
        Desk::There(remote) => {
            let overlap = Written(args.overlap).to_string();
            remote.post_unkeyed(&["webhooks", &args.id, "rotate"], &json!({"overlap": overlap}))?
        }
    };
    if args.json {
        return Output::json(&made);
    }
    if let Some(until) = &made.webhook.old_secret_until {
        note(format_args!("shown once; the old secret signs as well until {until}"));
    }
    Ok(Output::text(format!("{}\n", made.secret.unwrap_or_default())))
}
