use std::path::PathBuf;

use checkrein_engine::{Defined, RunRequest, define};

use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::session::StorePlace;
use crate::{files, workflow};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workflow file: YAML, JSON or TOML
    file: PathBuf,
    /// A level for this run
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    /// A setting of the policy, such as warning_tolerance=high, or a value for a placeholder
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    sets: Vec<(String, String)>,
    /// What the work is about [default: the git branch]
    #[arg(long)]
    target: Option<String>,
    /// The work item it belongs to
    #[arg(long, value_name = "ID")]
    work_id: Option<String>,
    /// Only this phase; may be given several times
    #[arg(long = "phase", value_name = "NAME")]
    phases: Vec<String>,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: StorePlace,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    // Everything that can be wrong with files is said before anything is recorded.
    let (chain, odd) = workflow::chain(&args.file)?;
    odd.iter().for_each(warn);
    let (settings, odd) = args.store.settings()?;
    odd.iter().for_each(warn);
    let directory = std::env::current_dir()
        .map_err(|error| CliError::failed(format!("there is no current directory: {error}")))?;
    let request = RunRequest {
        level: args.level.clone(),
        sets: args.sets.clone(),
        target: args.target.clone(),
        work_id: args.work_id.clone(),
        phases: args.phases.clone(),
    };
    let Defined { definition, odd } = define(&settings, &chain, &request, &directory)?;
    odd.iter().for_each(warn);
    let session = args.store.open_with(settings)?;
    let who = session.principal()?;
    let id = session.wait(session.engine.create_run(&who, definition, None))?;
    note(format_args!("run {id}: {}", files::shown(&args.file)));
    args.driving.drive(&session, id.as_str(), TakeUp::New)
}
