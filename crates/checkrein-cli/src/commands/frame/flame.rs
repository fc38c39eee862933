use std::path::PathBuf;

use checkrein_core::frame::{FlameStyle, FlameWidth};

use super::Place;
use crate::error::{CliError, note};
use crate::files::shown;
use crate::output::Output;
use crate::session::Desk;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the picture goes, `-` for standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// What the width of a frame stands for: tokens or time
    #[arg(long, value_parser = width, default_value = "tokens")]
    width: FlameWidth,
    /// Frames that do not mention this fade
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    place: Place,
}

fn width(text: &str) -> Result<FlameWidth, String> {
    let known = FlameWidth::ALL.into_iter().find(|width| width.name() == text);
    known.ok_or_else(|| "expected tokens or time".to_owned())
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let wanted = args.place.wanted();
    let svg = match args.place.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let now_ms = u64::try_from(session.engine.now().as_millisecond()).unwrap_or(0);
            let style = FlameStyle { width: args.width, link: None, search: args.search.as_deref(), now_ms };
            session.wait(session.engine.flame_graph(&who, &wanted, style))?
        }
        Desk::There(remote) => {
            let mut query = vec![("width", args.width.name().to_owned())];
            query.extend(args.search.iter().map(|search| ("search", search.clone())));
            remote.text(&["frames", &args.place.named(), "picture"], &query)?
        }
    };
    if args.file.as_os_str() == "-" {
        return Ok(Output::text(svg));
    }
    let written = Output::text(svg).write_to(&args.file)?;
    note(format_args!("the picture is in {}", shown(&args.file)));
    Ok(written)
}
