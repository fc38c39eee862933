use checkrein_core::notification::NotificationType;
use checkrein_server::wire::webhook::Webhook;

use super::state;
use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_to_read()?;
    let who = session.manager()?;
    let webhooks = session.wait(session.engine.webhooks(&who))?;
    if args.json {
        let rows: Vec<Webhook> = webhooks.iter().map(Webhook::from).collect();
        return Output::json(&rows);
    }
    if webhooks.is_empty() {
        return Ok(Output::text("There are no webhooks.\n"));
    }
    let mut table = Table::new(&["id", "name", "kind", "where", "told of", "state"]);
    for view in &webhooks {
        let webhook = &view.webhook;
        let types: Vec<&str> = webhook.types.iter().copied().map(NotificationType::name).collect();
        table.row(vec![
            webhook.id.clone(),
            one_line(&webhook.name),
            webhook.kind.to_string(),
            one_line(&webhook.url.shown()),
            types.join(" "),
            state(view),
        ]);
    }
    Ok(Output::text(table.render()))
}
