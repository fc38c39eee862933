use std::path::PathBuf;

use checkrein_engine::copy_store;
use checkrein_store::{Store, StoreAddress};

use crate::error::{CliError, Exit};
use crate::output::{Output, Table};
use crate::session::{address_of, files_root, local, outside_attempt, runtime};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The store that is there: sqlite:FILE, FILE or postgres://USER@HOST/DATABASE
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// The store it goes to, which must be empty
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a store cannot be copied")?;
    let (from, to) = (address_of(&args.from)?, address_of(&args.to)?);
    if let StoreAddress::Sqlite(path) = &from
        && !path.is_file()
    {
        return Err(CliError::with(Exit::Conflict, format!("there is no store `{}`", path.display())));
    }
    let files = files_root()?;
    let (source, target) = (Store::open_at_to_read(&from, &files)?, Store::open_at(&to, &files)?);
    let who = local(checkrein_core::principal::Role::Admin);
    let copied = runtime()?.block_on(copy_store(&who, &source, &target))?;
    if args.json {
        let tables: serde_json::Map<_, _> =
            copied.tables.iter().map(|(table, rows)| (table.clone(), (*rows).into())).collect();
        return Output::json(&serde_json::json!({
            "from": from.to_string(), "to": to.to_string(), "rows": tables, "files": copied.files,
        }));
    }
    let mut table = Table::new(&["what", "rows"]);
    for (name, rows) in &copied.tables {
        table.row(vec![name.clone(), rows.to_string()]);
    }
    table.row(vec!["files of runs".to_owned(), copied.files.to_string()]);
    let text = format!("{}\n{from} is now in {to}; do not use it where it was\n", table.render());
    Ok(Output::text(text))
}
