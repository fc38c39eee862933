//! Offers the fixes a run proposes, one after the other, to the person at the terminal.

use std::path::Path;

use checkrein_core::report::{Remedy, Report};
use checkrein_core::run::Choice;
use checkrein_engine::Driver;
use tokio::sync::watch;

use crate::error::{CliError, say};
use crate::output::{harmless, one_line};
use crate::progress::Progress;
use crate::prompt::{Chosen, choose, line};

/// So much of what a fix wrote is shown; all of it is kept.
const OUTPUT_LINES_MAX: usize = 20;

/// Asks until everything is settled or the person has had enough; what is left then is recorded as skipped, and
/// listed for later.
pub async fn offer(
    driver: &mut Driver<'_>,
    report: Report,
    list_first: bool,
    stop: &watch::Receiver<bool>,
    progress: &mut Progress,
) -> Result<(), CliError> {
    let mut remedies = report.remedies.clone();
    let skip = report.skip_remaining().unwrap_or_else(|| "Skip remaining".to_owned());
    let last = remedies.len() + 1;
    // What was skipped before is offered again.
    let mut open: Vec<bool> = remedies.iter().map(|remedy| !done(remedy.choice)).collect();
    // A report that was just shown lists them already, if it has the last choice too.
    if list_first || report.skip_remaining().is_none() {
        say(&list(&remedies, &skip));
    }
    while open.contains(&true) {
        let question = format!("\nEnter choice (1-{last}) or 'done' to finish: ");
        let Some(answer) = line(&question, stop).await else { break };
        let answer = answer.trim().to_lowercase();
        let number = answer.parse::<usize>().ok();
        if answer == "done" || answer == "d" || number == Some(last) {
            // One that was tried and failed stays so.
            for remedy in remedies.iter_mut().filter(|remedy| remedy.choice.is_none()) {
                driver.note_remedy(remedy, Choice::Skipped, progress).await?;
                remedy.choice = Some(Choice::Skipped);
            }
            break;
        }
        let index = number.and_then(|number| number.checked_sub(1)).unwrap_or(usize::MAX);
        match (remedies.get_mut(index), open.get_mut(index)) {
            (Some(remedy), Some(open)) => {
                if let Some(choice) = one(driver, remedy, stop, progress).await? {
                    remedy.choice = Some(choice);
                    *open = !done(remedy.choice) && choice != Choice::Skipped;
                }
            }
            _ => say(&list(&remedies, &skip)),
        }
    }
    let left: Vec<&Remedy> =
        remedies.iter().filter(|remedy| remedy.choice != Some(Choice::Applied)).collect();
    if !left.is_empty() {
        let mut text = "\nFor follow-up:\n".to_owned();
        for remedy in left {
            let how =
                remedy.command.as_ref().or(remedy.file.as_ref()).map(|how| format!(" · {}", one_line(how)));
            text.push_str(&format!("  - {}{}\n", one_line(&remedy.title()), how.unwrap_or_default()));
        }
        say(&text);
    }
    Ok(())
}

/// A fix that failed may be tried again.
fn done(choice: Option<Choice>) -> bool {
    matches!(choice, Some(Choice::Applied | Choice::Opened))
}

/// What became of one; none where the person went back.
async fn one(
    driver: &mut Driver<'_>,
    remedy: &Remedy,
    stop: &watch::Receiver<bool>,
    progress: &mut Progress,
) -> Result<Option<Choice>, CliError> {
    let mut text = format!("\n{}\n", one_line(&remedy.title()));
    if one_line(&remedy.description) != one_line(&remedy.title()) {
        text.push_str(&format!("  {}\n", one_line(&remedy.description)));
    }
    // Every line is shown, and nothing in it commands the terminal: what is approved is what is run.
    if let Some(command) = &remedy.command {
        text.push_str("  Command:\n");
        harmless(command).lines().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    if let Some(file) = &remedy.file {
        text.push_str(&format!("  File: {}\n", one_line(file)));
    }
    say(&text);
    let mut options = Vec::new();
    if remedy.command.is_some() {
        options.push(("Run the command", Choice::Applied));
    }
    if remedy.file.is_some() {
        options.push(("Open the file", Choice::Opened));
    }
    options.push(("Skip it", Choice::Skipped));
    let labels: Vec<&str> = options.iter().map(|(label, _)| *label).chain(["Back"]).collect();
    let Chosen::Option(number) = choose("What now?", &labels, stop).await else { return Ok(None) };
    let Some((_, choice)) = number.checked_sub(1).and_then(|index| options.get(index)) else {
        return Ok(None);
    };
    let became = match choice {
        Choice::Applied | Choice::Failed => {
            let (choice, output) = driver.apply_remedy(remedy, stop, progress).await?;
            say(&format!("{}{}\n{}\n", tail(&output.stdout), tail(&output.stderr), choice.name()));
            choice
        }
        Choice::Opened => {
            if !open(driver, remedy) {
                return Ok(None);
            }
            driver.note_remedy(remedy, Choice::Opened, progress).await?;
            Choice::Opened
        }
        Choice::Skipped => {
            driver.note_remedy(remedy, Choice::Skipped, progress).await?;
            Choice::Skipped
        }
    };
    Ok(Some(became))
}

/// Opens a file where the person edits; the editor is theirs, the name of the file is an argument.
fn open(driver: &Driver<'_>, remedy: &Remedy) -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let root = Path::new(&driver.view().run.definition.directory);
    let file = root.join(remedy.file.as_deref().unwrap_or_default());
    let opened = checkrein_engine::edit(&editor, &file, root);
    match opened {
        Ok(()) => true,
        Err(error) => {
            say(&format!("`{}` cannot be opened with `{}`: {error}\n", file.display(), one_line(&editor)));
            false
        }
    }
}

fn list(remedies: &[Remedy], skip: &str) -> String {
    let mut text = "\n".to_owned();
    for (number, remedy) in (1..).zip(remedies) {
        let became = remedy.choice.map(|choice| format!(" ({})", choice.name())).unwrap_or_default();
        text.push_str(&format!("  [{number}] {}{became}\n", one_line(&remedy.title())));
    }
    text.push_str(&format!("  [{}] {skip}\n", remedies.len() + 1));
    text
}

/// The last lines of what a fix wrote.
fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(OUTPUT_LINES_MAX));
    shown.map(|line| format!("  | {}\n", harmless(line))).collect()
}
