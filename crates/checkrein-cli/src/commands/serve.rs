use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use checkrein_core::principal::Principal;
use checkrein_engine::{Engine, Shift};
use checkrein_server::{Config, Limits, Server};
use tokio::sync::watch;

use super::worker::Told;
use crate::driving::interrupts;
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt, runtime};

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

/// How long a worker that failed waits before it tries again.
const TRY_AGAIN: Duration = Duration::from_secs(5);

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a server cannot be started")?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let engine = Arc::new(session.into_engine());
    let answering = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answering = answering.map_err(|error| CliError::failed(format!("no runtime: {error}")))?;
    let (stop, workers) = answering.block_on(async {
        let stop = interrupts()?;
        let config = Config { listen: args.listen, limits: Limits::default() };
        let server = Server::bind(Arc::clone(&engine), config, stop.clone()).await;
        let server = server.map_err(|error| {
            CliError::failed(format!("`{}` cannot be listened on: {error}", args.listen))
                .hint("another server may run there; `--listen` takes another address")
        })?;
        let address = server.address().map_err(|error| CliError::failed(error.to_string()))?;
        let workers = match args.no_worker {
            true => Vec::new(),
            false => (0..args.runs).map(|_| work(&engine, &who, &stop)).collect::<Result<_, _>>()?,
        };
        note(format_args!("listens on http://{address}"));
        server.run().await;
        Ok::<_, CliError>((stop, workers))
    })?;
    drop(stop);
    for worker in workers {
        let _ = worker.join();
    }
    note("ended");
    Ok(Output::text(""))
}

/// A worker on a thread of its own: what it waits for must not keep requests waiting.
fn work(
    engine: &Arc<Engine>,
    who: &Principal,
    stop: &watch::Receiver<bool>,
) -> Result<JoinHandle<()>, CliError> {
    let (engine, who, stop) = (Arc::clone(engine), who.clone(), stop.clone());
    let runtime = runtime()?;
    let working = move || {
        runtime.block_on(async {
            let mut stopped = stop.clone();
            while !*stop.borrow() {
                if let Err(error) = engine.work(&who, Shift::UntilStopped, &stop, &mut Told::new()).await {
                    warn(format_args!("the worker will try again: {error}"));
                    tokio::select! {
                        () = tokio::time::sleep(TRY_AGAIN) => {}
                        _ = stopped.wait_for(|stop| *stop) => {}
                    }
                }
            }
        });
    };
    let started = thread::Builder::new().name("checkrein-work".to_owned()).spawn(working);
    started.map_err(|error| CliError::failed(format!("no thread for a worker: {error}")))
}
