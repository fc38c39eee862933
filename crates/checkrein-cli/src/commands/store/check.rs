use crate::error::{CliError, Exit, note};
use crate::output::{Output, count, one_line};
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_existing()?;
    let who = session.principal()?;
    let checked = session.wait(session.engine.check_store(&who))?;
    let sound = checked.problems_total == 0;
    let exit = if sound { Exit::Done } else { Exit::Failed };
    if args.json {
        let answer = serde_json::json!({
            "sound": sound, "checkpoints": checked.checkpoints, "events": checked.events,
            "contents": checked.contents, "runs": checked.runs,
            "frame_sessions": checked.frame_sessions, "problems_total": checked.problems_total,
            "problems": checked.problems,
        });
        return Ok(Output::json(&answer)?.exit(exit));
    }
    if sound {
        return Ok(Output::text(format!(
            "sound: {}, {}, {}, {}\n",
            count(checked.checkpoints, "checkpoint"),
            count(checked.events, "event"),
            count(checked.contents, "content"),
            count(checked.runs, "run"),
        )));
    }
    let mut text: String =
        checked.problems.iter().map(|problem| format!("{}\n", one_line(problem))).collect();
    let more = checked.problems_total.saturating_sub(checked.problems.len() as u64);
    if more > 0 {
        text.push_str(&format!("… and {more} more\n"));
    }
    note("keep a copy of the file, then bring back a backup with `checkrein store restore FILE`");
    Ok(Output::text(text).exit(exit))
}
