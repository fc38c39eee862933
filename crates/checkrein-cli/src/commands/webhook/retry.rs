use checkrein_server::wire::webhook::Delivery;

use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    /// The delivery's id, as `webhook deliveries` shows it
    delivery: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.manager()?;
    let delivery = session.wait(session.engine.retry_delivery(&who, &args.id, &args.delivery))?;
    if args.json {
        return Output::json(&Delivery::from(&delivery));
    }
    Ok(Output::text(format!("to be sent again: {}\n", delivery.id)))
}
