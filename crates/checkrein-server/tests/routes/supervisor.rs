//! What supervises the attempts of runs in tests; elsewhere the program itself does.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(2) {
        Some(lock) => checkrein_engine::process::supervise(Path::new(&lock), None),
        None => ExitCode::FAILURE,
    }
}
