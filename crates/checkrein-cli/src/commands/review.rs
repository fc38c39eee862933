use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::run::job::{FileMark, NewComment};

use super::verdict::{comment, next_of_job};
use crate::driving::{at_terminal, interrupts};
use crate::error::{CliError, note};
use crate::output::{Output, one_line};
use crate::review::plain::{self, Extent};
use crate::review::{self, Review, Side, Which, unchanged};
use crate::session::{DeskPlace, inside_attempt, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint, or the job that waits at it
    id: String,
    /// Print it, even in a terminal
    #[arg(long)]
    plain: bool,
    /// Only this file
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only the list of files
    #[arg(long, conflicts_with = "file")]
    stat: bool,
    /// Only what changed since the last round
    #[arg(long)]
    since_last_round: bool,
    /// The job's documents in full, in any phase; a plan is always shown with its review
    #[arg(long)]
    artefacts: bool,
    /// Add a comment, on the whole where no file is named; may be given several times
    #[arg(long = "comment", value_name = "FILE:LINE=TEXT", value_parser = comment, allow_hyphen_values = true)]
    comments: Vec<NewComment>,
    /// Reply to a comment; may be given several times
    #[arg(long = "reply", value_name = "ID=TEXT", value_parser = reply, allow_hyphen_values = true)]
    replies: Vec<NewComment>,
    /// Say that the thread of a comment is settled; may be given several times
    #[arg(long = "resolve", value_name = "ID")]
    resolved: Vec<String>,
    /// Say that the thread of a comment is open again; may be given several times
    #[arg(long = "reopen", value_name = "ID")]
    reopened: Vec<String>,
    /// Say of a file that it is `approved`, has `changes_requested`, or `none` of both; may be given several times
    #[arg(long = "mark", value_name = "FILE=MARK", value_parser = mark, allow_hyphen_values = true)]
    marks: Vec<Mark>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

#[derive(Clone, Debug)]
struct Mark {
    file: String,
    mark: Option<FileMark>,
}

fn reply(text: &str) -> Result<NewComment, String> {
    match text.split_once('=') {
        Some((id, text)) if !id.trim().is_empty() && !text.trim().is_empty() => Ok(NewComment {
            text: text.to_owned(),
            reply_to: Some(id.trim().to_owned()),
            ..NewComment::default()
        }),
        _ => Err("expected ID=TEXT, such as c1=done".to_owned()),
    }
}

fn mark(text: &str) -> Result<Mark, String> {
    let (file, word) = text.rsplit_once('=').unwrap_or((text, ""));
    let mark = match word {
        "approved" => Some(FileMark::Approved),
        "changes_requested" | "changes-requested" => Some(FileMark::ChangesRequested),
        "none" => None,
        _ => return Err("expected FILE=approved, FILE=changes_requested or FILE=none".to_owned()),
    };
    if file.is_empty() {
        Err("a mark needs a file".to_owned())
    } else {
        Ok(Mark { file: file.to_owned(), mark })
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let screen = !args.plain && !args.json && !args.stat && !inside_attempt() && at_terminal();
    let screen = screen && !args.says_something() && review::is_possible();
    if let Some(remote) = args.store.remote()? {
        if args.says_something() {
            outside_attempt("a review cannot be commented on")?;
        }
        return remote.wait(args.look(Side::There(&remote), screen));
    }
    let place = args.store.here();
    let (session, judges) = match screen || args.says_something() {
        true => (place.open_if_there()?, true),
        false => (place.open_to_read()?, false),
    };
    let who = if judges { session.judge()? } else { session.principal()? };
    session.wait(args.look(Side::Here { engine: &session.engine, by: &who }, screen))
}

impl Args {
    const fn says_something(&self) -> bool {
        !self.comments.is_empty()
            || !self.replies.is_empty()
            || !self.marks.is_empty()
            || !self.resolved.is_empty()
            || !self.reopened.is_empty()
    }

    /// Threads, and whether each is settled.
    fn threads(&self) -> impl Iterator<Item = (&String, bool)> {
        let settled = self.resolved.iter().map(|id| (id, true));
        settled.chain(self.reopened.iter().map(|id| (id, false)))
    }

    const fn which(&self) -> Which {
        if self.since_last_round { Which::SinceLastRound } else { Which::Whole }
    }

    async fn look(&self, side: Side<'_>, screen: bool) -> Result<Output, CliError> {
        if screen {
            return self.open(side).await;
        }
        if self.says_something() {
            let said = self.say(side).await?;
            if !self.json {
                return Ok(Output::text(said));
            }
        }
        let told = side.told(&self.id).await?;
        if self.json {
            return Output::json(&told);
        }
        self.shown(&Review::of(told))
    }

    fn shown(&self, review: &Review) -> Result<Output, CliError> {
        if self.since_last_round && review.since.is_none() {
            return Ok(Output::text("There was no round before.\n"));
        }
        let extent = Extent {
            file: self.file.as_deref(),
            stat: self.stat,
            artefacts: self.artefacts,
            which: self.which(),
        };
        if let Some(file) = &self.file
            && !review.files_of(extent.which).iter().any(|known| known.path == *file)
        {
            return Err(unchanged(file, &self.id));
        }
        Ok(Output::paged(plain::render(review, &extent)))
    }

    async fn open(&self, side: Side<'_>) -> Result<Output, CliError> {
        let stop = interrupts()?;
        let left = review::open(side, &self.id, (self.which(), self.file.as_deref()), &stop).await?;
        let mut out: String = left.done.iter().map(|done| format!("{done}\n")).collect();
        if let Some(decided) = &left.verdict {
            out.push_str(&format!("{} {}\n", decided.status, one_line(&decided.id)));
            // A server goes on by itself.
            if matches!(side, Side::Here { .. }) {
                next_of_job(&decided.run, decided.status);
            }
        }
        Ok(Output::text(out))
    }

    /// Comments, replies and marks of a script. Gives what was done, one line each.
    async fn say(&self, side: Side<'_>) -> Result<String, CliError> {
        let told = side.told(&self.id).await?;
        let id = told.id.as_str();
        if !told.open || told.status != CheckpointStatus::Pending {
            return Err(CliError::conflict(format!("review `{}` is {}", one_line(id), told.status))
                .hint("`checkrein inbox` shows what waits"));
        }
        // All or nothing: a name that is wrong is found before anything is said.
        let changed = |file: &str| told.diff.files.iter().any(|known| known.path == file);
        if let Some(unknown) = self.marks.iter().find(|mark| !changed(&mark.file)) {
            return Err(unchanged(&unknown.file, id));
        }
        side.check(&told, &self.comments).await?;
        let mut out = String::new();
        for new in self.comments.iter().chain(&self.replies) {
            let comment = side.comment(id, new.clone()).await?;
            out.push_str(&format!("{}\n", one_line(&comment)));
        }
        for Mark { file, mark } in &self.marks {
            side.mark(id, file, *mark, &told.head).await?;
            out.push_str(&format!("{} {}\n", mark.map_or("none", FileMark::name), one_line(file)));
        }
        for (comment, resolved) in self.threads() {
            side.settle(id, comment, resolved).await?;
            out.push_str(&format!("{} {}\n", if resolved { "settled" } else { "open" }, one_line(comment)));
        }
        note(format_args!("`checkrein request-changes {id} -m WHAT` hands the comments to the agent"));
        Ok(out)
    }
}
