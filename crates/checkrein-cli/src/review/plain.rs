//! A review as text: in colours on a terminal, a plain unified diff elsewhere.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use checkrein_core::boundary::PhaseKind;

use super::content::{self, Ink, Row, Which};
use super::model::Review;
use crate::output::count;

/// How much of it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// One file alone.
    pub file: Option<&'a str>,
    /// The list of files alone.
    pub stat: bool,
    /// The job's documents in any phase.
    pub artefacts: bool,
    pub which: Which,
}

impl Extent<'_> {
    pub const WHOLE: Extent<'static> =
        Extent { file: None, stat: false, artefacts: false, which: Which::Whole };
}

pub fn render(review: &Review, extent: &Extent<'_>) -> String {
    let mut out = String::new();
    if extent.stat {
        rows(&mut out, &content::stat(review, extent.which));
        return out;
    }
    let files: Vec<_> = review
        .files_of(extent.which)
        .iter()
        .filter(|file| extent.file.is_none_or(|wanted| file.path == wanted))
        .collect();
    let in_full = |name: &str| extent.artefacts || is_plan(review, name);
    if extent.file.is_none() {
        heading(&mut out, &format!("Review {}", review.id));
        rows(&mut out, &content::overview(review));
        section(&mut out, "Conflict", &content::conflict(review));
        let documents = content::artefacts(review, in_full);
        if !documents.is_empty() {
            out.push('\n');
            rows(&mut out, &documents);
        }
        section(&mut out, "Commits", &content::commits(review));
        section(&mut out, &title(review, extent.which), &content::stat(review, extent.which));
    }
    for file in files {
        if !out.is_empty() {
            out.push('\n');
        }
        row(&mut out, &content::file_heading(file));
        // What is new and stands above in full is not repeated, unless somebody spoke about a line of it.
        let above = extent.file.is_none()
            && file.word == "added"
            && in_full(&file.name)
            && review.artefacts.iter().any(|(name, _)| *name == file.name);
        if above && review.comments_of(&file.path) == 0 {
            row(&mut out, &Row::new(Ink::Faint, "(new, see above)"));
        } else {
            rows(&mut out, &content::file(review, file));
        }
    }
    if extent.file.is_none() {
        section(&mut out, "Conversation", &content::conversation(review));
        section(&mut out, "To answer", &content::how_to_answer(review));
    }
    out
}

/// What a person at a prompt sees before they are asked.
pub fn brief(review: &Review) -> String {
    let mut out = String::from("\n");
    rows(&mut out, &content::overview(review));
    section(&mut out, &title(review, Which::Whole), &content::stat(review, Which::Whole));
    out
}

/// A plan that is reviewed is read as a whole.
fn is_plan(review: &Review, name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or(name);
    review.kind == PhaseKind::Strategic && matches!(own, "plan.md" | "todos.yaml")
}

fn title(review: &Review, which: Which) -> String {
    let files = review.files_of(which);
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let since = match (which, &review.since) {
        (Which::SinceLastRound, Some(_)) => " since the last round",
        _ => "",
    };
    format!("{}{since}, +{added} -{removed}", count(files.len() as u64, "file"))
}

fn heading(out: &mut String, text: &str) {
    row(out, &Row::new(Ink::Heading, text));
}

fn section(out: &mut String, name: &str, content: &[Row]) {
    if !content.is_empty() {
        out.push('\n');
        heading(out, name);
        rows(out, content);
    }
}

fn rows(out: &mut String, all: &[Row]) {
    all.iter().for_each(|one| row(out, one));
}

fn row(out: &mut String, row: &Row) {
    for (ink, text) in &row.pieces {
        let style = style(*ink);
        let _ = write!(out, "{style}{text}{style:#}");
    }
    out.push('\n');
}

fn style(ink: Ink) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match ink {
        Ink::Plain => Style::new(),
        Ink::Faint => Style::new().dimmed(),
        Ink::Heading => Style::new().bold(),
        Ink::Hunk => colour(AnsiColor::Cyan),
        Ink::Added => colour(AnsiColor::Green),
        Ink::AddedWord => colour(AnsiColor::Green).bold().invert(),
        Ink::Removed => colour(AnsiColor::Red),
        Ink::RemovedWord => colour(AnsiColor::Red).bold().invert(),
        Ink::Person => colour(AnsiColor::Yellow).bold(),
        Ink::Agent => colour(AnsiColor::Magenta),
        Ink::Warning => colour(AnsiColor::Yellow),
    }
}
