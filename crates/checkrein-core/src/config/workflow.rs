//! Workflow files: phases in order, each with steps; hooks around them; an autonomy block.

mod chain;
mod check;
mod older;

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::decision::Handling;
use crate::document::{Document, Gravity, Problems, decode};
use crate::duration::Written;
use crate::label::Label;
use crate::policy::{Autonomy, Block, Layer, LayerRank, Origin};

/// A workflow file that was read.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub document: Arc<Document>,
    pub file: WorkflowFile,
    /// Whether it is a file of an older system, whose unknown words have a ruled meaning (W21).
    older: bool,
}

/// Phases in the order they are written; any names.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "workflow file")]
pub struct WorkflowFile {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    /// A workflow this one starts from.
    pub extends: Option<String>,
    /// Ids of inherited steps to leave out.
    pub skip_steps: Vec<String>,
    /// How far this workflow may go on its own.
    pub autonomy: Option<Autonomy>,
    /// The agent command that performs `agent:` steps.
    pub agent: Option<String>,
    /// Variables for every step and hook; `{placeholder}` is filled from the run's context.
    pub env: IndexMap<String, String>,
    /// Names of variables whose values are never shown or recorded.
    pub secrets: Vec<String>,
    /// Labels a worker must have to take up a run of it.
    pub requires: Vec<Label>,
    /// Where steps and hooks run, relative to the directory of the run.
    pub working_directory: Option<String>,
    /// What exceeding findings do, where a step or phase does not say.
    pub result_handling: Handling,
    pub phases: IndexMap<String, Phase>,
    /// Keyed `pre_build`, `post_build` and so on.
    pub hooks: IndexMap<String, Vec<Hook>>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phase {
    /// Whether it runs: yes, unless this file or the nearest one it extends says otherwise.
    pub enabled: Option<bool>,
    pub description: Option<String>,
    /// Added to inherited ones, after them.
    pub pre_steps: Vec<Step>,
    /// In place of inherited ones; an empty list inherits.
    pub steps: Vec<Step>,
    /// Added to inherited ones, before them.
    pub post_steps: Vec<Step>,
    /// What must hold at the end, for people and agents to read.
    pub validation: Option<Value>,
    /// How often this phase may send the run back to `build`: 3 for `evaluate`, else 0.
    pub max_retries: Option<u32>,
    /// The phase starts only after an approval.
    pub require_approval: bool,
    pub result_handling: Handling,
}

impl Phase {
    pub fn all_steps(&self) -> impl Iterator<Item = (&'static str, usize, &Step)> {
        let lists =
            [("pre_steps", &self.pre_steps), ("steps", &self.steps), ("post_steps", &self.post_steps)];
        lists
            .into_iter()
            .flat_map(|(list, steps)| steps.iter().enumerate().map(move |(i, step)| (list, i, step)))
    }
}

/// A unit of work: `run` is a shell command, `agent` a prompt for the configured agent, and in both a
/// `{placeholder}` is filled from the run's context. Files of an older system say `prompt`, `command`
/// or `skill` instead, and mean every brace as it stands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    pub id: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub run: Option<String>,
    pub agent: Option<String>,
    pub prompt: Option<String>,
    pub command: Option<String>,
    pub skill: Option<String>,
    /// Given to the agent with the prompt.
    pub config: Option<Value>,
    /// `{placeholder}` is filled from the run's context.
    pub arguments: IndexMap<String, String>,
    /// How long it may take.
    pub timeout: Option<Written>,
    /// How long it may be silent.
    pub idle_timeout: Option<Written>,
    /// Labels a worker must have for this step, such as `gpu`.
    pub requires: Vec<Label>,
    /// Variables, stronger than the workflow's.
    pub env: IndexMap<String, String>,
    /// Instead of the workflow's.
    pub working_directory: Option<String>,
    pub result_handling: Handling,
}

impl Step {
    fn does_something(&self) -> bool {
        let Step { run, agent, prompt, command, skill, description, .. } = self;
        [run, agent, prompt, command, skill, description].into_iter().any(Option::is_some)
    }

    /// What a person and the log call it: the id, or an older file's name.
    pub fn label(&self) -> Option<&str> {
        [&self.id, &self.name].into_iter().flatten().map(String::as_str).find(|name| !name.trim().is_empty())
    }
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hook {
    #[serde(rename = "type")]
    pub kind: Option<HookKind>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub run: Option<String>,
    pub path: Option<String>,
    pub skill: Option<String>,
    /// How long it may take: 5 minutes, if nothing is said.
    pub timeout: Option<Written>,
    /// How long it may be silent.
    pub idle_timeout: Option<Written>,
    /// Variables, stronger than the workflow's.
    pub env: IndexMap<String, String>,
    /// Instead of the workflow's.
    pub working_directory: Option<String>,
    /// An older word for `result_handling.on_failure`: `continue` or `warn`, `stop`, `fail` or `abort`.
    pub on_error: Option<String>,
    pub result_handling: Handling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookKind {
    Document,
    Script,
    Skill,
}

impl Workflow {
    /// A file that stands alone.
    pub fn read(document: &Arc<Document>) -> Result<(Workflow, Problems), Problems> {
        let (workflow, mut problems) = Workflow::read_part(document)?;
        if workflow.extends().is_none() {
            problems.extend(workflow.unknown_phases(&workflow.phase_names().collect::<Vec<_>>()));
        }
        problems.refuse_or(workflow)
    }

    /// One file of a chain: a phase it names may be in another one.
    fn read_part(document: &Arc<Document>) -> Result<(Workflow, Problems), Problems> {
        let older = older::is_older(document);
        let gravity = gravity_of_unknown(older);
        let (file, mut problems) = decode::<WorkflowFile>(document, gravity)?;
        let workflow = Workflow { document: Arc::clone(document), file, older };
        problems.extend(workflow.check());
        problems.refuse_or(workflow)
    }

    /// What a word nobody knows in this file is: an error, in a file of an older system a warning.
    pub(crate) const fn unknown(&self) -> Gravity {
        gravity_of_unknown(self.older)
    }

    /// What people call it: its id, else the name of its file.
    pub fn title(&self) -> &str {
        let name = self.document.name.as_str();
        let file = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(name);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
        self.file.id.as_deref().filter(|id| !id.trim().is_empty()).unwrap_or(stem)
    }

    pub(crate) fn phase_names(&self) -> impl Iterator<Item = &str> {
        self.file.phases.keys().map(String::as_str)
    }

    /// What this file alone contributes to its policy.
    pub fn layer(&self) -> Option<Layer> {
        let gated = self.file.phases.iter().filter(|(_, phase)| phase.require_approval);
        let gated_phases: Vec<String> = gated.map(|(name, _)| name.clone()).collect();
        let block = match &self.file.autonomy {
            None if gated_phases.is_empty() => return None,
            None => Block::default(),
            Some(autonomy) => Block::of(autonomy.clone()),
        };
        Some(Layer {
            rank: LayerRank::Definition,
            origin: Origin::within(&self.document, &["autonomy"]).older(self.older),
            block: Block { gated_phases, ..block },
        })
    }
}

const fn gravity_of_unknown(older: bool) -> Gravity {
    if older { Gravity::Warning } else { Gravity::Error }
}
