//! What a review is about, and everything beside the files.

use checkrein_core::run::job::Todo;

use super::super::model::{CommitShown, FileShown, Review};
use super::{Ink, Row, Which, lines, thread};
use crate::output::{count, quoted};

pub fn overview(review: &Review) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut line = |name: &str, text: String| {
        let row = Row::new(Ink::Faint, format!("{name:<9}")).and(Ink::Plain, text);
        rows.push(Row { hang: 9, ..row });
    };
    line("job", review.run.clone());
    line("phase", format!("{}, round {}", review.phase, review.round));
    line("level", review.level.clone());
    line("status", review.status.to_string());
    review.because.iter().for_each(|reason| line("because", reason.clone()));
    review.forge.iter().for_each(|text| line("forge", text.clone()));
    line("branch", review.branch.clone());
    let (base, head) = (short(&review.base), short(&review.head));
    line("commits", format!("{base}..{head}, {}", count(review.commits.len() as u64, "commit")));
    line("digest", review.digest.to_string());
    line("clone", format!("git clone -b {} {}", quoted(&review.branch), quoted(&review.repository)));
    if review.open {
        line("", "commit there and `git push` to add work of your own".to_owned());
    }
    let mut warn = |text: String| rows.push(Row::new(Ink::Warning, text));
    if review.open && review.moved {
        warn("Somebody pushed since it was opened; an approval has to name the digest.".to_owned());
    }
    if review.unchanged {
        warn("No change since last round.".to_owned());
    }
    if review.files.is_empty() {
        warn("Nothing changed in this phase.".to_owned());
    }
    if let Some(not_shown) = review.told_not_shown() {
        warn(format!("{not_shown} Approving it has to be confirmed."));
    }
    if let Some(conflict) = &review.conflict {
        let files: Vec<&str> = conflict.files.iter().map(|(file, _)| file.as_str()).collect();
        warn(format!("Conflict in {}", files.join(", ")));
    }
    let protected: Vec<&str> =
        review.files.iter().filter(|file| file.protected).map(|file| file.name.as_str()).collect();
    if !protected.is_empty() {
        warn(format!("Protected: {}", protected.join(", ")));
    }
    section(&mut rows, "Job", lines(Ink::Plain, "  ", review.description.trim_end()).collect());
    section(&mut rows, "Summary", lines(Ink::Plain, "  ", review.summary.trim_end()).collect());
    let found = review.findings.iter().map(|text| Row::new(Ink::Warning, format!("  {text}")));
    section(&mut rows, "Findings", found.collect());
    section(&mut rows, "Todos", review.todos.iter().map(todo).collect());
    section(&mut rows, "Next", review.next_todos.iter().map(todo).collect());
    let deliverables = review.deliverables.iter().map(|text| Row::new(Ink::Plain, format!("  {text}")));
    section(&mut rows, "Deliverables", deliverables.collect());
    let mut says = Vec::new();
    says.extend(review.confidence.map(|number| Row::new(Ink::Plain, format!("  confidence {number}"))));
    says.extend(review.milestone.as_ref().map(|name| Row::new(Ink::Plain, format!("  milestone {name}"))));
    section(&mut rows, "The agent says", says);
    rows
}

/// A heading and what is under it; nothing where nothing is.
fn section(rows: &mut Vec<Row>, name: &str, content: Vec<Row>) {
    if !content.is_empty() {
        rows.push(Row::blank());
        rows.push(Row::new(Ink::Heading, name).stop());
        rows.extend(content);
    }
}

fn todo(todo: &Todo) -> Row {
    let done = if todo.done { "x" } else { " " };
    Row::new(Ink::Plain, format!("  [{done}] {}. {}", todo.id, todo.content))
}

/// The files with what is known of each.
pub fn stat(review: &Review, which: Which) -> Vec<Row> {
    let files = review.files_of(which);
    let widest = files.iter().map(|file| count_of(file).len()).max().unwrap_or(0);
    files
        .iter()
        .map(|file| {
            let counts = count_of(file);
            let mut row = Row::new(Ink::Faint, format!("{} {counts:>widest$}  ", file.letter()));
            row = row.and(Ink::Plain, file.name.clone());
            if let Some(from) = &file.from {
                row = row.and(Ink::Faint, format!(" from {from}"));
            }
            if let Some(nature) = &file.nature {
                row = row.and(Ink::Warning, format!("  {nature}"));
            }
            if let Some(mark) = file.mark {
                row = row.and(Ink::Person, format!("  {}", mark.name().replace('_', " ")));
            }
            if file.mark_lapsed {
                row = row.and(Ink::Warning, "  no longer approved: it has changed since");
            }
            if file.protected {
                row = row.and(Ink::Warning, "  protected");
            }
            match review.comments_of(&file.path) {
                0 => row,
                comments => row.and(Ink::Faint, format!("  {}", count(comments as u64, "comment"))),
            }
        })
        .collect()
}

fn count_of(file: &FileShown) -> String {
    format!("+{} -{}", file.added, file.removed)
}

/// The job's own documents, in full.
pub fn artefacts(review: &Review, wanted: impl Fn(&str) -> bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (name, text) in review.artefacts.iter().filter(|(name, _)| wanted(name)) {
        if !rows.is_empty() {
            rows.push(Row::blank());
        }
        rows.push(Row::new(Ink::Heading, name.clone()).stop());
        rows.extend(lines(Ink::Plain, "  ", text));
    }
    rows
}

/// Oldest first; a person's own stand out.
pub fn commits(review: &Review) -> Vec<Row> {
    let row = |commit: &CommitShown| {
        let at = jiff::Timestamp::from_second(commit.at_seconds);
        let at = at.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        let row = Row::new(Ink::Faint, format!("{} {at} ", short(&commit.id)));
        let by = if commit.human { Ink::Person } else { Ink::Faint };
        let who =
            if commit.human { format!("{} (person) ", commit.author) } else { format!("{} ", commit.author) };
        row.and(by, who).and(Ink::Plain, commit.title.clone())
    };
    review.commits.iter().map(row).collect()
}

/// Comments on the whole, and those whose file is not shown.
pub fn conversation(review: &Review) -> Vec<Row> {
    let mut rows = Vec::new();
    for one in review.conversation() {
        let line = one.line.or(one.was_at).map(|line| format!(":{line}")).unwrap_or_default();
        let place = one.file.as_ref().map(|file| format!("{}{line}", crate::output::one_line(file)));
        rows.extend(thread(one, place));
    }
    rows
}

/// What does not fit, with both sides.
pub fn conflict(review: &Review) -> Vec<Row> {
    let Some(conflict) = &review.conflict else { return Vec::new() };
    let mut rows: Vec<Row> =
        conflict.messages.iter().map(|message| Row::new(Ink::Warning, message.clone())).collect();
    if let Some(branch) = &conflict.kept_on {
        rows.push(Row::new(Ink::Plain, format!("The agent's work is on branch {branch}.")));
    }
    if let Some(base) = &conflict.base {
        let moved = format!("Branch {base} changed the same lines since the job began. Nothing was merged.");
        rows.push(Row::new(Ink::Plain, moved));
    }
    for (name, both) in &conflict.files {
        rows.push(Row::blank());
        rows.push(Row::new(Ink::Heading, name.clone()).stop());
        match both {
            Some(text) => rows.extend(text.lines().map(marked)),
            None => rows.push(Row::new(Ink::Faint, "  (nothing to show)")),
        }
    }
    rows.push(Row::blank());
    let how = match &conflict.base {
        Some(base) => format!(
            "Merge branch {base} into {}, commit, and approve again; or request changes: then the agent does it.",
            review.branch
        ),
        None => "Push a commit that settles it, or request changes: then the agent does.".to_owned(),
    };
    rows.push(Row::new(Ink::Plain, how));
    rows
}

fn marked(line: &str) -> Row {
    let marker = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|sign| line.starts_with(sign));
    Row::new(if marker { Ink::Warning } else { Ink::Plain }, format!("  {line}"))
}

/// For whoever reads this outside of the screen.
pub fn how_to_answer(review: &Review) -> Vec<Row> {
    if !review.open {
        return Vec::new();
    }
    let id = quoted(&review.id);
    let confirm = if review.doubts().is_empty() { "" } else { " --confirm" };
    let rows = [
        format!("checkrein approve {id} --digest {}{confirm}", review.digest),
        format!("checkrein request-changes {id} -m WHAT [--comment FILE:LINE=TEXT]… [--start-over]"),
        format!("checkrein reject {id} -m WHY"),
    ];
    rows.map(|text| Row::new(Ink::Plain, text)).into()
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
