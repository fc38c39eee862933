use checkrein_server::wire::token::Token;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The token's id, as `token list` shows it
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let token = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            Token::from(&session.wait(session.engine.revoke_token(&who, &args.id))?)
        }
        Desk::There(remote) => remote.delete(&["tokens", &args.id])?,
    };
    if args.json {
        return Output::json(&token);
    }
    Ok(Output::text(format!("revoked {}\n", args.id)))
}
