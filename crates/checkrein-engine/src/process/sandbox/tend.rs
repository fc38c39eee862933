//! Waiting for a child the way a first process has to: collecting whatever ends, and passing signals on.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use signal_hook::iterator::Signals;

use super::error::SandboxError;
use crate::process::attempt::Exit;
use crate::process::running::exit;

/// What is passed on. What cannot be caught need not be: it takes everything with it.
const PASSED_ON: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// From here on signals wait until the child is tended.
pub(super) fn listen() -> Result<Signals, SandboxError> {
    let numbers = PASSED_ON.iter().chain(&[Signal::CHILD]).map(|signal| signal.as_raw());
    Signals::new(numbers).map_err(SandboxError::failed("no signals can be caught"))
}

/// Until the child has ended. INVARIANT: `pass_on` is not called once it was collected, so its number is
/// nobody else's.
pub(super) fn tend(signals: &mut Signals, child: Pid, pass_on: impl Fn(Signal)) -> Exit {
    loop {
        for number in signals.wait() {
            match Signal::from_named_raw(number) {
                Some(Signal::CHILD) => {
                    if let Some(exit) = collect(child) {
                        return exit;
                    }
                }
                Some(signal) => pass_on(signal),
                None => {}
            }
        }
    }
}

fn collect(child: Pid) -> Option<Exit> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => return exit(status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return None,
            // There is nothing left that could be waited for.
            Err(_) => return Some(Exit::Code(1)),
        }
    }
}
