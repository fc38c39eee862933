//! Finds a workflow file and all it extends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_core::config::Workflow;
use checkrein_core::document::{Document, Gravity, Problems};

use crate::error::CliError;
use crate::files;

/// The workflow, what it extends, and so on to the root; and what is odd about them.
pub fn chain(path: &Path) -> Result<(Vec<Workflow>, Problems), CliError> {
    let mut here = path.to_owned();
    let document = files::document(path)?;
    let found = Workflow::chain(&document, |workflow, name| {
        here = beside(&here, workflow, name)?;
        Ok(files::document(&here)?)
    });
    Ok(found?)
}

/// The file another one names: as it stands, or with an ending it leaves out.
fn beside(path: &Path, workflow: &Workflow, name: &str) -> Result<PathBuf, Problems> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let endings = ["", ".yaml", ".yml", ".json", ".toml"];
    let mut candidates = endings.iter().map(|ending| directory.join(format!("{name}{ending}")));
    let found = candidates.find(|candidate| candidate.is_file());
    // One name for each file, so that a circle is seen.
    let found = found.map(|found| std::fs::canonicalize(&found).unwrap_or(found));
    found.ok_or_else(|| missing(&workflow.document, directory, name))
}

fn missing(document: &Arc<Document>, directory: &Path, name: &str) -> Problems {
    let problem = document.problem(Gravity::Error, &["extends"], format!("there is no workflow `{name}`"));
    let place = files::shown(directory);
    let place = if place.is_empty() { "this directory".to_owned() } else { format!("`{place}`") };
    problem.hint(format!("it is looked for in {place}, with or without .yaml, .json or .toml")).into()
}
