use std::fmt::Write;

use checkrein_server::wire::page::Page;
use checkrein_server::wire::workforce::{Process, Workers};
use serde_json::json;

use super::checkpoint::shape::age;
use crate::error::CliError;
use crate::output::{Output, Table, count, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let found: Workers = match args.store.desk_to_read()? {
        Desk::There(remote) => remote.get(&["workers"], &[])?,
        Desk::Here(session) => {
            let who = session.principal()?;
            let found = session.wait(session.engine.workforce(&who))?;
            Workers::of(Page { items: Vec::new(), next: None }, &found)
        }
    };
    if args.json {
        return Output::json(&json!({"processes": found.processes, "queue": found.queue}));
    }
    Ok(Output::text(text(&found)))
}

fn text(found: &Workers) -> String {
    let mut out = String::new();
    if found.processes.is_empty() {
        out.push_str("Nobody goes on with runs. `checkrein worker` and `checkrein serve` do.\n");
    } else {
        let mut table = Table::new(&["worker", "host", "", "runs", "labels", "since", "holds"]);
        for process in &found.processes {
            table.row(row(process));
        }
        out.push_str(&table.render());
    }
    let queue = &found.queue;
    let _ = match queue.waiting {
        0 => writeln!(out, "\nNo run waits for a worker."),
        waiting => writeln!(
            out,
            "\n{} for a worker, the first for {}.",
            if waiting == 1 { "1 run waits".to_owned() } else { format!("{waiting} runs wait") },
            checkrein_core::report::duration_words(queue.longest_ms)
        ),
    };
    for stuck in &queue.stuck {
        let _ = writeln!(out, "Nobody takes {}: {}", count(stuck.runs, "run"), one_line(&stuck.why));
    }
    out
}

fn row(process: &Process) -> Vec<String> {
    let held: Vec<&str> = process.holds.iter().map(|held| held.run_id.as_str()).collect();
    let more = held.len().saturating_sub(SHOWN_MAX);
    let shown = held.iter().take(SHOWN_MAX).copied().collect::<Vec<_>>().join(" ");
    vec![
        one_line(&process.name),
        one_line(&process.host),
        if process.alive { "alive" } else { "gone" }.to_owned(),
        match process.runs {
            Some(runs) => format!("{}/{runs}", held.len()),
            None => held.len().to_string(),
        },
        if process.labels.is_empty() { "-".to_owned() } else { process.labels.join(",") },
        process.started_at.map_or_else(|| "-".to_owned(), age),
        match (held.is_empty(), more) {
            (true, _) => "-".to_owned(),
            (false, 0) => shown,
            (false, more) => format!("{shown} and {more} more"),
        },
    ]
}

const SHOWN_MAX: usize = 3;

/// A label, as it is written on the command line.
pub fn label(text: &str) -> Result<checkrein_core::label::Label, String> {
    text.parse().map_err(|error: checkrein_core::label::NotALabel| error.to_string())
}
