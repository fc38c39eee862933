//! Whose a file is, and what counts in the user's own alone.
//!
//! A repository comes from anybody. Whatever says which program runs, where something is sent and which variables it
//! is handed would let its author have the user's secrets, so a project that says so is refused.

use super::checkrein::CheckreinFile;
use super::expert::ExpertFile;
use crate::document::{Document, Gravity, Problem, Problems};
use crate::policy::Setting;

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// In the user's own configuration directory, or given by them.
    User,
    /// It came with a repository.
    Project,
}

/// Where a project keeps its experts.
const EXPERTS: &str = ".checkrein/experts/";

impl Owner {
    /// Whose an expert's file is, by its place.
    pub fn of_expert(path: &str) -> Owner {
        if path.replace('\\', "/").contains(EXPERTS) { Owner::Project } else { Owner::User }
    }
}

/// Keys of checkrein.yaml a project has no say in, and what they would let it do.
const SETTINGS: &[(&str, &str)] = &[
    ("models", "it names addresses and the variables their keys are in"),
    ("search", "it names an address that what a job holds is sent to"),
    ("companion", "it names addresses that what a job holds is sent to"),
    ("store", "it says where verdicts are kept"),
    ("forge", "it says where a token is sent and whose verdicts count"),
    ("sandbox", "it could switch the sandbox off"),
    ("machine", "it says what this machine is for"),
];

/// Keys of one agent, likewise.
const AGENT: &[(&str, &str)] = &[
    ("command", "it is a command that runs as you"),
    ("output", "it goes with `command`"),
    ("program", "it is a program that runs as you"),
    ("args", "they can aim the program elsewhere"),
    ("environment", "it hands out your variables"),
    ("permissions", "it says what an agent may do on your machine"),
    ("commands", "it says which commands may run on your machine"),
];

impl CheckreinFile {
    /// What counts in the user's own settings alone.
    pub(super) fn of_user_alone(&self) -> Problems {
        let mut problems = Problems::default();
        let said = |path: &[&str]| {
            let mut node = Some(&self.document.root);
            for segment in path {
                node = node.and_then(|node| node.get(segment));
            }
            node.is_some()
        };
        for (key, why) in SETTINGS.iter().filter(|(key, _)| said(&[key])) {
            problems.push(refused(&self.document, &[key], why));
        }
        for name in self.shape.agents.keys() {
            for (key, why) in AGENT.iter().filter(|(key, _)| said(&["agents", name, key])) {
                problems.push(refused(&self.document, &["agents", name, key], why));
            }
        }
        problems
    }
}

impl ExpertFile {
    /// What counts in an expert of the user's own alone. That `agent` names one the user knows is seen where it is used.
    pub(super) fn of_user_alone(&self) -> Problems {
        let mut problems = Problems::default();
        if self.shape.environment.set().is_some_and(|names| !names.is_empty()) {
            problems.push(refused(&self.document, &["environment"], "it hands out your variables"));
        }
        if matches!(self.shape.sandbox, Setting::Set(false) | Setting::Clear) {
            problems.push(refused(&self.document, &["sandbox"], "it opens the sandbox"));
        }
        problems
    }
}

fn refused(document: &Document, path: &[&str], why: &str) -> Problem {
    let key = path.last().copied().unwrap_or_default();
    let message = format!("a project does not set `{key}`: {why}");
    document.problem(Gravity::Error, path, message).hint(
        "put it into your own settings below `~/.config/checkrein/`; see docs/configuration.md#whose-settings",
    )
}
