//! What supervises the attempts of runs in tests, and what an agent's process is; elsewhere the program itself does both.

use std::path::Path;
use std::process::ExitCode;

use checkrein_engine::process;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match (words.next(), words.next()) {
        (Some(word), _) if word == process::SANDBOX => process::sandbox(std::env::args_os().skip(2)),
        (Some(word), _) if word == process::SANDBOXED => process::sandboxed(std::env::args_os().skip(2)),
        (Some(word), Some(task)) if word == checkrein_agent::HOST => checkrein_agent::host(Path::new(&task)),
        (_, Some(lock)) => process::supervise(Path::new(&lock), None),
        (_, None) => ExitCode::FAILURE,
    }
}
