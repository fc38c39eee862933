use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_server::wire::checkpoint::Checkpoint;
use checkrein_server::wire::page::Page;
use checkrein_store::CheckpointFilter;

use super::shape::age;
use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::StorePlace;

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
    store: StorePlace,
}

fn status(text: &str) -> Result<CheckpointStatus, String> {
    CheckpointStatus::parse(text).ok_or_else(|| {
        let names: Vec<&str> = CheckpointStatus::ALL.iter().map(|status| status.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_to_read()?;
    let who = session.principal()?;
    let filter = CheckpointFilter {
        status: args.status,
        worker: args.worker.clone(),
        phase: args.phase.clone(),
        kind: args.kind.clone(),
        run: args.run.clone(),
        owner: None,
    };
    let page = session.wait(session.engine.checkpoints(&who, &filter, args.after, args.limit))?;
    if args.json {
        return Output::json(&Page::of(page, |stored| Checkpoint::from(&stored.checkpoint)));
    }
    if page.items.is_empty() {
        return Ok(Output::text("There is no such checkpoint.\n"));
    }
    let mut table = Table::new(&["status", "age", "worker", "phase", "type", "id"]);
    for item in &page.items {
        let checkpoint = &item.checkpoint;
        table.row(vec![
            checkpoint.status.to_string(),
            age(checkpoint.created_at),
            one_line(&checkpoint.worker),
            one_line(&checkpoint.phase),
            one_line(&checkpoint.kind),
            checkpoint.id.to_string(),
        ]);
    }
    let more = page.next.map_or(String::new(), |next| format!("… more with `--after {next}`\n"));
    Ok(Output::text(format!("{}{more}", table.render())))
}
