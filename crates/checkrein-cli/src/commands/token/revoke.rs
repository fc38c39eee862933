use super::list::shape;
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
    session.wait(session.engine.revoke_token(&who, &args.id))?;
    if args.json {
        let tokens = session.wait(session.engine.tokens(&who))?;
        return Output::json(&tokens.iter().find(|token| token.id == args.id).map(shape));
    }
    Ok(Output::text(format!("revoked {}\n", args.id)))
}
