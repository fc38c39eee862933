use checkrein_engine::{Finding, State, examine, examine_server};
use checkrein_store::StoreAddress;

use crate::error::{CliError, Exit};
use crate::output::{Output, Table};
use crate::session::{StorePlace, files_root, inside_attempt, local_name, runtime};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let mut findings = Vec::new();
    match args.store.address() {
        Ok(StoreAddress::Sqlite(path)) => findings.extend(runtime()?.block_on(examine(&path))),
        Ok(address) => findings.extend(runtime()?.block_on(examine_server(&address, &files_root()?))),
        Err(error) => findings.push(Finding::new("store", State::Broken, error.words())),
    }
    findings.push(settings(args));
    findings.push(verdicts());
    let worst = findings.iter().map(|finding| finding.state).max().unwrap_or(State::Good);
    let exit = if worst == State::Broken { Exit::Failed } else { Exit::Done };
    if args.json {
        let checks: Vec<serde_json::Value> = findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "check": finding.check, "state": finding.state.name(), "found": finding.found,
                    "remedy": Some(&finding.remedy).filter(|remedy| !remedy.is_empty()),
                })
            })
            .collect();
        let answer = serde_json::json!({"state": worst.name(), "checks": checks});
        return Ok(Output::json(&answer)?.exit(exit));
    }
    let mut table = Table::new(&["check", "state", "found", "what to do"]);
    for finding in findings {
        table.row(vec![
            finding.check.to_owned(),
            finding.state.name().to_owned(),
            finding.found,
            finding.remedy,
        ]);
    }
    Ok(Output::text(table.render()).exit(exit))
}

/// The files that apply, and whether they are sound.
fn settings(args: &Args) -> Finding {
    let check = "settings";
    match args.store.settings() {
        Ok((settings, problems)) => {
            let mut names: Vec<String> = settings.documents().map(|document| document.name.clone()).collect();
            if names.is_empty() {
                names.push("no files, the built-in settings".to_owned());
            }
            let found = names.join(", ");
            match problems.iter().next() {
                None => Finding::new(check, State::Good, found),
                Some(problem) => Finding::new(check, State::Warning, format!("{found}\n{problem}"))
                    .remedy("`checkrein policy check` shows all"),
            }
        }
        Err(error) => {
            Finding::new(check, State::Broken, error.words()).remedy("mend the file; nothing runs with it")
        }
    }
}

/// How much a verdict is worth where an agent could write the store itself.
fn verdicts() -> Finding {
    let check = "verdicts";
    if inside_attempt() {
        return Finding::new(check, State::Info, "refused: this is inside an agent's attempt");
    }
    let found = format!("a guard rail: an agent that runs as {} can write the store itself", local_name());
    Finding::new(check, State::Info, found)
        .remedy("run agents as another user, where the file and its directory are closed to them")
}
