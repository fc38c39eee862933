use std::sync::Arc;

use checkrein_core::label::Label;
use checkrein_core::run::{Run, RunEvent, RunId};
use checkrein_engine::{EngineError, Rest, Seat, Shift, Watch, WatchWork};
use checkrein_server::{Traced, Traces, Watcher, Work, Workers};
use jiff::Timestamp;

use super::serve::PublicUrl;
use super::workers::label;
use crate::driving::interrupts;
use crate::error::{CliError, note, warn};
use crate::output::{Output, one_line};
use crate::progress::Progress;
use crate::session::{Session, StorePlace, outside_attempt, runtime};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Go on with what is ready now, one run after the other, then end
    #[arg(long)]
    once: bool,
    /// How many runs go on at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    runs: u8,
    #[command(flatten)]
    seat: SeatArgs,
    #[command(flatten)]
    public_url: PublicUrl,
    #[command(flatten)]
    store: StorePlace,
}

/// Who this is among those that go on with runs.
#[derive(Clone, Debug, clap::Args)]
pub struct SeatArgs {
    /// Something this worker has that runs may require, such as gpu; may be given several times
    #[arg(long = "label", value_name = "LABEL", value_parser = label)]
    labels: Vec<Label>,
    /// What it is called in `checkrein workers` [default: the host and the number of the process]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl SeatArgs {
    pub fn seat(&self) -> Seat {
        let name = self.name.as_deref().map(one_line).filter(|name| !name.trim().is_empty());
        Seat { name, labels: self.labels.iter().map(ToString::to_string).collect() }
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a worker cannot be started")?;
    let traces = Traces::start().map_err(CliError::usage)?;
    let mut session = args.store.open()?;
    session.engine = session.engine.with_public_url(args.public_url.get()).with_seat(args.seat.seat());
    let worked =
        if args.once { once(&session, traces.clone()) } else { go_on(args, session, traces.clone()) };
    if let Some(traces) = traces {
        traces.end();
    }
    worked
}

fn once(session: &Session, traces: Option<Traces>) -> Result<Output, CliError> {
    let stop = session.wait(async { interrupts() })?;
    let worked = session.wait(async {
        let who = session.principal_async().await?;
        let mut watch = Traced::new(traces, Told::new());
        Ok::<_, CliError>(session.engine.work_once(&who, &stop, &mut watch).await?)
    });
    // What comes of the runs is told as well.
    session.wait(session.engine.deliver(Shift::Once, &stop, &|text| warn(text)));
    worked.map(|()| Output::text(""))
}

fn go_on(args: &Args, session: Session, traces: Option<Traces>) -> Result<Output, CliError> {
    let who = session.principal()?;
    let engine = Arc::new(session.into_engine());
    let watcher: Watcher = Arc::new(move || Box::new(Traced::new(traces.clone(), Told::new())));
    let work = Work { runs: args.runs.into(), by: who, watcher };
    runtime()?.block_on(async {
        let mut stop = interrupts()?;
        note("waits for runs that can go on");
        let workers = Workers::start(engine, work, stop.clone())
            .map_err(|error| CliError::failed(format!("no thread: {error}")))?;
        // It ends when somebody wants it to.
        let _ = stop.wait_for(|stop| *stop).await;
        let _ = tokio::task::spawn_blocking(move || workers.join()).await;
        Ok(Output::text(""))
    })
}

/// Says on stderr what a worker does.
pub struct Told(Progress);

impl Told {
    pub fn new() -> Told {
        Told(Progress::Lines)
    }
}

impl Watch for Told {
    fn event(&mut self, run: &Run, seq: u64, at: Timestamp, event: &RunEvent) {
        self.0.event(run, seq, at, event);
    }

    fn warn(&mut self, text: String) {
        self.0.warn(text);
    }
}

impl WatchWork for Told {
    fn goes_on(&mut self, run: &RunId) {
        note(format_args!("run {run} goes on"));
    }

    fn rests(&mut self, run: &Run, rest: &Rest) {
        match rest {
            Rest::Held { checkpoint } => note(format_args!("run {} waits at {checkpoint}", run.id)),
            Rest::Troubled { text } => {
                note(format_args!("run {} waits for its forge: {}", run.id, one_line(text)));
            }
            Rest::Elsewhere { labels } => {
                note(format_args!("run {} waits for a worker that has {}", run.id, labels.join(", ")));
            }
            Rest::Ended => note(format_args!("run {} is {}", run.id, run.state.status)),
        }
    }

    fn failed(&mut self, run: &RunId, error: &EngineError) {
        warn(format_args!("run {run}: {error}"));
    }
}
