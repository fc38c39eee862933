use checkrein_server::wire::token::Token;

use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The token's id, as `token list` shows it
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.manager()?;
    let token = session.wait(session.engine.revoke_token(&who, &args.id))?;
    if args.json {
        return Output::json(&Token::from(&token));
    }
    Ok(Output::text(format!("revoked {}\n", args.id)))
}
