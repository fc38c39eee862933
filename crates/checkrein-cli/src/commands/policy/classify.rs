use checkrein_core::classify::Classified;
use checkrein_server::wire::policy as wire;

use crate::error::CliError;
use crate::files;
use crate::output::{Output, Table, one_line};
use crate::settings::ProjectPlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The texts; without any, each line of standard input is one
    texts: Vec<String>,
    /// Answer as JSON, one object per text in a list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let settings = args.project.load()?;
    let texts = if args.texts.is_empty() {
        files::stdin("texts, one per line")?.lines().map(str::to_owned).collect()
    } else {
        args.texts.clone()
    };
    let classified: Vec<(&String, Classified<'_>)> =
        texts.iter().map(|text| (text, settings.classifier().classify(text))).collect();
    if args.json {
        let all: Vec<_> = classified.iter().map(|(text, found)| wire::Classified::of(text, found)).collect();
        return Output::json(&all);
    }
    let mut table = Table::new(&["severity", "by", "category", "by", "text"]);
    let word = |word: Option<&str>| word.unwrap_or("-").to_owned();
    for (text, found) in &classified {
        table.row(vec![
            found.severity.to_string(),
            word(found.severity_word),
            found.category.to_string(),
            word(found.category_word),
            one_line(text),
        ]);
    }
    Ok(Output::text(table.render()))
}
