use std::fmt::Write;
use std::path::PathBuf;

use checkrein_core::config::Subject;
use checkrein_core::policy::{Scope, Tested};
use serde::Serialize;

use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::settings::{self, Places};
use crate::workflow;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Workflow files whose examples to run, beside those of the settings that apply here
    files: Vec<PathBuf>,
    /// The examples and what became of them, as a JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let settings = args.places.load()?;
    let mut tested: Vec<Tested> = Vec::new();
    // Layers are shared between questions; an example runs once.
    let mut add = |more: Vec<Tested>| {
        for one in more {
            if !tested.contains(&one) {
                tested.push(one);
            }
        }
    };
    for scope in Scope::ALL {
        add(settings.test(scope, Subject::Anyone)?);
    }
    for worker in settings.workers() {
        add(settings.test(Scope::Worker, Subject::Worker(worker))?);
    }
    for (name, _) in settings::expert_files() {
        add(settings.test(Scope::Job, Subject::Expert(&settings::expert(&name)?))?);
    }
    for path in &args.files {
        let (chain, _) = workflow::chain(path)?;
        add(settings.test(Scope::Workflow, Subject::Workflow(&chain))?);
    }

    let failed = tested.iter().filter(|one| one.failure.is_some()).count();
    let exit = if failed == 0 { Exit::Done } else { Exit::Failed };
    if args.json {
        let rows: Vec<Row> = tested.iter().map(Row::of).collect();
        return Ok(Output::json(&rows)?.exit(exit));
    }
    let mut out = String::new();
    for one in &tested {
        let place = match one.position {
            Some(position) => format!("{}:{}", one.source, position.line),
            None => one.source.clone(),
        };
        let _ = match &one.failure {
            None => writeln!(out, "ok      {place}  {}", one.name),
            Some(failure) => writeln!(out, "FAILED  {place}  {failure}"),
        };
    }
    let _ = writeln!(out, "{} passed, {failed} failed", tested.len() - failed);
    Ok(Output::text(out).exit(exit))
}

/// An example as a program reads it.
#[derive(Serialize)]
struct Row<'t> {
    source: &'t str,
    line: Option<usize>,
    column: Option<usize>,
    path: &'t str,
    name: &'t str,
    passed: bool,
    /// What was expected and what the policy says instead.
    failure: Option<String>,
}

impl<'t> Row<'t> {
    fn of(tested: &'t Tested) -> Row<'t> {
        Row {
            source: &tested.source,
            line: tested.position.map(|position| position.line),
            column: tested.position.map(|position| position.column),
            path: &tested.path,
            name: &tested.name,
            passed: tested.failure.is_none(),
            failure: tested.failure.as_ref().map(ToString::to_string),
        }
    }
}
