use checkrein_core::run::job::{FileMark, NewComment};
use checkrein_server::wire::review as wire;
use serde_json::{Value, json};

use super::verdict::{comment, next};
use crate::driving::{at_terminal, interrupts};
use crate::error::{CliError, note};
use crate::output::{Output, one_line};
use crate::remote::Remote;
use crate::review::plain::{self, Extent};
use crate::review::{self, Left, Review, Which};
use crate::session::{DeskPlace, Session, inside_attempt, outside_attempt};

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
    if let Some(remote) = args.store.remote()? {
        return args.there(&remote);
    }
    let place = args.store.here();
    if args.says_something() {
        let session = place.open()?;
        return args.say(&session);
    }
    let printed = args.plain || args.json || args.stat;
    if !printed && !inside_attempt() && at_terminal() && review::is_possible() {
        let session = place.open()?;
        return args.open(&session);
    }
    let session = place.open_to_read()?;
    args.show(&session)
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

    /// The same by a server. The screen needs a store.
    fn there(&self, remote: &Remote) -> Result<Output, CliError> {
        if self.says_something() {
            outside_attempt("a review cannot be commented on")?;
        }
        for new in self.comments.iter().chain(&self.replies) {
            let body = wire::CommentBody::from(new.clone());
            let said: wire::Comment = remote.post(&["checkpoints", &self.id, "comments"], &body)?;
            note(format_args!("comment {}", said.id));
        }
        for Mark { file, mark } in &self.marks {
            let body = json!({"file": file, "mark": wire::MarkWord::from(*mark)});
            let _: Value = remote.post(&["checkpoints", &self.id, "files"], &body)?;
        }
        for (comment, resolved) in self.threads() {
            let body = json!({"comment": comment, "resolved": resolved});
            let _: Value = remote.post(&["checkpoints", &self.id, "threads"], &body)?;
        }
        let told: wire::Review = remote.get(&["checkpoints", &self.id, "review"], &[])?;
        if self.json {
            return Output::json(&told);
        }
        self.shown(&Review::heard(&told))
    }

    fn show(&self, session: &Session) -> Result<Output, CliError> {
        let who = session.principal()?;
        let (reviewed, material) = session.wait(review::load(&session.engine, &who, &self.id))?;
        if self.json {
            return Output::json(&wire::Review::of(&reviewed, &material).here(&material));
        }
        self.shown(&Review::of(&reviewed, &material))
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
            return Err(CliError::conflict(format!("`{}` did not change here", one_line(file)))
                .hint(format!("`checkrein review {} --stat` lists what did", self.id)));
        }
        Ok(Output::paged(plain::render(review, &extent)))
    }

    fn open(&self, session: &Session) -> Result<Output, CliError> {
        let who = session.judge()?;
        let left = session.wait(async {
            let stop = interrupts()?;
            let start = (self.which(), self.file.as_deref());
            review::open(&session.engine, &who, &self.id, start, &stop).await
        })?;
        told(session, &left)
    }

    /// Comments, replies and marks of a script.
    fn say(&self, session: &Session) -> Result<Output, CliError> {
        let who = session.judge()?;
        let reviewed = session.wait(session.engine.review(&who, &self.id))?;
        let material = session.wait(session.engine.review_material(&who, &reviewed))?;
        let review = Review::of(&reviewed, &material);
        if !review.open {
            return Err(CliError::conflict(format!("review `{}` is {}", review.id, review.status))
                .hint("`checkrein inbox` shows what waits"));
        }
        let id = reviewed.checkpoint.checkpoint.id.as_str();
        let changed = |file: &str| review.files.iter().any(|known| known.path == file);
        // All or nothing: a name that is wrong is found before anything is said.
        if let Some(unknown) = self.marks.iter().find(|mark| !changed(&mark.file)) {
            return Err(CliError::conflict(format!("`{}` did not change here", one_line(&unknown.file)))
                .hint(format!("`checkrein review {id} --stat` lists what did")));
        }
        session.wait(session.engine.check_comments(&reviewed.view, &self.comments))?;
        let mut out = String::new();
        for new in self.comments.iter().chain(&self.replies) {
            let comment = session.wait(session.engine.comment(&who, id, new.clone(), None))?;
            out.push_str(&format!("{}\n", comment.id));
        }
        for Mark { file, mark } in &self.marks {
            session.wait(session.engine.mark_file(&who, id, file, *mark, None))?;
            out.push_str(&format!("{} {}\n", mark.map_or("none", FileMark::name), one_line(file)));
        }
        for (comment, resolved) in self.threads() {
            session.wait(session.engine.resolve_thread(&who, id, comment, resolved))?;
            out.push_str(&format!("{} {}\n", if resolved { "settled" } else { "open" }, one_line(comment)));
        }
        note(format_args!("`checkrein request-changes {id} -m WHAT` hands the comments to the agent"));
        if self.json {
            return self.show(session);
        }
        Ok(Output::text(out))
    }
}

/// What a person did on the screen, and what comes next.
fn told(session: &Session, left: &Left) -> Result<Output, CliError> {
    let mut out: String = left.done.iter().map(|done| format!("{done}\n")).collect();
    if let Some(checkpoint) = &left.verdict {
        out.push_str(&format!("{} {}\n", checkpoint.status, checkpoint.id));
        next(session, &session.principal()?, checkpoint);
    }
    Ok(Output::text(out))
}
