//! `checkrein frame`

mod activate;
mod add_artifact;
mod add_decision;
mod config;
mod context;
mod details;
mod edit;
mod feedback;
mod flame;
mod ignore;
mod invalidate;
mod log;
mod plan;
mod plan_children;
mod pop;
mod push;
mod resume;
mod sessions;
mod should_pop;
mod should_push;
mod stats;
mod status;
mod suggestions;
mod summarize;
mod tree;
mod tune;
mod undo;

use std::sync::Arc;

use checkrein_core::config::env;
use checkrein_core::document::{Document, Format, Gravity, decode};
use checkrein_core::frame::{FrameAnswer, FrameCommand, FrameConfig, FrameConfigPatch, PopStatus};
use checkrein_engine::SessionWanted;
use checkrein_store::StoreAddress;
use serde::de::DeserializeOwned;

use crate::error::{CliError, warn};
use crate::files;
use crate::output::{Output, harmless};
use crate::session::{Desk, DeskPlace};
use crate::settings::ProjectPlace;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Begin a frame below the current one, or the first of a session
    Push(push::Args),
    /// Fold the current frame into its summary and return to its parent
    Pop(pop::Args),
    /// Note a frame for later
    Plan(plan::Args),
    /// Note several frames for later
    PlanChildren(plan_children::Args),
    /// Give a planned frame another goal
    Edit(edit::Args),
    /// Go to work in a planned, blocked or left frame
    Activate(activate::Args),
    /// Take up the frame again that was blocked or left last
    Resume(resume::Args),
    /// Withdraw a frame and what is planned below it
    Invalidate(invalidate::Args),
    /// Say what is worth knowing of a frame, without ending it
    Summarize(summarize::Args),
    /// Note what the current frame produced
    AddArtifact(add_artifact::Args),
    /// Note what was decided in the current frame
    AddDecision(add_decision::Args),
    /// Take the latest move back, also one that was made automatically
    Undo(Args),
    /// All frames of a session
    Tree(Args),
    /// Where a session stands
    Status(Args),
    /// A frame with all that is known of it
    Details(FrameArgs),
    /// The log of a frame
    Log(FrameArgs),
    /// What an agent is shown of a frame and its relatives
    Context(context::Args),
    /// The tree as a flame graph, as SVG
    Flame(flame::Args),
    /// Sessions of this directory, the newest first
    Sessions(sessions::Args),
    /// Pushes and pops that are suggested
    Suggestions(suggestions::Args),
    /// Turn a suggestion down
    Ignore(ignore::Args),
    /// Say whether a suggestion was of use
    Feedback(feedback::Args),
    /// What became of the suggestions, and how often each heuristic was right
    Stats(stats::Args),
    /// Show or change the settings of a session
    Config(config::Args),
    /// Propose better thresholds and weights, from what became of the suggestions
    Tune(tune::Args),
    /// Should a child frame be pushed? Reads a JSON request from standard input
    ///
    /// What the request leaves out is taken from the session, where there is one and the request has no `frame`.
    ShouldPush(Args),
    /// Should the current frame be popped? Reads a JSON request from standard input
    ///
    /// What the request leaves out is taken from the session, where there is one and the request has no `frame`.
    ShouldPop(Args),
}

/// What is asked of a session and needs nothing more.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
}

/// What is asked of a frame.
#[derive(Debug, clap::Args)]
pub struct FrameArgs {
    /// The frame [default: the current one]
    frame: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// The session that is meant, and how it is answered.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// The session [default: $CHECKREIN_SESSION, the one that was active last in this directory]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Push(args) => push::run(&args),
            Command::Pop(args) => pop::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::PlanChildren(args) => plan_children::run(&args),
            Command::Edit(args) => edit::run(&args),
            Command::Activate(args) => activate::run(&args),
            Command::Resume(args) => resume::run(&args),
            Command::Invalidate(args) => invalidate::run(&args),
            Command::Summarize(args) => summarize::run(&args),
            Command::AddArtifact(args) => add_artifact::run(&args),
            Command::AddDecision(args) => add_decision::run(&args),
            Command::Undo(args) => undo::run(&args),
            Command::Tree(args) => tree::run(&args),
            Command::Status(args) => status::run(&args),
            Command::Details(args) => details::run(&args),
            Command::Log(args) => log::run(&args),
            Command::Context(args) => context::run(&args),
            Command::Flame(args) => flame::run(&args),
            Command::Sessions(args) => sessions::run(&args),
            Command::Suggestions(args) => suggestions::run(&args),
            Command::Ignore(args) => ignore::run(&args),
            Command::Feedback(args) => feedback::run(&args),
            Command::Stats(args) => stats::run(&args),
            Command::Config(args) => config::run(&args),
            Command::Tune(args) => tune::run(&args),
            Command::ShouldPush(args) => should_push::run(&args),
            Command::ShouldPop(args) => should_pop::run(&args),
        }
    }
}

impl Place {
    /// Asks it of the session, and shows the answer.
    fn ask(&self, command: &FrameCommand) -> Result<Output, CliError> {
        let answer = self.answer(command)?;
        answer.warnings.iter().for_each(warn);
        if self.json {
            let mut value = serde_json::to_value(&answer).map_err(|error| {
                CliError::failed(format!("the answer cannot be written as JSON: {error}"))
            })?;
            if let Some(fields) = value.as_object_mut() {
                fields.remove("text");
            }
            return Output::json(&value);
        }
        Ok(Output::text(harmless(&answer.text)))
    }

    fn answer(&self, command: &FrameCommand) -> Result<FrameAnswer, CliError> {
        let desk = match (command.begins(), command.changes()) {
            (true, _) => self.store.desk()?,
            (false, true) => self.store.desk_if_there()?,
            (false, false) => self.desk_to_read()?,
        };
        match desk {
            Desk::Here(session) => {
                let who = session.principal()?;
                Ok(session.wait(session.engine.frames(&who, &self.wanted(), command))?)
            }
            Desk::There(remote) => remote.post(&["frames", &self.named(), "moves"], command),
        }
    }

    fn desk_to_read(&self) -> Result<Desk, CliError> {
        self.store.desk_to_read()
    }

    /// The session by name, or `-` for the one that was changed last.
    fn named(&self) -> String {
        self.wanted().id.unwrap_or_else(|| "-".to_owned())
    }

    fn wanted(&self) -> SessionWanted {
        let set = || std::env::var(env::SESSION).ok().filter(|name| !name.trim().is_empty());
        SessionWanted { id: self.session.clone().or_else(set), directory: here() }
    }

    /// Whether there may be a session: asking must not make a store.
    fn may_have_session(&self) -> Result<bool, CliError> {
        if self.store.remote()?.is_some() {
            return Ok(true);
        }
        Ok(match self.store.here().address()? {
            StoreAddress::Sqlite(path) => path.exists(),
            // Whoever named a server has one.
            StoreAddress::Postgres(_) => true,
        })
    }

    /// What the session says to a question; none where there is no such session.
    fn of_session(&self, command: &FrameCommand) -> Result<Option<FrameAnswer>, CliError> {
        if !self.may_have_session()? {
            return Ok(None);
        }
        match self.answer(&FrameCommand::Status {}) {
            Ok(status) if status.current.is_some() => self.answer(command).map(Some),
            _ => Ok(None),
        }
    }
}

/// Where the agent works.
fn here() -> Option<String> {
    std::env::current_dir().ok().map(|path| path.display().to_string())
}

fn pop_status(text: &str) -> Result<PopStatus, String> {
    let known = [PopStatus::Completed, PopStatus::Failed, PopStatus::Blocked];
    known
        .into_iter()
        .find(|status| status.to_string() == text)
        .ok_or_else(|| "expected completed, failed or blocked".to_owned())
}

fn request<T: DeserializeOwned>() -> Result<T, CliError> {
    let text = files::stdin("a request")?;
    let document = Arc::new(Document::parse("request", &text, Format::Json)?);
    Ok(decode(&document, Gravity::Error).map(|(request, _)| request)?)
}

/// The settings in force; those of the request are the strongest.
fn config(args: &Args, patch: Option<&FrameConfigPatch>) -> Result<FrameConfig, CliError> {
    let project: &ProjectPlace = args.place.store.here().project();
    let (mut config, mut warnings) = project.load()?.frames();
    if let Some(patch) = patch {
        warnings.extend(config.apply(patch));
    }
    warnings.iter().for_each(warn);
    Ok(config)
}
