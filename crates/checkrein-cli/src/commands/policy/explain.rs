use checkrein_core::policy::Resolution;

use super::asked::Asked;
use crate::error::CliError;
use crate::output::{HEADING, Output, Table};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
    /// The whole resolved policy and the source of each value, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let resolution = args.asked.resolve()?;
    if args.json {
        return Output::json(&resolution);
    }
    let mut table = Table::new(&["setting", "value", "set by"]);
    for told in resolution.policy.told() {
        let set_by = resolution.set_by(&told);
        table.row(vec![told.setting, told.value, set_by]);
    }
    let title = format!("{HEADING}Policy of {}{HEADING:#}", args.asked.title());
    Ok(Output::text(format!("{title}\n\n{}", table.render())))
}

/// The values alone, for a quick look.
pub fn values(resolution: &Resolution) -> String {
    let mut table = Table::new(&["setting", "value"]);
    for told in resolution.policy.told() {
        table.row(vec![told.setting, told.value]);
    }
    table.render()
}
