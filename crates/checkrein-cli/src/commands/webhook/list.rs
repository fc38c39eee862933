use checkrein_core::notification::NotificationType;
use checkrein_server::wire::webhook::Webhook;

use super::state;
use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let webhooks: Vec<Webhook> = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            session.wait(session.engine.webhooks(&who))?.iter().map(Webhook::from).collect()
        }
        Desk::There(remote) => remote.list(&["webhooks"], &[], "after", usize::MAX)?.items,
    };
    if args.json {
        return Output::json(&webhooks);
    }
    if webhooks.is_empty() {
        return Ok(Output::text("There are no webhooks.\n"));
    }
    let mut table = Table::new(&["id", "name", "kind", "where", "told of", "state"]);
    for webhook in &webhooks {
        let types: Vec<&str> = webhook.types.iter().copied().map(NotificationType::name).collect();
        table.row(vec![
            webhook.id.clone(),
            one_line(&webhook.name),
            webhook.kind.to_string(),
            one_line(&webhook.url),
            types.join(" "),
            state(webhook),
        ]);
    }
    Ok(Output::text(table.render()))
}
