//! Checkrein on the command line: parse, call one method, render.

mod commands;
mod error;
mod files;
mod output;
mod settings;

use std::process::ExitCode;

/// Does what the arguments say.
pub fn run() -> ExitCode {
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
