use checkrein_core::notification::NotificationType;
use checkrein_server::wire::webhook::Webhook;

use super::state;
use crate::error::CliError;
use crate::output::{Output, one_line};
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
    let webhook: Webhook = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            Webhook::from(&session.wait(session.engine.webhook(&who, &args.id))?)
        }
        Desk::There(remote) => remote.get(&["webhooks", &args.id], &[])?,
    };
    if args.json {
        return Output::json(&webhook);
    }
    Ok(Output::text(show(&webhook)))
}

fn show(webhook: &Webhook) -> String {
    let types: Vec<&str> = webhook.types.iter().copied().map(NotificationType::name).collect();
    let mut rows = vec![
        ("name", one_line(&webhook.name)),
        ("kind", webhook.kind.to_string()),
        ("where", one_line(&webhook.url)),
        ("told of", types.join(" ")),
        ("since", webhook.created_at.to_string()),
        ("state", state(webhook)),
    ];
    if let Some(until) = &webhook.old_secret_until {
        rows.push(("old secret", format!("signs until {until}")));
    }
    if let Some(why) = &webhook.disabled_reason {
        rows.push(("because", one_line(why)));
    }
    rows.into_iter().map(|(name, value)| format!("{name:<11}{value}\n")).collect()
}
