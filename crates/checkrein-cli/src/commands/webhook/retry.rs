use checkrein_server::wire::webhook::Delivery;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

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
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let delivery: Delivery = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            Delivery::from(&session.wait(session.engine.retry_delivery(&who, &args.id, &args.delivery))?)
        }
        Desk::There(remote) => {
            let path = ["webhooks", &args.id, "deliveries", &args.delivery, "retry"];
            remote.post(&path, &json!({}))?
        }
    };
    if args.json {
        return Output::json(&delivery);
    }
    Ok(Output::text(format!("to be sent again: {}\n", delivery.id)))
}
