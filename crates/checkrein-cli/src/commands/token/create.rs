use std::time::Duration;

use checkrein_core::config::env;
use checkrein_core::duration::Written;
use checkrein_core::principal::{PrincipalKind, Role};
use checkrein_engine::NewToken;
use checkrein_server::wire::token as wire;
use serde_json::json;

use crate::commands::checkpoint::duration;
use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{Desk, DeskPlace, Session, local_name};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What its bearer may do: viewer, agent, reviewer or admin
    #[arg(long, value_parser = role)]
    role: Role,
    /// Whose it is; verdicts are recorded under this name [default: yours]
    #[arg(long)]
    name: Option<String>,
    /// How long it is good for, such as 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// The one worker it speaks for: it cannot ask under the name, and so the policy, of another
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "expected viewer, agent, reviewer or admin".to_owned())
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let name = args.name.clone().unwrap_or_else(local_name);
    let token = match args.store.desk()? {
        Desk::Here(session) => args.made(&session, name)?,
        Desk::There(remote) => {
            let expires = args.expires.map(|time| Written(time).to_string());
            let new = json!({"role": args.role, "name": name, "expires": expires, "worker": args.worker});
            remote.post_unkeyed(&["tokens"], &new)?
        }
    };
    if args.json {
        return Output::json(&token);
    }
    note(format_args!(
        "shown once; use it as {}, revoke it with `checkrein token revoke {}`",
        env::TOKEN,
        token.id
    ));
    Ok(Output::text(format!("{}\n", token.token)))
}

impl Args {
    fn made(&self, session: &Session, name: String) -> Result<wire::NewToken, CliError> {
        let who = session.manager()?;
        let kind = PrincipalKind::of_role(self.role);
        // A time too far away to be told must not become no end at all.
        let end = |length: Duration| checkrein_engine::now().checked_add(length);
        let expires_at = self.expires.map(end).transpose();
        let expires_at =
            expires_at.map_err(|_| CliError::usage("`--expires` is further away than times go"))?;
        let new = NewToken { name, kind, role: self.role, expires_at, worker: self.worker.clone() };
        Ok(wire::NewToken::from(&session.wait(session.engine.create_token(&who, new))?))
    }
}
