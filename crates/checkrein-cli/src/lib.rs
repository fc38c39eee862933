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
mod review;
mod session;
mod settings;
mod workflow;

use std::path::Path;
use std::process::ExitCode;

use checkrein_engine::process;

/// Does what the arguments say.
pub fn run() -> ExitCode {
    // An engine starts its supervisor this way; it is no command for people and has to start fast.
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(first), Some(lock)) = (arguments.next(), arguments.next())
        && first == process::SUPERVISE
    {
        return process::supervise(Path::new(&lock));
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

/// The command line itself, for the reference in the docs.
pub fn command() -> clap::Command {
    commands::command()
}
