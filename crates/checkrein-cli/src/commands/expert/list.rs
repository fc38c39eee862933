use checkrein_core::config::{BUILTIN_EXPERTS, Subject};
use checkrein_core::policy::Scope;
use serde_json::json;

use crate::error::{CliError, warn};
use crate::output::{Output, Table, one_line};
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let settings = args.places.load()?;
    let files = settings::expert_files();
    let builtin = BUILTIN_EXPERTS.iter().map(|expert| expert.name.to_owned());
    let mut names: Vec<String> = builtin.chain(files.iter().map(|(name, _)| name.clone())).collect();
    names.sort();
    names.dedup();
    let mut rows = Vec::new();
    for name in names {
        // One that is broken does not hide the others.
        let found = settings::expert_among(&files, &name).and_then(|expert| {
            let resolution = settings.resolve(Scope::Job, Subject::Expert(&expert), &[])?;
            Ok((expert, resolution.policy.level))
        });
        let source = match files.iter().find(|(known, _)| *known == name) {
            Some((_, path)) => crate::files::shown(path),
            None => "built in".to_owned(),
        };
        match found {
            Ok((expert, level)) => rows.push((name, level, expert.description, source)),
            Err(problems) => problems.iter().for_each(warn),
        }
    }
    if args.json {
        let items: Vec<_> = rows
            .iter()
            .map(|(name, level, description, source)| {
                json!({"name": name, "level": level, "description": description, "source": source})
            })
            .collect();
        return Output::json(&items);
    }
    let mut table = Table::new(&["expert", "level", "what it does", "from"]);
    for (name, level, description, source) in rows {
        table.row(vec![
            one_line(&name),
            one_line(level.as_deref().unwrap_or("custom")),
            one_line(description.as_deref().unwrap_or("-")),
            source,
        ]);
    }
    Ok(Output::text(table.render()))
}
