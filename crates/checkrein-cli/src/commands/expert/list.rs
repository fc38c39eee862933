use checkrein_engine::{Uncommitted, list_experts, uncommitted_experts};
use checkrein_server::wire::expert::ExpertItem;

use crate::error::{CliError, warn};
use crate::output::{Output, Table, one_line};
use crate::remote::Remote;
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// Ask this server instead of files here, with the token in $CHECKREIN_TOKEN
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let items: Vec<ExpertItem> = match &args.server {
        Some(url) => Remote::at(url)?.list(&["experts"], &[], "after", usize::MAX)?.items,
        None => {
            let settings = args.places.load()?;
            let files = settings::expert_files();
            let (rows, problems) = list_experts(&settings, &files);
            problems.iter().for_each(warn);
            let here = std::env::current_dir().unwrap_or_default();
            for (name, why) in uncommitted_experts(&files, &here) {
                let name = one_line(&name);
                match why {
                    Uncommitted::New => warn(format_args!(
                        "expert `{name}` is not committed yet: a job in this repository cannot use it"
                    )),
                    Uncommitted::Changed => warn(format_args!(
                        "expert `{name}` differs from what is committed, which is what a job in this repository uses"
                    )),
                }
            }
            rows.iter().map(|row| ExpertItem::of(row, crate::files::shown)).collect()
        }
    };
    if args.json {
        return Output::json(&items);
    }
    let mut table = Table::new(&["expert", "level", "what it does", "from"]);
    for item in items {
        table.row(vec![
            one_line(&item.name),
            one_line(item.level.as_deref().unwrap_or("custom")),
            one_line(item.description.as_deref().unwrap_or("-")),
            item.source,
        ]);
    }
    Ok(Output::text(table.render()))
}
