use checkrein_server::wire::webhook::Webhook;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let webhook: Webhook = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            Webhook::from(&session.wait(session.engine.enable_webhook(&who, &args.id))?)
        }
        Desk::There(remote) => remote.post(&["webhooks", &args.id, "enable"], &json!({}))?,
    };
    if args.json {
        return Output::json(&webhook);
    }
    Ok(Output::text(format!("told again: {}\n", args.id)))
}
