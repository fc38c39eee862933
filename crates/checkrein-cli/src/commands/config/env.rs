use checkrein_core::config::env::SETTINGS;

use crate::error::CliError;
use crate::output::{Output, Table};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// One JSON object: name to meaning and value
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let value = |name: &str| std::env::var(name).ok();
    if args.json {
        let all = SETTINGS.iter().map(|(name, about)| {
            ((*name).to_owned(), serde_json::json!({"about": about, "value": value(name)}))
        });
        return Output::json(&all.collect::<serde_json::Map<_, _>>());
    }
    let mut table = Table::new(&["variable", "value", "what it is"]);
    for (name, about) in SETTINGS {
        table.row(vec![
            (*name).to_owned(),
            value(name).unwrap_or_else(|| "-".to_owned()),
            (*about).to_owned(),
        ]);
    }
    Ok(Output::text(table.render()))
}
