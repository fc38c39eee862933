use std::io::IsTerminal;

use checkrein_core::report::{Format, Report, Style};

use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    store: StorePlace,
}

/// How a report is shown.
#[derive(Clone, Debug, clap::Args)]
pub struct Shape {
    /// How much the report tells: summary, detailed or minimal
    #[arg(long, default_value = "summary", value_name = "FORMAT")]
    format: String,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.principal()?;
    let view = session.wait(session.engine.run(&who, &args.run))?;
    args.shape.output(&view.report(session.engine.now()))
}

impl Shape {
    pub fn output(&self, report: &Report) -> Result<Output, CliError> {
        Ok(Output::text(report.text(Format::parse(&self.format), style())))
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
