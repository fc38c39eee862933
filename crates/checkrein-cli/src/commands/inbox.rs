use std::collections::BTreeSet;

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::run::{HoldKind, RunId};
use checkrein_store::CheckpointFilter;

use super::checkpoint::shape::age;
use super::checkpoint::{checkpoints, limit};
use crate::error::{CliError, note};
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many to show
    #[arg(long, default_value_t = 50, value_parser = limit)]
    limit: usize,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let filter = CheckpointFilter { status: Some(CheckpointStatus::Pending), ..CheckpointFilter::default() };
    let page = checkpoints(&args.store, &filter, 0, args.limit)?;
    if args.json {
        // The answer stays a plain list, which has no room for it.
        if page.next.is_some() {
            note(format_args!("there are more than {}; `--limit` shows them", args.limit));
        }
        return Output::json(&page.items);
    }
    if page.items.is_empty() {
        return Ok(Output::text("Nothing waits for you.\n"));
    }
    let mut table = Table::new(&["waiting", "worker", "phase", "what", "id"]);
    for checkpoint in &page.items {
        table.row(vec![
            age(checkpoint.created_at),
            one_line(&checkpoint.worker),
            one_line(&checkpoint.phase),
            one_line(&checkpoint.kind),
            checkpoint.id.clone(),
        ]);
    }
    elsewhere(&args.store, page.items.iter().map(|checkpoint| checkpoint.id.as_str()))?;
    let more = if page.next.is_some() { "\n… and more; `--limit` shows them\n" } else { "" };
    let reviews = page.items.iter().any(|checkpoint| checkpoint.kind == HoldKind::Review.name());
    let look = if reviews { "review ID · checkpoint show ID" } else { "checkpoint show ID" };
    let how = format!("\ncheckrein {look} · approve ID · reject ID -m WHY · request-changes ID -m WHAT\n");
    Ok(Output::text(format!("{}{more}{how}", table.render())))
}

/// Says which runs can only go on, and be looked at with their files, on another machine.
fn elsewhere<'r>(place: &DeskPlace, checkpoints: impl Iterator<Item = &'r str>) -> Result<(), CliError> {
    let Desk::Here(session) = place.desk_to_read()? else { return Ok(()) };
    // The name of a run's checkpoint begins with that of the run.
    let runs = checkpoints.filter_map(|id| id.split_once('.')).map(|(run, _)| run);
    let runs: BTreeSet<&str> = runs.filter(|run| RunId::looks_like(run)).collect();
    for run in runs {
        if let Some(host) = session.wait(session.engine.other_host_of(run))? {
            note(format_args!(
                "the files of run {run} are on {}: it is reviewed and goes on there",
                one_line(&host)
            ));
        }
    }
    Ok(())
}
