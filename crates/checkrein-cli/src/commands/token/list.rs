use checkrein_server::wire::token::Token;

use crate::error::CliError;
use crate::output::{Output, Table, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let tokens: Vec<Token> = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.manager()?;
            session.wait(session.engine.tokens(&who))?.iter().map(Token::from).collect()
        }
        Desk::There(remote) => remote.list(&["tokens"], &[], "after", usize::MAX)?.items,
    };
    if args.json {
        return Output::json(&tokens);
    }
    if tokens.is_empty() {
        return Ok(Output::text("There are no tokens.\n"));
    }
    let now = checkrein_engine::now();
    let mut table = Table::new(&["id", "name", "role", "state"]);
    for token in &tokens {
        let state = match (token.revoked_at, token.expires_at) {
            (Some(at), _) => format!("revoked {at}"),
            (None, Some(at)) if at <= now => format!("expired {at}"),
            (None, Some(at)) => format!("expires {at}"),
            (None, None) => "good".to_owned(),
        };
        table.row(vec![token.id.clone(), one_line(&token.name), token.role.to_string(), state]);
    }
    Ok(Output::text(table.render()))
}
