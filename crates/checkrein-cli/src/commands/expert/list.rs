use checkrein_engine::list_experts;
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
        Some(url) => Remote::at(url)?.get(&["experts"], &[])?,
        None => {
            let settings = args.places.load()?;
            let (rows, problems) = list_experts(&settings, &settings::expert_files());
            problems.iter().for_each(warn);
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
