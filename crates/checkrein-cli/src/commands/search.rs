use std::fmt::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checkrein_engine::SearchRequest;
use checkrein_server::wire::search::{By, Hit, Search};

use crate::error::{CliError, note};
use crate::output::{FAINT, HEADING, Output, harmless, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, or a beginning or end of its id that no other has
    run: String,
    /// What is searched for: words, or a question in your own words
    query: String,
    /// How texts are looked for
    #[arg(long, value_enum, default_value_t)]
    by: ByWord,
    /// Only in this file, this directory, or files of this pattern
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only in files this phase changed last: its name or its number
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum ByWord {
    /// Words and meaning, made one ranking
    #[default]
    Both,
    Words,
    Meaning,
}

impl ByWord {
    const fn wire(self) -> By {
        match self {
            ByWord::Both => By::Both,
            ByWord::Words => By::Words,
            ByWord::Meaning => By::Meaning,
        }
    }
}

/// How long the model may read what it has not, before an answer is given with what there is.
const PATIENCE: Duration = Duration::from_secs(10);
const MARK: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

pub fn run(args: &Args) -> Result<Output, CliError> {
    let found = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let request = SearchRequest {
                query: args.query.clone(),
                by: args.by.wire().into(),
                file: args.file.clone(),
                phase: args.phase.clone(),
                limit: args.limit.into(),
                patience: PATIENCE,
            };
            let answer = session.wait(session.engine.search(&who, &args.run, &request))?;
            let run = answer.run.clone();
            let found = serde_json::to_vec(&Search::from(answer)).unwrap_or_default();
            let clean = session.engine.redacted_json(&found, Some(&run));
            serde_json::from_slice::<Search>(&clean)
                .map_err(|error| CliError::failed(format!("the answer cannot be read: {error}")))?
        }
        Desk::There(remote) => {
            let by = serde_json::to_value(args.by.wire()).ok();
            let by = by.as_ref().and_then(|by| by.as_str()).unwrap_or("both").to_owned();
            let mut query = vec![("q", args.query.clone()), ("by", by), ("limit", args.limit.to_string())];
            query.extend(args.file.clone().map(|file| ("file", file)));
            query.extend(args.phase.clone().map(|phase| ("phase", phase)));
            remote.get(&["runs", &args.run, "search"], &query)?
        }
    };
    if args.json {
        return Output::json(&found);
    }
    found.notes.iter().for_each(note);
    if found.hits.is_empty() {
        note(format_args!("nothing was found in {} passages", found.chunks));
    }
    Ok(Output::text(found.hits.iter().map(hit).collect::<String>()))
}

/// Where it is, and the part that fits, with the words of the query marked.
pub fn hit(hit: &Hit) -> String {
    let mut out = String::new();
    let lines = if hit.first_line == hit.last_line {
        hit.first_line.to_string()
    } else {
        format!("{}-{}", hit.first_line, hit.last_line)
    };
    let _ = write!(out, "{HEADING}{}:{lines}{HEADING:#}", one_line(&hit.file));
    if !hit.heading.is_empty() {
        let _ = write!(out, "  {}", one_line(&hit.heading));
    }
    if let Some(phase) = &hit.phase {
        let _ = write!(out, "  {FAINT}{}{FAINT:#}", one_line(phase));
    }
    out.push_str("\n  ");
    let snippet: Vec<char> = hit.snippet.chars().collect();
    let mut at = 0;
    let part = |from: usize, to: usize| {
        harmless(&snippet.iter().skip(from).take(to.saturating_sub(from)).collect::<String>())
    };
    for (from, to) in &hit.marks {
        let _ = write!(out, "{}{MARK}{}{MARK:#}", part(at, *from), part(*from, *to));
        at = *to;
    }
    out.push_str(&part(at, snippet.len()));
    out.push_str("\n\n");
    out
}
