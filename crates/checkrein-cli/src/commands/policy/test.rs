use std::fmt::Write;
use std::path::PathBuf;

use checkrein_core::config::{Subject, Workflow};
use checkrein_core::policy::{Scope, Tested};

use crate::error::{CliError, Exit};
use crate::files;
use crate::output::Output;
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Workflow files whose examples to run, beside those of the settings that apply here
    files: Vec<PathBuf>,
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
        let (workflow, _) = Workflow::read(&files::document(path)?)?;
        add(settings.test(Scope::Workflow, Subject::Workflow(&workflow))?);
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
    let failed = tested.iter().filter(|one| one.failure.is_some()).count();
    let _ = writeln!(out, "{} passed, {failed} failed", tested.len() - failed);
    Ok(Output::text(out).exit(if failed == 0 { Exit::Done } else { Exit::Failed }))
}
