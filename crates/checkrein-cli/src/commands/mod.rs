//! The commands, one file each: arguments (their doc comments are the help) and one function.

mod approve;
mod cancel;
mod chat;
mod checkpoint;
mod completions;
mod config;
mod demo;
mod doctor;
mod expert;
mod frame;
mod hook;
mod inbox;
mod init;
mod job;
mod level;
mod log;
mod mcp;
mod message;
mod pause;
mod policy;
mod reject;
pub mod report;
mod request_changes;
mod rerun;
mod resume;
mod review;
mod run;
mod runs;
mod search;
mod serve;
mod show;
mod store;
mod token;
mod verdict;
mod webhook;
mod worker;
mod workers;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::error::{CliError, Exit};
use crate::output::Output;

/// Decides how far an AI agent may go on its own, holds its work for a person at the right moments, and remembers everything.
///
/// Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 usage or config error, 3 held and waiting for a person, 4 stopped by policy or limit, 5 rejected, 6 not found or conflict, 7 paused: it can be resumed.
#[derive(Debug, Parser)]
#[command(name = "checkrein", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See it work in a minute: an agent plans, you look and ask for changes, it works, the result is yours
    ///
    /// Runs in a throw-away directory with a store of its own. Needs no key and no network.
    Demo(demo::Args),
    /// Settings and a first workflow for this directory, or the hooks of a client
    Init(init::Args),
    /// Run a workflow: it goes on by itself, and asks when it matters
    ///
    /// Without a terminal it never waits for an answer: it holds, says how to answer, and ends with exit code 3.
    Run(run::Args),
    /// Give an agent a job: it plans, works on branches, and waits for review where its level says so
    ///
    /// Without a terminal it never waits for an answer: it holds, says how to answer, and ends with exit code 3.
    Job(job::Args),
    /// Change how far the agent of a job may go, from its next boundary on
    Level(level::Args),
    /// Go on with a run that was held, paused, stopped or lost
    Resume(resume::Args),
    /// Do the work of a run again, as a new run
    Rerun(rerun::Args),
    /// End a run for good
    #[command(alias = "stop")]
    Cancel(cancel::Args),
    /// End what runs in a run for now; it goes on when it is resumed
    Pause(pause::Args),
    /// Say something to the agent of a job, which it hears while it works
    Message(message::Args),
    /// All runs, the newest first
    Runs(runs::Args),
    /// A run and everything that happened in it
    Show(show::Args),
    /// What the steps of a run wrote
    Log(log::Args),
    /// What a run found, and what can be done about it
    Report(report::Args),
    /// Go on with runs as soon as they are answered, and tell webhooks what happens
    Worker(worker::Args),
    /// Who goes on with runs, what they have, and how many runs wait
    Workers(workers::Args),
    /// The same over HTTP, for programs and a team, with a worker
    ///
    /// Listens on this machine alone unless told otherwise. Every request needs a token, made by `checkrein token create`. Ends on an interrupt: requests are answered, runs under way are paused. Tells webhooks what happens.
    Serve(serve::Args),
    /// The same as an MCP server on standard input and output, for an agent or a client of yours
    ///
    /// Started by the client, never by hand. It gives no verdicts. Inside the attempt of a job it works on what the attempt was given, and needs no store. `checkrein serve` has the same at /mcp.
    Mcp(mcp::Args),
    /// Everything that waits for a person, oldest first
    Inbox(inbox::Args),
    /// Look at what a job waits with, comment, and decide
    ///
    /// In a terminal it opens on the whole screen; `?` shows the keys. Elsewhere, and with `--plain`, it is printed. Comments and marks of a program need a reviewer's token, as verdicts do.
    Review(review::Args),
    /// Search the workspace a job was last held with, by words and by meaning
    ///
    /// Markdown files, the archive, todos and uploaded documents. Works offline: the model that knows meanings is part of the program. What it has not read yet is found by its words.
    Search(search::Args),
    /// Ask about a job, and have corrections drafted; without a job, prepare one
    ///
    /// The companion reads the job it is asked about and nothing else. It proposes changes and comments, which you apply or discard, and it gives no verdicts. The model is the one `companion` in your own settings names; without one, a question is answered with what a search finds.
    Chat(chat::Args),
    /// Approve what waits
    Approve(approve::Args),
    /// Reject what waits, and say why
    Reject(reject::Args),
    /// Ask for changes to what waits, and say which
    RequestChanges(request_changes::Args),
    /// Experts: reusable configurations of jobs
    #[command(subcommand)]
    Expert(expert::Command),
    /// Approval points for workers and scripts
    #[command(subcommand)]
    Checkpoint(checkpoint::Command),
    /// Ask what the policy is, why, and what it would decide
    #[command(subcommand)]
    Policy(policy::Command),
    /// Frames: the tree of goals of an agent's session, and when to push and pop
    #[command(subcommand)]
    Frame(frame::Command),
    /// Called by a client such as Claude Code while an agent works in it
    ///
    /// Takes an event on standard input and says what the model should read. Whatever goes wrong, the client goes on: it always ends with exit code 0.
    Hook(hook::Args),
    /// Schemas and variables of the settings
    #[command(subcommand)]
    Config(config::Command),
    /// Tokens by which programs prove who they act for
    #[command(subcommand)]
    Token(token::Command),
    /// Webhooks, Slack and mail that are told what happens
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Back up, check, move and clean the store
    #[command(subcommand)]
    Store(store::Command),
    /// Check what Checkrein needs here, and say what to do
    ///
    /// Exit code 1 if something is broken.
    Doctor(doctor::Args),
    /// Completions for a shell
    Completions(completions::Args),
}

/// Reads the arguments; help, version and mistakes are answered right here.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|answer| {
        let _ = answer.print();
        if answer.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
    })
}

pub fn command() -> clap::Command {
    Cli::command()
}

impl Cli {
    pub fn run(self) -> Result<Output, CliError> {
        match self.command {
            Command::Demo(args) => demo::run(&args),
            Command::Init(args) => init::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Job(args) => job::run(&args),
            Command::Level(args) => level::run(&args),
            Command::Expert(command) => command.run(),
            Command::Resume(args) => resume::run(&args),
            Command::Rerun(args) => rerun::run(&args),
            Command::Cancel(args) => cancel::run(&args),
            Command::Pause(args) => pause::run(&args),
            Command::Message(args) => message::run(&args),
            Command::Runs(args) => runs::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Log(args) => log::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Worker(args) => worker::run(&args),
            Command::Workers(args) => workers::run(&args),
            Command::Serve(args) => serve::run(&args),
            Command::Mcp(args) => mcp::run(&args),
            Command::Inbox(args) => inbox::run(&args),
            Command::Review(args) => review::run(&args),
            Command::Search(args) => search::run(&args),
            Command::Chat(args) => chat::run(&args),
            Command::Approve(args) => approve::run(&args),
            Command::Reject(args) => reject::run(&args),
            Command::RequestChanges(args) => request_changes::run(&args),
            Command::Checkpoint(command) => command.run(),
            Command::Token(command) => command.run(),
            Command::Webhook(command) => command.run(),
            Command::Store(command) => command.run(),
            Command::Doctor(args) => doctor::run(&args),
            Command::Policy(command) => command.run(),
            Command::Frame(command) => command.run(),
            Command::Hook(args) => hook::run(args),
            Command::Config(command) => command.run(),
            Command::Completions(args) => completions::run(&args, &mut command()),
        }
    }
}
