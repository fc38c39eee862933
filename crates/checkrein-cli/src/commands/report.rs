use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use checkrein_core::document::{closest, listed};
use checkrein_core::report::{Across, Format, Report, Style, pages};
use checkrein_store::RunFilter;

use crate::commands::checkpoint::wait::duration;
use crate::driving::{at_terminal, interrupts};
use crate::error::CliError;
use crate::output::Output;
use crate::progress::Progress;
use crate::remedies;
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    #[arg(required_unless_present = "since", conflicts_with = "since")]
    run: Option<String>,
    /// All runs that were started since then, such as 7d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    since: Option<Duration>,
    #[command(flatten)]
    shape: Shape,
    /// Write text, markdown, json, html, junit or sarif
    #[arg(long = "as", value_enum, default_value_t = Kind::Text, value_name = "KIND")]
    kind: Kind,
    /// The same as `--as json`
    #[arg(long)]
    json: bool,
    /// Write it to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Choose among the proposed fixes
    #[arg(long, conflicts_with_all = ["since", "json", "output"])]
    fix: bool,
    #[command(flatten)]
    store: DeskPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Text,
    Markdown,
    Json,
    Html,
    Junit,
    Sarif,
}

/// How a report is shown.
#[derive(Clone, Debug, clap::Args)]
pub struct Shape {
    /// How much the report tells: summary, detailed or minimal
    #[arg(long, default_value = "summary", value_name = "FORMAT", value_parser = format)]
    format: Format,
    /// Only this page of the report
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    page: Option<u32>,
    /// How many lines a page has [default: 100]
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u32).range(1..))]
    per_page: Option<u32>,
}

fn format(text: &str) -> Result<Format, String> {
    let names = || Format::ALL.into_iter().map(Format::name);
    Format::parse(text).ok_or_else(|| match closest(text, names()) {
        Some(near) => format!("did you mean `{near}`? It is one of {}", listed(names())),
        None => format!("it is one of {}", listed(names())),
    })
}

const LINES_PER_PAGE: u32 = 100;

pub fn run(args: &Args) -> Result<Output, CliError> {
    if args.fix {
        return args.fix();
    }
    let desk = args.store.desk_to_read()?;
    let kind = if args.json { Kind::Json } else { args.kind };
    let output = match (&args.run, args.since) {
        (Some(run), _) => args.one(&desk, run, kind)?,
        (None, since) => args.across(&desk, since.unwrap_or_default(), kind)?,
    };
    match &args.output {
        None => Ok(output),
        Some(path) => output.write_to(path),
    }
}

impl Args {
    fn one(&self, desk: &Desk, run: &str, kind: Kind) -> Result<Output, CliError> {
        let report = desk.view(run)?.report(desk.now());
        Ok(match kind {
            Kind::Text => return self.shape.output(&report),
            Kind::Markdown => Output::text(report.markdown()),
            Kind::Json => Output::json(&report.json())?,
            Kind::Html => Output::text(report.html()),
            Kind::Junit => Output::text(report.junit()),
            Kind::Sarif => Output::json(&report.sarif())?,
        })
    }

    fn across(&self, desk: &Desk, since: Duration, kind: Kind) -> Result<Output, CliError> {
        let now = desk.now();
        let begin = now.checked_sub(since).unwrap_or(jiff::Timestamp::MIN);
        let mut across = Across::default();
        let mut before = None;
        'pages: loop {
            let page = desk.runs(&RunFilter::default(), before, 200)?;
            for run in &page.items {
                if run.created_at < begin {
                    break 'pages;
                }
                across.add(&desk.view(&run.run_id)?.report(now));
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        match kind {
            Kind::Text => self.shape.paged(across.text(style())),
            Kind::Json => Output::json(&across.json()),
            _ => Err(CliError::usage("a report on several runs is text or JSON")
                .hint("leave `--as` out, or say `--as json`")),
        }
    }

    /// The same dialogue as at the end of a run.
    fn fix(&self) -> Result<Output, CliError> {
        outside_attempt("fixes cannot be chosen")?;
        if !at_terminal() {
            return Err(CliError::failed("fixes are chosen at a terminal")
                .hint("`checkrein report RUN --json` lists them with their commands"));
        }
        let session = self.store.here().open_if_there()?;
        let who = session.principal()?;
        let run = self.run.clone().unwrap_or_default();
        session.wait(async {
            let stop = interrupts()?;
            let mut progress = Progress::Lines;
            let mut driver = session.engine.drive_run(&who, &run, &mut progress).await?;
            let report = driver.view().report(session.engine.now());
            self.shape.output(&report)?.show()?;
            if report.remedies.is_empty() {
                return Ok(Output::text("There is nothing to fix.\n"));
            }
            remedies::offer(&mut driver, report, !self.shape.lists_remedies(), &stop, &mut progress).await?;
            Ok(Output::text(""))
        })
    }
}

impl Shape {
    /// Whether a report of this shape ends with what can be chosen.
    pub fn lists_remedies(&self) -> bool {
        self.format != Format::Minimal && self.page.is_none() && self.per_page.is_none()
    }

    pub fn output(&self, report: &Report) -> Result<Output, CliError> {
        self.paged(report.text(self.format, style()))
    }

    /// One page, where one was asked for.
    fn paged(&self, text: String) -> Result<Output, CliError> {
        if self.page.is_none() && self.per_page.is_none() {
            return Ok(Output::paged(text));
        }
        let pages = pages(&text, self.per_page.unwrap_or(LINES_PER_PAGE) as usize);
        let number = self.page.unwrap_or(1) as usize;
        match pages.get(number.saturating_sub(1)) {
            Some(page) => Ok(Output::text(format!("{page}\npage {number} of {}\n", pages.len()))),
            None => Err(CliError::usage(format!("there is no page {number}"))
                .hint(format!("the report has {} pages", pages.len()))),
        }
    }
}

/// What stdout can show: as wide as the terminal, and in ASCII where the locale knows no more.
fn style() -> Style {
    let width = if std::io::stdout().is_terminal() {
        rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col))
    } else {
        None
    };
    let usual = Style::default();
    let width = width.filter(|width| *width > 0).map_or(usual.width, |width| width.min(usual.width));
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    // Nothing said is what most systems are today.
    let unicode = locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    Style { width, unicode }
}
