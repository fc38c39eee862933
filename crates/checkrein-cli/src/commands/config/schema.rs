use checkrein_core::config::SCHEMAS;
use checkrein_core::document::{closest, listed};

use crate::error::CliError;
use crate::output::{Output, Table};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which one; without a name the list of all
    name: Option<String>,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let Some(name) = &args.name else {
        let mut table = Table::new(&["schema", "of"]);
        for schema in SCHEMAS {
            table.row(vec![schema.name.to_owned(), schema.about.to_owned()]);
        }
        return Ok(Output::text(table.render()));
    };
    match SCHEMAS.iter().find(|schema| schema.name == name) {
        Some(schema) => Output::json(&(schema.schema)()),
        None => {
            let names = || SCHEMAS.iter().map(|schema| schema.name);
            let hint = match closest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", listed(names())),
            };
            Err(CliError::usage(format!("there is no schema `{name}`")).hint(hint))
        }
    }
}
