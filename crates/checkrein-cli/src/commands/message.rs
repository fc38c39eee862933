use checkrein_server::wire::review::Comment;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, or a beginning or end of its id that no other has
    run: String,
    /// What its agent is to hear
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("an agent cannot be spoken to")?;
    let said = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let (_, said) = session.wait(session.engine.send_message(&who, &args.run, &args.text))?;
            Comment::from(&said)
        }
        Desk::There(remote) => remote.post(&["runs", &args.run, "message"], &json!({"text": args.text}))?,
    };
    if args.json {
        return Output::json(&said);
    }
    Ok(Output::text(format!("{}: the agent hears it at its next turn, or with its next brief\n", said.id)))
}
