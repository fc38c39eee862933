use std::path::PathBuf;
use std::sync::Arc;

use checkrein_core::config::env;
use checkrein_core::principal::Role;
use checkrein_engine::OwnAttempt;
use checkrein_server::mcp::{Effect, LaterStore, Mcp, Place};

use crate::error::CliError;
use crate::output::Output;
use crate::session::{StorePlace, inside_attempt, local, runtime};
use crate::settings;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let attempt = OwnAttempt::of_environment(|name| std::env::var(name).ok());
    if attempt.is_none() && inside_attempt() && !args.store.is_named() {
        let wanted = ["CHECKREIN_JOB_ID", env::BRIEF_JSON, env::RESULT].join(", ");
        return Err(CliError::failed(
            "this is inside an agent's attempt, and what it was given did not get here",
        )
        .hint(format!("have the client hand on {wanted}; in a step, {}", env::RESPONSE)));
    }
    // An attempt has all it needs in its files, and nothing else is its business.
    let needs_store = attempt.is_none() || args.store.is_given();
    let (engine, by) = if needs_store {
        let session = args.store.open_if_there()?;
        let by = session.agent()?;
        (Some(Arc::new(session.into_engine())), by)
    } else {
        (None, local(Role::Agent))
    };
    let later = engine.as_ref().filter(|engine| !engine.has_store()).map(|_| {
        let place = args.store.clone();
        LaterStore::new(move |effect| {
            place.engine_if(effect == Effect::Changes).map_err(|error| error.words())
        })
    });
    let directory = std::env::current_dir().ok().map(|path| path.display().to_string());
    let place = Place {
        engine,
        later,
        attempt,
        experts: Arc::new(settings::expert_files),
        directory,
        by: Some(by),
        tools_listed: std::env::var_os(env::TOOLS_LISTED).map(PathBuf::from),
        closing: None,
    };
    let runtime = runtime()?;
    // INVARIANT: nothing but messages goes to standard output.
    let served = runtime.block_on(Mcp::new(place).serve(tokio::io::stdin(), tokio::io::stdout()));
    // A read that nobody answers any more must not keep the process.
    runtime.shutdown_background();
    served.map_err(|error| CliError::failed(format!("the client cannot be understood: {error}")))?;
    Ok(Output::text(""))
}
