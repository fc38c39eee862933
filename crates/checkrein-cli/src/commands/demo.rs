mod stage;

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};

use checkrein_core::checkpoint::CheckpointStatus;
use serde_json::Value;
use stage::Stage;

use crate::error::{CliError, Exit};
use crate::output::{HEADING, Output};
use crate::{review, session};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let a scripted reviewer answer, as happens without a terminal
    #[arg(long)]
    yes: bool,
}

const TASK: &str = "Let greet.sh greet people by name";
const COMMENT: &str = "What happens without a name?";
const PLAN: &str = ".checkrein/job/plan.md";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reviewer {
    Person,
    Scripted,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    session::outside_attempt("a verdict cannot be given")?;
    let alone = args.yes || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal();
    let reviewer = if alone { Reviewer::Scripted } else { Reviewer::Person };
    let stage = Stage::new(match reviewer {
        Reviewer::Person => session::local_name(),
        Reviewer::Scripted => "scripted-reviewer".to_owned(),
    })?;
    tell(format_args!("{HEADING}An agent works, a person decides.{HEADING:#}\n\n"));
    tell("Everything happens in a throw-away directory, and nothing leaves this machine.\n");
    tell("The agent is a shell script; yours may be any coding agent you have.\n");
    if reviewer == Reviewer::Scripted {
        tell("A scripted reviewer plays the person; in a terminal you are asked yourself.\n");
    }
    play(&stage, reviewer)
}

/// From the job to its report.
fn play(stage: &Stage, reviewer: Reviewer) -> Result<Output, CliError> {
    heading("1. You give a job");
    stage.drive(&["job", TASK, "--agent", "cmd:../agent.sh"])?;
    tell("\nIt has made a plan, on a branch of its own, and waits: nothing is done before you agree.\n");

    heading("2. You look at the plan");
    let Some(review) = stage.review()? else { return Err(stage.lost()) };
    stage.show(&["review", &review.id, "--plain", "--file", PLAN])?;
    let review = match asked(stage, reviewer, review, &About::Plan)? {
        Asked::Approved(review) => review,
        Asked::Over(output) => return Ok(output),
    };

    heading("4. You approve, and it works");
    stage.show(&["approve", &review.id])?;
    stage.drive(&["resume", &review.run])?;
    let Some(review) = stage.review()? else { return Err(stage.lost()) };
    tell("\nThe work is merged on the job's own branch. Before it is yours, you look once more:\n\n");
    stage.show(&["review", &review.id, "--plain", "--stat"])?;
    let review = match asked(stage, reviewer, review, &About::Result)? {
        Asked::Approved(review) => review,
        Asked::Over(output) => return Ok(output),
    };
    stage.show(&["approve", &review.id])?;
    stage.drive(&["resume", &review.run])?;

    heading("5. It is yours, and everything is remembered");
    stage.git(&["log", "--oneline", &format!("checkrein/{}/result", review.run)])?;
    tell("\n");
    stage.show(&["report", &review.run])?;
    tell("\nIn your own repository: `checkrein job \"WHAT TO DO\" --agent claude`.\n");
    Ok(Output::text(""))
}

enum About {
    Plan,
    Result,
}

/// How a review ended.
enum Asked {
    Approved(Waiting),
    Over(Output),
}

/// Asks until there is an approval; the agent works on every change somebody wants.
fn asked(stage: &Stage, reviewer: Reviewer, mut review: Waiting, about: &About) -> Result<Asked, CliError> {
    let mut round = 1;
    loop {
        let answer = match (reviewer, about, round) {
            (Reviewer::Scripted, About::Plan, 1) => Answer::Comment(COMMENT.to_owned()),
            (Reviewer::Scripted, ..) => Answer::Approve,
            (Reviewer::Person, ..) => ask(stage, &review.id)?,
        };
        let text = match answer {
            Answer::Comment(text) => Some(text),
            Answer::Decided(CheckpointStatus::ChangesRequested) => None,
            Answer::Approve | Answer::Decided(CheckpointStatus::Approved) => {
                return Ok(Asked::Approved(review));
            }
            Answer::Reject(why) => {
                stage.show(&["reject", &review.id, "-m", &why])?;
                return Ok(Asked::Over(rejected()));
            }
            Answer::Decided(_) => return Ok(Asked::Over(rejected())),
            Answer::None => return Ok(Asked::Over(unanswered())),
        };
        match (about, round) {
            (About::Plan, 1) => heading("3. You ask for a change"),
            (About::Plan, _) => heading("3. You ask for another change"),
            (About::Result, _) => tell("\n"),
        }
        round += 1;
        if let Some(text) = text {
            let (option, said) = match about {
                About::Plan => ("--comment", format!("{PLAN}:3={text}")),
                About::Result => ("-m", text),
            };
            stage.show(&["request-changes", &review.id, option, &said])?;
        }
        stage.drive(&["resume", &review.run])?;
        let shown = match about {
            About::Plan => {
                tell("\nThe agent was given your comment with its file and line. ");
                &["--file", PLAN][..]
            }
            About::Result => {
                tell("\nThe agent was given your words. ");
                &[]
            }
        };
        tell(format_args!("Its round {round}:\n\n"));
        review = stage.review()?.ok_or_else(|| stage.lost())?;
        let changed = ["review", &review.id, "--plain", "--since-last-round"];
        stage.show(&[&changed, shown].concat())?;
    }
}

fn rejected() -> Output {
    tell("\nThe job is cancelled. Its branch is kept, and your repository is as it was.\n");
    Output::text("")
}

fn unanswered() -> Output {
    tell("\n\nNo answer is never a yes: the job waits, and nothing was merged.\n");
    Output::text("").exit(Exit::Held)
}

enum Answer {
    Approve,
    Comment(String),
    Reject(String),
    /// On the screen of the review.
    Decided(CheckpointStatus),
    /// Whoever was asked has left.
    None,
}

fn ask(stage: &Stage, id: &str) -> Result<Answer, CliError> {
    let words = |question: &str, otherwise: &str| -> Result<Option<String>, CliError> {
        tell(question);
        Ok(line()?.map(|text| if text.is_empty() { otherwise.to_owned() } else { text }))
    };
    loop {
        tell("\n[a]pprove, ask for a [c]hange, [r]eject or [l]ook at all of it? ");
        let Some(line) = line()? else { return Ok(Answer::None) };
        match line.to_lowercase().as_str() {
            "a" | "approve" => return Ok(Answer::Approve),
            "c" | "change" => {
                let asked = words(&format!("What should change? [{COMMENT}] "), COMMENT)?;
                return Ok(asked.map_or(Answer::None, Answer::Comment));
            }
            "r" | "reject" => {
                return Ok(words("Why? ", "no reason given")?.map_or(Answer::None, Answer::Reject));
            }
            "l" | "look" if !review::is_possible() => stage.show(&["review", id, "--plain"])?,
            "l" | "look" => {
                stage.open(&["review", id])?;
                match stage.status(id)? {
                    CheckpointStatus::Pending => {}
                    decided => return Ok(Answer::Decided(decided)),
                }
            }
            _ => tell("Type a, c, r or l, and Enter.\n"),
        }
    }
}

/// What the person typed; none if they have left.
fn line() -> Result<Option<String>, CliError> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|error| CliError::failed(format!("the terminal cannot be read: {error}")))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// What waits for the person.
struct Waiting {
    id: String,
    run: String,
}

impl Waiting {
    fn of(inbox: &Value) -> Option<Waiting> {
        let id = inbox.get(0)?.get("id")?.as_str()?.to_owned();
        let run = id.split('.').next()?.to_owned();
        Some(Waiting { id, run })
    }
}

fn heading(text: &str) {
    tell(format_args!("\n{HEADING}{text}{HEADING:#}\n\n"));
}

/// A story is told as it happens; a reader who has left misses nothing.
fn tell(text: impl Display) {
    let mut stdout = anstream::stdout().lock();
    let _ = write!(stdout, "{text}").and_then(|()| stdout.flush());
}
