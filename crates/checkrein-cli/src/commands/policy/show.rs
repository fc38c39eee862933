use checkrein_core::policy::Shown;

use super::asked::Asked;
use super::explain;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let resolution = args.asked.resolve()?;
    if args.json {
        return Output::json(&Shown::of(&resolution));
    }
    Ok(Output::text(explain::values(&resolution)))
}
