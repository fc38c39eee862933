use std::time::Duration;

use checkrein_engine::{EngineError, Rest};

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

/// Holds time out without anybody doing something, so it looks around now and then.
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a worker cannot be started")?;
    let session = args.store.open()?;
    session.wait(work(args, &session))
}

async fn work(args: &Args, session: &Session) -> Result<Output, CliError> {
    let mut stop = interrupts()?;
    let who = session.principal_async().await?;
    let mut changes = session.engine.store().changes()?;
    note("waits for runs that can go on");
    let mut progress = Progress::Lines;
    while !*stop.borrow() {
        changes.borrow_and_update();
        for id in session.engine.ready_runs(&who).await? {
            if *stop.borrow() {
                break;
            }
            let mut driver = match session.engine.drive_run(&who, id.as_str(), &mut progress).await {
                Ok(driver) => driver,
                // Somebody else was faster.
                Err(EngineError::RunBusy(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            note(format_args!("run {id} goes on"));
            match driver.go(&stop, &mut progress).await {
                Ok(Rest::Held { checkpoint }) => note(format_args!("run {id} waits at {checkpoint}")),
                Ok(Rest::Ended) => note(format_args!("run {id} is {}", driver.view().run.state.status)),
                // One run that cannot go on does not keep the others from it.
                Err(error) => warn(format_args!("run {id}: {error}")),
            }
        }
        if args.once {
            break;
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
    Ok(Output::text(""))
}
