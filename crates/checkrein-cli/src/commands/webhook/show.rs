use checkrein_core::notification::NotificationType;
use checkrein_engine::WebhookView;
use checkrein_server::wire::webhook::Webhook;

use super::state;
use crate::error::CliError;
use crate::output::{Output, one_line};
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
    let session = args.store.open_to_read()?;
    let who = session.manager()?;
    let view = session.wait(session.engine.webhook(&who, &args.id))?;
    if args.json {
        return Output::json(&Webhook::from(&view));
    }
    Ok(Output::text(show(&view)))
}

fn show(view: &WebhookView) -> String {
    let webhook = &view.webhook;
    let types: Vec<&str> = webhook.types.iter().copied().map(NotificationType::name).collect();
    let mut rows = vec![
        ("name", one_line(&webhook.name)),
        ("kind", webhook.kind.to_string()),
        ("where", one_line(&webhook.url.shown())),
        ("told of", types.join(" ")),
        ("since", webhook.created_at.to_string()),
        ("state", state(view)),
    ];
    if let Some((_, until)) = &webhook.old_secret {
        rows.push(("old secret", format!("signs until {until}")));
    }
    if let Some((_, why)) = &webhook.disabled {
        rows.push(("because", one_line(why)));
    }
    rows.into_iter().map(|(name, value)| format!("{name:<11}{value}\n")).collect()
}
