//! `checkrein frame`

mod should_pop;
mod should_push;

use std::sync::Arc;

use checkrein_core::document::{Document, Format, Gravity, decode};
use checkrein_core::frame::{FrameConfig, FrameConfigPatch};
use serde::de::DeserializeOwned;

use crate::error::{CliError, warn};
use crate::files;
use crate::output::Output;
use crate::settings::ProjectPlace;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Should a child frame be pushed? Reads a JSON request from standard input
    ShouldPush(Args),
    /// Should the current frame be popped? Reads a JSON request from standard input
    ShouldPop(Args),
}

/// What both questions take.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// The session to show in the answer
    #[arg(long, default_value = "-")]
    session: String,
    #[command(flatten)]
    project: ProjectPlace,
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::ShouldPush(args) => should_push::run(&args),
            Command::ShouldPop(args) => should_pop::run(&args),
        }
    }
}

fn request<T: DeserializeOwned>() -> Result<T, CliError> {
    let text = files::stdin("a request")?;
    let document = Arc::new(Document::parse("request", &text, Format::Json)?);
    Ok(decode(&document, Gravity::Error).map(|(request, _)| request)?)
}

/// The settings in force; those of the request are the strongest.
fn config(args: &Args, patch: Option<&FrameConfigPatch>) -> Result<FrameConfig, CliError> {
    let (mut config, mut warnings) = args.project.load()?.frames();
    if let Some(patch) = patch {
        warnings.extend(config.apply(patch));
    }
    warnings.iter().for_each(warn);
    Ok(config)
}
