use std::net::SocketAddr;
use std::sync::Arc;

use checkrein_server::{Config, Limits, Server, Work};

use super::worker::Told;
use crate::driving::interrupts;
use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117")]
    listen: SocketAddr,
    /// Only answer requests; `checkrein worker` goes on with runs elsewhere
    #[arg(long)]
    no_worker: bool,
    /// How many runs go on at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    runs: u8,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a server cannot be started")?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let engine = Arc::new(session.into_engine());
    let answering = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answering = answering.map_err(|error| CliError::failed(format!("no runtime: {error}")))?;
    answering.block_on(async {
        let work = Work { runs: args.runs.into(), by: who, watcher: Arc::new(|| Box::new(Told::new())) };
        let config = Config {
            listen: args.listen,
            limits: Limits::default(),
            work: Some(work).filter(|_| !args.no_worker),
        };
        let server = Server::bind(engine, config, interrupts()?).await;
        let server = server.map_err(|error| {
            CliError::failed(format!("`{}` cannot be listened on: {error}", args.listen))
                .hint("another server may run there; `--listen` takes another address")
        })?;
        let address = server.address().map_err(|error| CliError::failed(error.to_string()))?;
        note(format_args!("listens on http://{address}"));
        server.run().await;
        Ok::<_, CliError>(())
    })?;
    note("ended");
    Ok(Output::text(""))
}
