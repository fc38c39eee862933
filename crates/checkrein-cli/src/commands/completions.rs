use clap_complete::Shell;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to write completions for
    shell: Shell,
}

pub fn run(args: &Args, command: &mut clap::Command) -> Result<Output, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "checkrein", &mut script);
    Ok(Output::text(String::from_utf8_lossy(&script)))
}
