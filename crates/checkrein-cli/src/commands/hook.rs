//! `checkrein hook`: what a client calls while an agent works in it. Whatever goes wrong, the client goes on.

use std::io::{IsTerminal, Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use checkrein_core::principal::Role;
use checkrein_engine::{Client, HookAnswer};

use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{StorePlace, local};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The client that calls: claude-code or opencode
    #[arg(value_parser = client)]
    client: Client,
    #[command(flatten)]
    store: StorePlace,
}

/// An event is larger only where a tool said very much; then it says nothing here.
const EVENT_BYTES_MAX: u64 = 16 << 20;
/// Longer than this no client is kept waiting.
const PATIENCE: Duration = Duration::from_secs(4);

pub fn client(text: &str) -> Result<Client, String> {
    let known = Client::ALL.into_iter().find(|client| client.name() == text);
    known.ok_or_else(|| format!("expected one of {}", Client::ALL.map(Client::name).join(", ")))
}

pub fn run(args: Args) -> Result<Output, CliError> {
    if std::io::stdin().is_terminal() {
        return Err(CliError::usage("this is called by a client, with an event on standard input")
            .hint(format!("`checkrein init --client {}` installs it", args.client.name())));
    }
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = tell.send(answer(&args));
    });
    let text = match told.recv_timeout(PATIENCE) {
        Ok(Ok(HookAnswer(Some(answer)))) => format!("{answer}\n"),
        Ok(Ok(HookAnswer(None))) => String::new(),
        Ok(Err(error)) => {
            note(format_args!("frames go on without this event: {}", error.words()));
            String::new()
        }
        Err(_) => {
            note("frames go on without this event: it took too long");
            String::new()
        }
    };
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(Output::text(""))
}

fn answer(args: &Args) -> Result<HookAnswer, CliError> {
    let mut event = Vec::new();
    let read = std::io::stdin().lock().take(EVENT_BYTES_MAX).read_to_end(&mut event);
    read.map_err(|error| CliError::failed(format!("the event cannot be read: {error}")))?;
    let session = args.store.open()?;
    // The person's own machine speaks here, for an agent.
    let by = local(Role::Agent);
    Ok(session.wait(session.engine.hook(&by, args.client, &event))?)
}
