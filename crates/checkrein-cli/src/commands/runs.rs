use checkrein_core::run::{RunId, RunStatus};
use checkrein_server::wire::run::RunItem;
use checkrein_store::RunFilter;

use super::checkpoint::shape::age;
use crate::error::{CliError, note};
use crate::output::{Output, Table, findings, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those in this status
    #[arg(long, value_parser = status, value_name = "STATUS")]
    status: Option<RunStatus>,
    /// Only of this workflow
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on before this cursor, as an answer names it in `next`
    #[arg(long, value_name = "CURSOR")]
    before: Option<i64>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn status(text: &str) -> Result<RunStatus, String> {
    let word = match text {
        "processing" => "running",
        "pending_review" => "held",
        other => other,
    };
    RunStatus::parse(word).ok_or_else(|| {
        let names: Vec<&str> = RunStatus::ALL.iter().map(|status| status.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let desk = args.store.desk_to_read()?;
    let filter = RunFilter { status: args.status, workflow: args.workflow.clone(), ..RunFilter::default() };
    let page = desk.runs(&filter, args.before, args.limit as usize)?;
    if args.json {
        return Output::json(&page);
    }
    if page.items.is_empty() {
        return Ok(Output::text("There is no such run. `checkrein run FILE` starts one.\n"));
    }
    let mut table = Table::new(&["run", "status", "age", "workflow", "target", "found"]);
    let mut left = false;
    for run in &page.items {
        let found = match (run.response_totals.warnings, run.response_totals.errors) {
            (0, 0) => "-".to_owned(),
            (warnings, errors) => findings(warnings, errors),
        };
        table.row(vec![
            run.run_id.clone(),
            if is_left(&desk, run)? {
                left = true;
                format!("{}, left", run.status)
            } else if has_timed_out(&desk, run)? {
                format!("{}, timed out", run.status)
            } else {
                run.status.clone()
            },
            age(run.created_at),
            one_line(&run.workflow_id),
            one_line(run.target.as_deref().unwrap_or("-")),
            found,
        ]);
    }
    if left {
        note("nobody drives what was left; `checkrein resume RUN` goes on");
    }
    let more = if page.next.is_some() { "\n… and more; `--limit` shows them\n" } else { "" };
    Ok(Output::text(format!("{}{more}", table.render())))
}

/// Whether nobody drives it any more. A server sees to its own.
fn is_left(desk: &Desk, run: &RunItem) -> Result<bool, CliError> {
    let running = matches!(run.status.as_str(), "running" | "processing");
    match desk {
        Desk::Here(session) if running => {
            Ok(session.wait(session.engine.is_left(&RunId::new(run.run_id.clone())))?)
        }
        Desk::Here(_) | Desk::There(_) => Ok(false),
    }
}

/// Whether nobody answered what it waits for in time, and nobody recorded that yet. A server does so by itself.
fn has_timed_out(desk: &Desk, run: &RunItem) -> Result<bool, CliError> {
    let held = matches!(run.status.as_str(), "held" | "pending_review");
    match desk {
        Desk::Here(session) if held => {
            let expires_at = desk.view(&run.run_id)?.expires_at();
            Ok(expires_at.is_some_and(|expires_at| expires_at <= session.engine.now()))
        }
        Desk::Here(_) | Desk::There(_) => Ok(false),
    }
}
