use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_server::wire::checkpoint::Checkpoint;
use checkrein_server::wire::page::Page;
use checkrein_store::CheckpointFilter;

use super::shape::age;
use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those in this status
    #[arg(long, value_parser = status, value_name = "STATUS")]
    status: Option<CheckpointStatus>,
    /// Only this worker's
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Only of this phase
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Only of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only those this run waits at, or waited
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// How many at most
    #[arg(long, default_value_t = 100, value_parser = super::limit)]
    limit: usize,
    /// Go on after this cursor, as an answer names it in `next`
    #[arg(long, value_name = "CURSOR", default_value_t = 0)]
    after: i64,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn status(text: &str) -> Result<CheckpointStatus, String> {
    CheckpointStatus::parse(text).ok_or_else(|| {
        let names: Vec<&str> = CheckpointStatus::ALL.iter().map(|status| status.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let filter = CheckpointFilter {
        status: args.status,
        worker: args.worker.clone(),
        phase: args.phase.clone(),
        kind: args.kind.clone(),
        run: args.run.clone(),
        ..CheckpointFilter::default()
    };
    let page = checkpoints(&args.store, &filter, args.after, args.limit)?;
    if args.json {
        return Output::json(&page);
    }
    if page.items.is_empty() {
        return Ok(Output::text("There is no such checkpoint.\n"));
    }
    let mut table = Table::new(&["status", "age", "worker", "phase", "type", "id"]);
    for checkpoint in &page.items {
        table.row(vec![
            checkpoint.status.to_string(),
            age(checkpoint.created_at),
            one_line(&checkpoint.worker),
            one_line(&checkpoint.phase),
            one_line(&checkpoint.kind),
            checkpoint.id.clone(),
        ]);
    }
    let more = page.next.map_or(String::new(), |next| format!("… more with `--after {next}`\n"));
    Ok(Output::text(format!("{}{more}", table.render())))
}

/// Part of the list, here or from a server.
pub fn checkpoints(
    place: &DeskPlace,
    filter: &CheckpointFilter,
    after: i64,
    limit: usize,
) -> Result<Page<Checkpoint>, CliError> {
    match place.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let page = session.wait(session.engine.checkpoints(&who, filter, after, limit))?;
            Ok(Page::of(page, |stored| Checkpoint::from(&stored.checkpoint)))
        }
        Desk::There(remote) => {
            let CheckpointFilter { status, worker, phase, kind, run, .. } = filter.clone();
            let status = status.map(|status| status.name().to_owned());
            let after = (after > 0).then(|| after.to_string());
            let wanted = [
                ("status", status),
                ("worker", worker),
                ("phase", phase),
                ("type", kind),
                ("run", run),
                ("after", after),
            ];
            let query: Vec<(&str, String)> =
                wanted.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            remote.list(&["checkpoints"], &query, "after", limit)
        }
    }
}
