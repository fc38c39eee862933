use std::path::PathBuf;
use std::time::Duration;

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Deliverable;
use checkrein_engine::{EngineError, NewCheckpoint};
use checkrein_server::wire::checkpoint::Checkpoint;

use super::shape;
use super::wait::duration;
use crate::error::{CliError, note};
use crate::files;
use crate::output::{Output, one_line, quoted};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Who asks
    #[arg(long, alias = "worker-name", value_name = "NAME")]
    worker: String,
    /// Where in the work
    #[arg(long, value_name = "NAME", default_value = "")]
    phase: String,
    /// What kind of point it is, such as phase_transition, deliverable or final_output
    #[arg(long = "type", value_name = "TYPE", default_value = "deliverable")]
    kind: String,
    /// What to approve: text, or a JSON object or list
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    deliverable: Option<String>,
    /// A file with what to approve, `-` for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A key of your own: asking again with it gives the answer there already is
    #[arg(long)]
    id: Option<String>,
    /// Wait for the verdict
    #[arg(long)]
    wait: bool,
    /// How long to wait at most, such as 2h
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "wait")]
    timeout: Option<Duration>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let deliverable = match (&args.deliverable, &args.file) {
        (Some(text), _) => Deliverable::from_typed(text.clone()).map_err(EngineError::from)?,
        (None, Some(path)) => Deliverable::from_bytes(files::bytes(path)?),
        (None, None) => {
            return Err(CliError::usage("there is nothing to approve").hint("give --deliverable or --file"));
        }
    };
    let desk = args.store.desk()?;
    let new = NewCheckpoint {
        id: args.id.clone(),
        worker: args.worker.clone(),
        phase: args.phase.clone(),
        kind: args.kind.clone(),
        deliverable,
    };
    let checkpoint = match &desk {
        Desk::Here(session) => {
            let who = session.principal()?;
            Checkpoint::from(&session.wait(session.engine.create_checkpoint(&who, new))?)
        }
        Desk::There(remote) => remote.create_checkpoint(new)?,
    };
    let pending = checkpoint.status == CheckpointStatus::Pending;
    if pending && !args.json {
        let id = quoted(&checkpoint.id);
        let end_of_options = if id.starts_with('-') { "-- " } else { "" };
        note(format_args!(
            "{} waits for a person: `checkrein approve {end_of_options}{id}`",
            one_line(&checkpoint.kind)
        ));
    }
    if args.wait && pending {
        return super::wait::wait(&desk, &checkpoint.id, args.timeout, args.json);
    }
    let exit = shape::exit(checkpoint.status);
    if args.json {
        return Ok(Output::json(&checkpoint)?.exit(exit));
    }
    Ok(Output::text(super::wait::line(&checkpoint)).exit(exit))
}
