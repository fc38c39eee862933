mod advice;
mod client;

use std::io::Write;
use std::path::Path;

use checkrein_engine::Client;

use crate::error::{CliError, note};
use crate::files;
use crate::output::Output;
use crate::session::GITIGNORE;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also where there are such files already: they are left as they are
    #[arg(long)]
    force: bool,
    /// Only put hooks and tools of frames into this client's settings here: claude-code or opencode
    #[arg(long, value_parser = super::hook::client, value_name = "CLIENT")]
    client: Option<Client>,
    /// Frame advice to write to `checkrein.yaml` with a client's hooks
    #[arg(long, requires = "client", value_enum, default_value = "recommended")]
    advice: advice::Advice,
    /// Take them out again
    #[arg(long, requires = "client")]
    remove: bool,
}

/// What is written, and where.
const FILES: [(&str, &str); 3] = [
    ("checkrein.yaml", include_str!("init/checkrein.yaml")),
    ("workflow.yaml", include_str!("init/workflow.yaml")),
    (".checkrein/.gitignore", GITIGNORE),
];

pub fn run(args: &Args) -> Result<Output, CliError> {
    if let Some(client) = args.client {
        let wanted = if args.remove { client::Wanted::Removed } else { client::Wanted::Installed };
        return client::run(client, wanted, args.advice);
    }
    let there = FILES.iter().filter(|(name, _)| Path::new(name).exists()).map(|(name, _)| *name);
    let there: Vec<&str> = there.collect();
    if !there.is_empty() && !args.force {
        return Err(CliError::conflict(format!(
            "`{}` is here already; nothing was written",
            there.join("`, `")
        ))
        .hint("`checkrein init --force` writes what is missing and leaves the rest as it is"));
    }
    let mut made = String::new();
    for (name, text) in FILES.iter().filter(|(name, _)| !there.contains(name)) {
        write(Path::new(name), text)?;
        made.push_str(&format!("made {name}\n"));
    }
    note("`checkrein run workflow.yaml` runs the example");
    Ok(Output::text(made))
}

/// Makes a file that is not there; one that appears meanwhile is somebody's.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let name = files::shown(path);
    let fail = |error: std::io::Error| CliError::failed(format!("`{name}` cannot be written: {error}"));
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(fail)?;
    }
    let mut file = std::fs::File::create_new(path).map_err(fail)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fail)
}
