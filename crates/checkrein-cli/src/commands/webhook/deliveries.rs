use checkrein_core::notification::DeliveryStatus;
use checkrein_server::wire::page::Page;
use checkrein_server::wire::webhook::Delivery;

use crate::commands::checkpoint::limit;
use crate::error::{CliError, note};
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The webhook's id, as `webhook list` shows it
    id: String,
    /// Only those that are waiting, delivered or dead
    #[arg(long, value_parser = status)]
    status: Option<DeliveryStatus>,
    /// How many to show
    #[arg(long, default_value_t = 50, value_parser = limit)]
    limit: usize,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn status(text: &str) -> Result<DeliveryStatus, String> {
    DeliveryStatus::parse(text).ok_or_else(|| "expected waiting, delivered or dead".to_owned())
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let page: Page<Delivery> = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            let asked = session.engine.deliveries(&who, &args.id, args.status, None, args.limit);
            Page::of(session.wait(asked)?, |row| Delivery::from(&row))
        }
        Desk::There(remote) => {
            let status = args.status.map(|status| ("status", status.to_string()));
            let query: Vec<(&str, String)> = status.into_iter().collect();
            remote.list(&["webhooks", &args.id, "deliveries"], &query, "before", args.limit)?
        }
    };
    if page.next.is_some() {
        note(format_args!("there are more than {}; `--limit` shows them", args.limit));
    }
    if args.json {
        return Output::json(&page.items);
    }
    if page.items.is_empty() {
        return Ok(Output::text("There are no deliveries.\n"));
    }
    let mut table = Table::new(&["id", "type", "about", "state", "attempts", "answer"]);
    for row in &page.items {
        let state = match (row.status, row.next_at) {
            (DeliveryStatus::Waiting, Some(at)) => format!("waiting until {at}"),
            (status, _) => status.to_string(),
        };
        table.row(vec![
            row.id.clone(),
            row.kind.clone(),
            one_line(&row.subject),
            state,
            row.attempts.to_string(),
            one_line(row.answer.as_deref().unwrap_or_default()),
        ]);
    }
    Ok(Output::text(table.render()))
}
