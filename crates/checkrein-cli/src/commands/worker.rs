use checkrein_core::run::{Run, RunEvent, RunId};
use checkrein_engine::{EngineError, Rest, Shift, Watch, WatchWork};
use checkrein_server::{Traced, Traces};
use jiff::Timestamp;
use tokio::sync::watch;

use super::serve::PublicUrl;
use crate::driving::interrupts;
use crate::error::{CliError, note, warn};
use crate::output::{Output, one_line};
use crate::progress::Progress;
use crate::session::{Session, StorePlace, outside_attempt, runtime};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Go on with what is ready now, then end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    public_url: PublicUrl,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a worker cannot be started")?;
    let traces = Traces::start().map_err(CliError::usage)?;
    let mut session = args.store.open()?;
    session.engine = session.engine.with_public_url(args.public_url.get());
    // On a thread of their own: what a run waits for must not keep notifications waiting.
    let telling = runtime()?;
    let (end, ended) = watch::channel(false);
    let worked = std::thread::scope(|scope| {
        let engine = &session.engine;
        let deliver = move || telling.block_on(engine.deliver(shift(args), &ended, &|text| warn(text)));
        if args.once {
            // What comes of the runs is told as well.
            let worked = session.wait(work(args, &session, traces.clone()));
            deliver();
            return worked;
        }
        scope.spawn(deliver);
        let worked = session.wait(work(args, &session, traces.clone()));
        let _ = end.send(true);
        worked
    });
    if let Some(traces) = traces {
        traces.end();
    }
    worked
}

fn shift(args: &Args) -> Shift {
    if args.once { Shift::Once } else { Shift::UntilStopped }
}

async fn work(args: &Args, session: &Session, traces: Option<Traces>) -> Result<Output, CliError> {
    let stop = interrupts()?;
    let who = session.principal_async().await?;
    note("waits for runs that can go on");
    let mut watch = Traced::new(traces, Told::new());
    session.engine.work(&who, shift(args), &stop, &mut watch).await?;
    Ok(Output::text(""))
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
            Rest::Ended => note(format_args!("run {} is {}", run.id, run.state.status)),
        }
    }

    fn failed(&mut self, run: &RunId, error: &EngineError) {
        warn(format_args!("run {run}: {error}"));
    }
}
