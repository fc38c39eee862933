use std::io::Write;
use std::path::PathBuf;

use checkrein_core::policy::{Change, Level, Scope, migrate};

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
        if let Some(lost) = Level::find(Scope::Workflow, level).and_then(|level| level.loses) {
            let _ = writeln!(stderr, "  note: {lost}");
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
