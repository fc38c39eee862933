use checkrein_core::run::{Run, RunEvent, RunId};
use checkrein_engine::{EngineError, Rest, Shift, Watch, WatchWork};
use jiff::Timestamp;

use crate::driving::interrupts;
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::progress::Progress;
use crate::session::{Session, StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Go on with what is ready now, then end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a worker cannot be started")?;
    let session = args.store.open()?;
    session.wait(work(args, &session))
}

async fn work(args: &Args, session: &Session) -> Result<Output, CliError> {
    let stop = interrupts()?;
    let who = session.principal_async().await?;
    note("waits for runs that can go on");
    let shift = if args.once { Shift::Once } else { Shift::UntilStopped };
    session.engine.work(&who, shift, &stop, &mut Told::new()).await?;
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
            Rest::Ended => note(format_args!("run {} is {}", run.id, run.state.status)),
        }
    }

    fn failed(&mut self, run: &RunId, error: &EngineError) {
        warn(format_args!("run {run}: {error}"));
    }
}
