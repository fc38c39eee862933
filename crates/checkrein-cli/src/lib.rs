//! Checkrein on the command line: parse, call one method, render.

mod commands;
mod driving;
mod error;
mod files;
mod output;
mod pager;
mod progress;
mod prompt;
mod remedies;
mod remote;
mod review;
mod session;
mod settings;
mod workflow;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use checkrein_engine::process;

/// Does what the arguments say.
pub fn run() -> ExitCode {
    if let Some(exit) = as_a_process(std::env::args_os().skip(1)) {
        return exit;
    }
    let command = match commands::parse() {
        Ok(command) => command,
        Err(exit) => return exit,
    };
    match command.run() {
        Ok(output) => output.print(),
        Err(error) => error.report(),
    }
}

/// An engine starts its supervisor and its sandboxes this way; they are no commands for people and have to
/// start fast.
fn as_a_process(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match arguments.next()?.to_str()? {
        process::SUPERVISE => {
            let lock = arguments.next()?;
            let silent = arguments.next().and_then(|ms| ms.to_str()?.parse().ok()).map(Duration::from_millis);
            Some(process::supervise(Path::new(&lock), silent))
        }
        process::SANDBOX => Some(process::sandbox(arguments)),
        process::SANDBOXED => Some(process::sandboxed(arguments)),
        checkrein_engine::HOST => Some(checkrein_engine::host(Path::new(&arguments.next()?))),
        _ => None,
    }
}

/// The command line itself, for the reference in the docs.
pub fn command() -> clap::Command {
    commands::command()
}
