use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use checkrein_core::config::env;
use checkrein_server::{Config, Limits, Server, Traced, Traces, Transport, Watcher, Work};

use super::worker::{SeatArgs, Told};
use crate::commands::checkpoint::duration;
use crate::driving::interrupts;
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::session::{StorePlace, local_name, outside_attempt};
use crate::settings;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117")]
    listen: SocketAddr,
    /// Listen on an address that others can reach
    #[arg(long)]
    allow_remote: bool,
    /// A name the server is asked under, beside localhost; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Browsers reach it by https, through a proxy
    #[arg(long)]
    behind_tls: bool,
    /// How many requests a second one principal may send; 0 is no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 2000)]
    rate: u32,
    /// How long to go on answering after the signal to end, while /readyz says that it is ending
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    drain: Duration,
    /// Only answer requests; `checkrein worker` goes on with runs elsewhere
    #[arg(long)]
    no_worker: bool,
    /// How many runs go on at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    runs: u8,
    #[command(flatten)]
    seat: SeatArgs,
    #[command(flatten)]
    public_url: PublicUrl,
    #[command(flatten)]
    store: StorePlace,
}

/// Where people find this Checkrein in a browser.
#[derive(Clone, Debug, clap::Args)]
pub struct PublicUrl {
    /// Where people find the server in a browser; links in notifications begin with it
    #[arg(long, value_name = "URL", env = env::PUBLIC_URL, hide_env_values = true, value_parser = public_url)]
    public_url: Option<String>,
}

impl PublicUrl {
    pub fn get(&self) -> Option<String> {
        self.public_url.clone().filter(|url| !url.is_empty())
    }
}

fn public_url(text: &str) -> Result<String, String> {
    // A variable that is set to nothing is not set.
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    checkrein_engine::public_url(text)
        .ok_or_else(|| "expected an address such as https://checkrein.example.com".to_owned())
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a server cannot be started")?;
    let remote = !args.listen.ip().is_loopback();
    if remote && !args.allow_remote {
        return Err(CliError::usage(format!("others can reach `{}`", args.listen))
            .hint("say `--allow-remote` if they should, and put a proxy with TLS before it"));
    }
    let traces = Traces::start().map_err(CliError::usage)?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let engine =
        Arc::new(session.into_engine().with_public_url(args.public_url.get()).with_seat(args.seat.seat()));
    let answering = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answering = answering.map_err(|error| CliError::failed(format!("no runtime: {error}")))?;
    answering.block_on(async {
        let telling = traces.clone();
        let watcher: Watcher = Arc::new(move || Box::new(Traced::new(telling.clone(), Told::new())));
        let work = Work { runs: args.runs.into(), by: who, watcher };
        let config = Config {
            names: args.hosts.clone(),
            transport: if args.behind_tls { Transport::Tls } else { Transport::Plain },
            experts: Arc::new(settings::expert_files),
            limits: Limits { requests_max: args.rate, drain: args.drain, ..Limits::default() },
            work: Some(work).filter(|_| !args.no_worker),
            traces: traces.clone(),
            ..Config::new(args.listen)
        };
        let server = Server::bind(Arc::clone(&engine), config, interrupts()?).await;
        let server = server.map_err(|error| {
            CliError::failed(format!("`{}` cannot be listened on: {error}", args.listen))
                .hint("another server may run there; `--listen` takes another address")
        })?;
        let address = server.address().map_err(|error| CliError::failed(error.to_string()))?;
        note(format_args!("listens on http://{address}"));
        if remote && !args.behind_tls {
            warn("tokens travel in the clear; put a proxy with TLS before it, and say `--behind-tls`");
        }
        if !engine.has_administrator().await? {
            let secret = server.sign_in_link(&local_name());
            let base = args.public_url.get().unwrap_or_else(|| format!("http://{address}"));
            let base = base.trim_end_matches('/');
            note(format_args!(
                "nobody is an administrator yet; this link signs a browser in once, within the hour:\n  \
                 {base}/#sign-in={secret}\n  \
                 `checkrein token create --role admin` makes a token for programs"
            ));
        }
        server.run().await;
        Ok::<_, CliError>(())
    })?;
    if let Some(traces) = traces {
        traces.end();
    }
    note("ended");
    Ok(Output::text(""))
}
