use checkrein_core::run::RunStatus;
use checkrein_server::wire::page::Page;
use checkrein_server::wire::run::RunItem;
use checkrein_store::RunFilter;

use super::checkpoint::shape::age;
use crate::error::{CliError, note};
use crate::output::{Output, Table, findings, one_line};
use crate::session::StorePlace;

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
    store: StorePlace,
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
    let session = args.store.open_to_read()?;
    let who = session.principal()?;
    let filter = RunFilter { status: args.status, workflow: args.workflow.clone(), ..RunFilter::default() };
    let page = session.wait(session.engine.runs(&who, &filter, args.before, args.limit as usize))?;
    if args.json {
        return Output::json(&Page::of(page, |stored| RunItem::from(&stored)));
    }
    if page.items.is_empty() {
        return Ok(Output::text("There is no such run. `checkrein run FILE` starts one.\n"));
    }
    let mut table = Table::new(&["run", "status", "age", "workflow", "target", "found"]);
    for stored in &page.items {
        let (run, state) = (&stored.run, &stored.run.state);
        let found = match (state.tally.warnings, state.tally.errors) {
            (0, 0) => "-".to_owned(),
            (warnings, errors) => findings(warnings, errors),
        };
        table.row(vec![
            run.id.to_string(),
            if session.engine.is_left(run) {
                format!("{}, left", state.status_word())
            } else {
                state.status_word().to_owned()
            },
            age(state.created_at),
            one_line(&run.workflow),
            one_line(run.target.as_deref().unwrap_or("-")),
            found,
        ]);
    }
    if page.items.iter().any(|stored| session.engine.is_left(&stored.run)) {
        note("nobody drives what was left; `checkrein resume RUN` goes on");
    }
    let more = if page.next.is_some() { "\n… and more; `--limit` shows them\n" } else { "" };
    Ok(Output::text(format!("{}{more}", table.render())))
}
