use checkrein_server::wire::frame::FrameSessionItem;
use checkrein_server::wire::page::Page;

use crate::commands::checkpoint::limit;
use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Those of every directory, not of this one alone
    #[arg(long)]
    all: bool,
    /// How many at most
    #[arg(long, default_value_t = 100, value_parser = limit)]
    limit: usize,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let directory = if args.all { None } else { super::here() };
    let page = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let page =
                session.wait(session.engine.frame_sessions(&who, directory.as_deref(), None, args.limit))?;
            Page::of(page, FrameSessionItem::from)
        }
        // A server may be on another machine, whose directories are others.
        Desk::There(remote) => remote.list(&["frames"], &[], "before", args.limit)?,
    };
    if args.json {
        return Output::json(&page);
    }
    if page.items.is_empty() {
        return Ok(Output::text("There are no sessions.\n"));
    }
    let mut table = Table::new(&["session", "client", "frames", "current", "changed", "goal"]);
    for item in &page.items {
        table.row(vec![
            item.id.clone(),
            item.client.clone().unwrap_or_else(|| "-".to_owned()),
            item.frames.to_string(),
            item.current.clone().unwrap_or_else(|| "-".to_owned()),
            item.updated_at.to_string(),
            one_line(item.goal.as_deref().unwrap_or("-")),
        ]);
    }
    Ok(Output::text(table.render()))
}
