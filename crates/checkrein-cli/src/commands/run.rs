use std::collections::BTreeMap;
use std::path::PathBuf;

use checkrein_engine::{Defined, RunRequest, define};
use serde::Deserialize;
use serde_json::json;

use super::job::queued;
use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::remote::Remote;
use crate::session::DeskPlace;
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
    /// Only record the run; `checkrein resume` or a worker begins it
    #[arg(long)]
    queue: bool,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: DeskPlace,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    if let Some(remote) = args.store.remote()? {
        return args.sent(&remote);
    }
    // Everything that can be wrong with files is said before anything is recorded.
    let (chain, odd) = workflow::chain(&args.file)?;
    odd.iter().for_each(warn);
    let (settings, odd) = args.store.here().settings()?;
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
    let session = args.store.here().open_with(settings)?;
    let who = session.principal()?;
    if args.queue {
        let id = session.wait(session.engine.create_run(&who, definition, None))?;
        return queued(id.as_str(), args.driving.json());
    }
    let new = session.wait(session.engine.start_run(&who, definition, None))?;
    note(format_args!("run {}: {}", new.id(), files::shown(&args.file)));
    args.driving.drive(&session, TakeUp::New(new))
}

/// What a server answers to a workflow that was sent.
#[derive(Deserialize)]
struct NewRun {
    run_id: String,
    warnings: Vec<String>,
}

impl Args {
    /// The server's commands run in the server's directory, so it resolves the file there.
    fn sent(&self, remote: &Remote) -> Result<Output, CliError> {
        let format = match self.file.extension().and_then(|ending| ending.to_str()) {
            Some("json") => "json",
            Some("toml") => "toml",
            _ => "yaml",
        };
        let set: BTreeMap<&str, &str> =
            self.sets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = json!({
            "workflow": files::text(&self.file)?, "format": format, "level": self.level, "set": set,
            "target": self.target, "work_id": self.work_id, "phases": Some(&self.phases).filter(|phases| !phases.is_empty()),
        });
        let new: NewRun = remote.post(&["runs"], &body)?;
        new.warnings.iter().for_each(warn);
        if self.queue {
            return Ok(Output::text(format!("{}\n", new.run_id)));
        }
        note(format_args!("run {}: {}", new.run_id, files::shown(&self.file)));
        self.driving.follow(remote, &new.run_id, 0)
    }
}
