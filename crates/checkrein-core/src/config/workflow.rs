//! Workflow files: phases in order, each with steps; hooks around them; an autonomy block.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::decision::{Handling, StepOrHook};
use crate::document::{self, Document, Format, Gravity, Node, Problem, Problems, decode};
use crate::duration::Written;
use crate::policy::{Autonomy, Block, Layer, LayerRank, Origin};

/// A workflow file that was read.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub document: Arc<Document>,
    pub file: WorkflowFile,
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
    /// Variables for every step.
    pub env: IndexMap<String, String>,
    /// Where steps run, relative to this file.
    pub working_directory: Option<String>,
    /// What exceeding findings do, where a step or phase does not say.
    pub result_handling: Handling,
    pub phases: IndexMap<String, Phase>,
    /// Keyed `pre_build`, `post_build` and so on.
    pub hooks: IndexMap<String, Vec<Hook>>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phase {
    pub enabled: bool,
    pub description: Option<String>,
    pub pre_steps: Vec<Step>,
    pub steps: Vec<Step>,
    pub post_steps: Vec<Step>,
    /// What must hold at the end, for people and agents to read.
    pub validation: Option<Value>,
    /// How often this phase may send the run back to `build`.
    pub max_retries: Option<u32>,
    /// The phase starts only after an approval.
    pub require_approval: bool,
    pub result_handling: Handling,
}

impl Default for Phase {
    fn default() -> Phase {
        Phase {
            enabled: true,
            description: None,
            pre_steps: Vec::new(),
            steps: Vec::new(),
            post_steps: Vec::new(),
            validation: None,
            max_retries: None,
            require_approval: false,
            result_handling: Handling::default(),
        }
    }
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

/// A unit of work: `run` is a shell command, `agent` a prompt for the configured agent. Files of an
/// older system say `prompt`, `command` or `skill` instead.
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
    pub config: Option<Value>,
    /// `{placeholder}` is filled from the run's context.
    pub arguments: IndexMap<String, String>,
    pub timeout: Option<Written>,
    pub env: IndexMap<String, String>,
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
        self.id.as_deref().or(self.name.as_deref())
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
    pub timeout: Option<Written>,
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
    pub fn read(document: &Arc<Document>) -> Result<(Workflow, Problems), Problems> {
        let unknown_keys = if is_older(document) { Gravity::Warning } else { Gravity::Error };
        let (file, mut problems) = decode::<WorkflowFile>(document, unknown_keys)?;
        let workflow = Workflow { document: Arc::clone(document), file };
        problems.extend(workflow.check(unknown_keys));
        problems.refuse_or(workflow)
    }

    /// What this file contributes to its policy.
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
            origin: Origin::within(&self.document, &["autonomy"]),
            block: Block { gated_phases, ..block },
        })
    }

    /// What the shape alone cannot tell. An older file's steps may say what to do in words of its own.
    fn check(&self, unknown_keys: Gravity) -> Problems {
        let mut problems = Problems::default();
        let mut say = |gravity, path: &[&str], message: String, hint: Option<String>| {
            let problem = Problem { gravity, ..Problem::error(&self.document.name, message) };
            let mut problem = problem.at(Some(self.document.position(path))).path(self.document.path(path));
            problem.hint = hint;
            problems.push(problem);
        };
        if let Some(ignored) = self.file.result_handling.ignored(StepOrHook::Step) {
            say(Gravity::Warning, &["result_handling", "on_failure"], ignored.to_owned(), None);
        }
        for (name, phase) in &self.file.phases {
            if let Some(ignored) = phase.result_handling.ignored(StepOrHook::Step) {
                let path = ["phases", name, "result_handling", "on_failure"];
                say(Gravity::Warning, &path, ignored.to_owned(), None);
            }
            let mut ids: Vec<&str> = Vec::new();
            for (list, index, step) in phase.all_steps() {
                let index = index.to_string();
                let path = ["phases", name.as_str(), list, index.as_str()];
                match step.label() {
                    Some(id) if ids.contains(&id) => {
                        say(
                            Gravity::Error,
                            &path,
                            format!("step id `{id}` is used twice in phase `{name}`"),
                            None,
                        );
                    }
                    Some(id) => ids.push(id),
                    None => {
                        let hint = Some("give it an `id`".to_owned());
                        say(Gravity::Error, &path, "a step has no id".to_owned(), hint);
                    }
                }
                if unknown_keys == Gravity::Error && !step.does_something() {
                    let hint = Some("give it a `run` command or an `agent` prompt".to_owned());
                    say(Gravity::Error, &path, "a step says nothing to do".to_owned(), hint);
                }
                if let Some(ignored) = step.result_handling.ignored(StepOrHook::Step) {
                    let path: Vec<&str> =
                        path.iter().copied().chain(["result_handling", "on_failure"]).collect();
                    say(Gravity::Warning, &path, ignored.to_owned(), None);
                }
            }
        }
        let phases = || self.file.phases.keys().map(String::as_str);
        for (key, hooks) in &self.file.hooks {
            let phase = key.strip_prefix("pre_").or_else(|| key.strip_prefix("post_"));
            // An inherited phase is not in this file.
            let named = |phase: &str| self.file.extends.is_some() || self.file.phases.contains_key(phase);
            if !phase.is_some_and(named) {
                let keys: Vec<String> =
                    phases().flat_map(|phase| [format!("pre_{phase}"), format!("post_{phase}")]).collect();
                let message = match phase {
                    Some(phase) => format!("there is no phase `{phase}`, its hooks never run"),
                    None => format!("`{key}` is neither before nor after a phase, its hooks never run"),
                };
                let hint = match document::closest(key, keys.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "hooks are keyed `pre_PHASE` or `post_PHASE`".to_owned(),
                };
                say(Gravity::Warning, &["hooks", key], message, Some(hint));
            }
            for (index, hook) in hooks.iter().enumerate() {
                let outside = |path: &&String| path.split(['/', '\\']).any(|part| part == "..");
                if let Some(path) = hook.path.as_ref().filter(outside) {
                    let index = index.to_string();
                    let message = format!("`{path}` leads out of the repository: `..` is refused");
                    say(Gravity::Error, &["hooks", key, &index, "path"], message, None);
                }
            }
        }
        let mut known = |path: &[&str], phase: &str| {
            // An inherited phase is not in this file.
            if self.file.extends.is_none() && !self.file.phases.contains_key(phase) {
                let hint = match document::closest(phase, phases()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("phases of this file: {}", document::listed(phases())),
                };
                say(Gravity::Warning, path, format!("there is no phase `{phase}`"), Some(hint));
            }
        };
        if let Some(Autonomy::Long(block)) = &self.file.autonomy {
            for phase in block.overrides.set().into_iter().flat_map(|overrides| overrides.keys()) {
                known(&["autonomy", "overrides", phase], phase);
            }
            for (index, phase) in block.require_approval_for.set().into_iter().flatten().enumerate() {
                known(&["autonomy", "require_approval_for", &index.to_string()], phase);
            }
        }
        problems
    }
}

/// Files of an older system are JSON and know neither `run` nor `agent`; what else they carry is
/// none of our business (W21).
fn is_older(document: &Document) -> bool {
    fn values(node: Option<&Node>) -> Vec<&Node> {
        match node.map(|node| &node.value) {
            Some(document::Value::Map(entries)) => entries.iter().map(|entry| &entry.value).collect(),
            Some(document::Value::List(items)) => items.iter().collect(),
            _ => Vec::new(),
        }
    }
    // Only where the words would be ours: a step's `config` or `arguments` may hold any.
    let root = &document.root;
    let lists = ["pre_steps", "steps", "post_steps"];
    let phases = values(root.get("phases")).into_iter();
    let steps = phases.flat_map(|phase| lists.iter().flat_map(|list| values(phase.get(list))));
    let hooks = values(root.get("hooks")).into_iter().flat_map(|hooks| values(Some(hooks)));
    let ours = |node: &Node| node.get("run").is_some() || node.get("agent").is_some();
    document.format == Format::Json && !ours(root) && !steps.chain(hooks).any(ours)
}
