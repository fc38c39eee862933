use std::io::Write;
use std::path::PathBuf;

use checkrein_core::policy::{Change, migrate};

use crate::error::CliError;
use crate::files;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workflow file or checkrein.yaml
    file: PathBuf,
    /// Print the new text instead of writing the file
    #[arg(long)]
    stdout: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let document = files::document(&args.file)?;
    let migration = migrate(&document)?;
    let mut stderr = std::io::stderr();
    for Change { position, level, settings } in &migration.changes {
        let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let now =
            if settings.is_empty() { "removed, it had no effect".to_owned() } else { settings.join(", ") };
        let _ = writeln!(stderr, "{}:{}: level `{level}` is now {now}", document.name, position.line);
        if level == "dry-run" {
            let _ = writeln!(stderr, "  note: `dry-run` never prevented writes here; steps run for real");
        }
    }
    if args.stdout {
        return Ok(Output::text(migration.text));
    }
    if migration.changes.is_empty() {
        let _ = writeln!(stderr, "{}: no legacy level, nothing to do", document.name);
    } else {
        files::replace(&args.file, &migration.text)?;
    }
    Ok(Output::text(""))
}
