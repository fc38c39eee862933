use checkrein_server::wire::webhook::Webhook;

use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.manager()?;
    let view = session.wait(session.engine.enable_webhook(&who, &args.id))?;
    if args.json {
        return Output::json(&Webhook::from(&view));
    }
    Ok(Output::text(format!("told again: {}\n", args.id)))
}
