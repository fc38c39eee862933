use std::io::Read;

use checkrein_core::notification::{NotificationType, WebhookKind, WebhookUrl};
use checkrein_engine::NewWebhook;
use checkrein_server::wire::webhook as wire;
use serde_json::json;

use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to send: https://…, an incoming webhook of Slack, or
    /// smtp://user:password@host/?from=ADDRESS&to=ADDRESS; `-` reads it from stdin
    url: String,
    /// webhook, slack or smtp [default: what the address looks like]
    #[arg(long, value_parser = kind)]
    kind: Option<WebhookKind>,
    /// What to tell it of, such as run.failed; may be given several times [default: checkpoint.created,
    /// which is everything that waits for a person]
    #[arg(long = "on", value_name = "TYPE", value_parser = notification)]
    on: Vec<NotificationType>,
    /// What you call it
    #[arg(long)]
    name: Option<String>,
    /// It may be in a private network or on this machine, and be spoken to without encryption there
    #[arg(long)]
    allow_private: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn kind(text: &str) -> Result<WebhookKind, String> {
    WebhookKind::parse(text).ok_or_else(|| "expected webhook, slack or smtp".to_owned())
}

fn notification(text: &str) -> Result<NotificationType, String> {
    let known = NotificationType::ALL.map(NotificationType::name).join(", ");
    NotificationType::parse(text).ok_or_else(|| format!("expected one of {known}"))
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let url = match args.url.as_str() {
        "-" => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| CliError::failed(format!("stdin cannot be read: {error}")))?;
            text.trim().to_owned()
        }
        url => url.to_owned(),
    };
    let made: wire::NewWebhook = match args.store.desk()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            let new = NewWebhook {
                name: args.name.clone().unwrap_or_default(),
                kind: args.kind,
                url: WebhookUrl::new(url),
                types: args.on.clone(),
                allow_private: args.allow_private,
            };
            wire::NewWebhook::from(&session.wait(session.engine.create_webhook(&who, new))?)
        }
        Desk::There(remote) => {
            let types: Vec<&str> = args.on.iter().copied().map(NotificationType::name).collect();
            let name = args.name.clone().unwrap_or_default();
            let new = json!({
                "url": url,
                "kind": args.kind,
                "name": name,
                "types": Some(types).filter(|types| !types.is_empty()),
                "allow_private": args.allow_private,
            });
            remote.post_unkeyed(&["webhooks"], &new)?
        }
    };
    if args.json {
        return Output::json(&made);
    }
    let id = &made.webhook.id;
    note(format_args!("webhook {id}; `checkrein webhook test {id}` sends something now"));
    note("`checkrein serve` or `checkrein worker` sends what happens, while one of them runs");
    match made.secret {
        Some(secret) => {
            note("the secret by which it knows us is shown once");
            Ok(Output::text(format!("{secret}\n")))
        }
        None => Ok(Output::text("")),
    }
}
