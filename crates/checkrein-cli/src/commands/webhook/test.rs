use checkrein_core::notification::DeliveryStatus;
use checkrein_server::wire::webhook::Delivery;
use serde_json::json;

use crate::commands::serve::PublicUrl;
use crate::error::{CliError, Exit};
use crate::output::{Output, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    #[command(flatten)]
    public_url: PublicUrl,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let delivery: Delivery = match args.store.desk_if_there()? {
        Desk::Here(mut session) => {
            let who = session.manager()?;
            session.engine = session.engine.with_public_url(args.public_url.get());
            Delivery::from(&session.wait(session.engine.test_webhook(&who, &args.id))?)
        }
        // Where people find it is known there.
        Desk::There(remote) => remote.post(&["webhooks", &args.id, "test"], &json!({}))?,
    };
    let exit = if delivery.status == DeliveryStatus::Delivered { Exit::Done } else { Exit::Failed };
    if args.json {
        return Ok(Output::json(&delivery)?.exit(exit));
    }
    let answer = one_line(delivery.answer.as_deref().unwrap_or_default());
    let word = if exit == Exit::Done { "arrived" } else { "did not arrive" };
    Ok(Output::text(format!("{word}: {answer}\n")).exit(exit))
}
