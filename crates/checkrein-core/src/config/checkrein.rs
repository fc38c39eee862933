//! `checkrein.yaml`, the project's and the user's.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::agent::{AgentShape, empty_agent};
use super::companion::CompanionShape;
use super::forge::ForgeShape;
use super::idle::{no_variables, no_web_address, nothing_allowed};
use super::model::ModelShape;
use super::owner::Owner;
use super::retention::Retention;
use super::search::SearchShape;
use super::tenant::{WorkerEntry, worker_layer};
use crate::classify::{ClassifyConfig, check_word};
use crate::document::{
    Document, Entry, Gravity, Problem, Problems, Value, closest, decode, decode_part, listed,
};
use crate::frame::{FrameConfig, FrameConfigPatch};
use crate::label::Label;
use crate::policy::{Autonomy, Block, LEVELS, Layer, LayerRank, Level, Origin, Reading, Scope};

/// A checkrein.yaml that was read.
#[derive(Clone, Debug)]
pub struct CheckreinFile {
    pub document: Arc<Document>,
    pub shape: CheckreinShape,
    /// The block of each scope that has one, with the keys that lead to it.
    blocks: Vec<(Scope, Block, Vec<&'static str>)>,
}

/// Settings of a project or a user.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "checkrein.yaml")]
pub struct CheckreinShape {
    /// Policies by scope: `workflow`, `worker` (every worker) and `job`. A block without a scope is
    /// the workflows', a bare level belongs to the scope that knows it.
    #[schemars(with = "Option<AutonomyShape>")]
    autonomy: Option<IgnoredAny>,
    /// Workers and their policies, by name.
    pub workers: BTreeMap<String, Option<WorkerEntry>>,
    /// A tenant file with workers of its own, relative to this file.
    pub tenant: Option<String>,
    /// When context frames are pushed and popped.
    pub frames: FrameConfigPatch,
    /// Words that tell the severity and category of a finding.
    pub classify: ClassifyConfig,
    /// How long what is settled is kept.
    pub retention: Retention,
    /// What performs jobs and `agent:` steps of workflows: a name in `agents`, a preset (claude, codex, opencode,
    /// gemini, aider, builtin), or in your own settings a command with its prompt on standard input.
    pub agent: Option<String>,
    /// Agents by names of your own, and what is to be different about presets. A project's file says nothing here
    /// about commands, arguments, variables and permissions.
    pub agents: BTreeMap<String, AgentShape>,
    /// Language models by names of your own, for the built-in agent and whatever else talks to one; in the
    /// user's settings alone.
    pub models: BTreeMap<String, ModelShape>,
    /// Names of variables whose values are never shown or recorded.
    pub secrets: Vec<String>,
    /// How much of what steps write is kept.
    pub output: OutputShape,
    /// How workspaces of jobs are searched; in the user's settings alone.
    pub search: SearchShape,
    /// Whom people ask about jobs; in the user's settings alone.
    pub companion: CompanionShape,
    /// The store: a file, or `postgres://USER@HOST/DATABASE`. Only in the user's own settings: a project
    /// does not say where verdicts are kept.
    pub store: Option<String>,
    /// Where people review jobs besides here; in the user's settings alone.
    pub forge: Option<ForgeShape>,
    /// What this machine has for runs; in the user's settings alone.
    pub machine: MachineShape,
    /// Which jobs run in the sandbox here: `on` every job, `off` those that ask for it. Without it, those that ask
    /// for it and all that come over HTTP. In the user's settings alone.
    pub sandbox: Option<SandboxRule>,
}

/// Which jobs run in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxRule {
    /// All of them.
    On,
    /// Those that ask for it.
    Off,
}

/// What a machine has for runs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineShape {
    /// Labels of every worker here, beside those it is started with.
    pub labels: Vec<Label>,
    /// Directories that every machine of a store sees under the same path. Runs that have all their files in
    /// them can go on anywhere; all others stay on the machine they were started on.
    pub shared: Vec<String>,
    /// How many runs of one repository workers here let go on at once, counted over all machines.
    pub runs_per_repository: Option<std::num::NonZeroU32>,
}

/// How much of what steps write is kept.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputShape {
    /// Bytes of each stream of an attempt: the first half and the last. 4 MiB by default.
    pub max_bytes: Option<usize>,
    /// Bytes of all output there is; the oldest is removed first. 1 GiB by default.
    pub quota_bytes: Option<u64>,
}

/// One policy per scope, since a level's name means what its scope says.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScopedAutonomy {
    pub workflow: Option<Autonomy>,
    pub worker: Option<Autonomy>,
    pub job: Option<Autonomy>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "read by the schema generator alone")]
enum AutonomyShape {
    Scopes(Box<ScopedAutonomy>),
    Workflows(Box<Block>),
    Level(String),
}

impl CheckreinFile {
    pub fn read(
        document: &Arc<Document>,
        owner: Owner,
        reading: Reading,
    ) -> Result<(CheckreinFile, Problems), Problems> {
        // An empty file says nothing, which is fine.
        let (shape, mut problems) = match document.root.value {
            Value::Null => (CheckreinShape::default(), Problems::default()),
            _ => decode::<CheckreinShape>(document, Gravity::Error)?,
        };
        let (blocks, more) = blocks(document)?;
        problems.extend(more);
        let file = CheckreinFile { document: Arc::clone(document), shape, blocks };
        for scope in Scope::ALL {
            if let Some(layer) = file.layer(LayerRank::ProjectConfig, scope) {
                problems.extend(layer.unknown(scope, reading).errors());
            }
        }
        for layer in file.shape.workers.keys().filter_map(|worker| file.worker_layer(worker)) {
            problems.extend(layer.unknown(Scope::Worker, reading).errors());
        }
        problems.extend(empty_agent(document, &["agent"], file.shape.agent.as_ref()));
        for (name, agent) in &file.shape.agents {
            problems.extend(empty_agent(document, &["agents", name, "command"], agent.command.as_ref()));
        }
        problems.extend(file.idle());
        problems.extend(file.words());
        problems.extend(file.frames());
        problems.extend(file.forge_problems());
        problems.extend(file.agent_problems());
        if owner == Owner::Project {
            problems.extend(file.of_user_alone());
        }
        problems.refuse_or(file)
    }

    /// Models that the program of an agent would take for something else.
    fn agent_problems(&self) -> Problems {
        let mut problems = Problems::default();
        for (name, agent) in &self.shape.agents {
            let own: [(&[&str], &Option<String>); 3] = [
                (&["model"], &agent.model),
                (&["models", "strategic"], &agent.models.strategic),
                (&["models", "tactical"], &agent.models.tactical),
            ];
            for (key, model) in own {
                if let Some(model) = model.as_deref().filter(|model| model.trim_start().starts_with('-')) {
                    let path: Vec<&str> = ["agents", name].iter().chain(key).copied().collect();
                    let message = format!("`{model}` is no model: it begins with `-`, as options do");
                    problems.push(self.document.problem(Gravity::Error, &path, message));
                }
            }
        }
        problems
    }

    /// Values that can do nothing.
    fn idle(&self) -> Problems {
        let (document, shape) = (&self.document, &self.shape);
        let mut problems = no_variables(document, &["secrets"], &shape.secrets);
        for (name, agent) in &shape.agents {
            problems.extend(no_variables(document, &["agents", name, "environment"], &agent.environment));
        }
        for (name, model) in &shape.models {
            problems.extend(no_web_address(document, &["models", name, "url"], model.url.as_ref()));
        }
        let kept = shape.output.max_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        problems.extend(nothing_allowed(document, &["output", "max_bytes"], kept));
        problems
    }

    /// What cannot be used in `frames:`.
    fn frames(&self) -> Problems {
        let patch = &self.shape.frames;
        let mut problems = Problems::default();
        // One setting at a time, so that each mistake has its place.
        let mut judge = |path: &[&str], one: FrameConfigPatch| {
            for warning in FrameConfig::default().apply(&one) {
                let path: Vec<&str> = ["frames"].iter().chain(path).copied().collect();
                let message = warning.split_once("`: ").map_or(warning.as_str(), |(_, message)| message);
                let problem = Problem::error(&self.document.name, message).path(self.document.path(&path));
                problems.push(problem.at(Some(self.document.position(&path))));
            }
        };
        let none = FrameConfigPatch::default;
        judge(&["level"], FrameConfigPatch { level: patch.level.clone(), ..none() });
        judge(&["pushThreshold"], FrameConfigPatch { push_threshold: patch.push_threshold, ..none() });
        judge(&["popThreshold"], FrameConfigPatch { pop_threshold: patch.pop_threshold, ..none() });
        judge(&["aggregation"], FrameConfigPatch { aggregation: patch.aggregation.clone(), ..none() });
        for (name, custom) in patch.heuristics.iter().flatten() {
            let heuristics = Some(BTreeMap::from([(name.clone(), custom.clone())]));
            judge(&["heuristics", name], FrameConfigPatch { heuristics, ..none() });
        }
        for (index, name) in patch.enabled_heuristics.iter().flatten().enumerate() {
            // One of your own may be named like any other.
            let heuristics = patch.heuristics.clone().map(|mut known| {
                known.retain(|known, custom| known == name.trim() && custom.fault().is_none());
                known
            });
            let one = FrameConfigPatch { enabled_heuristics: Some(vec![name.clone()]), heuristics, ..none() };
            judge(&["enabledHeuristics", &index.to_string()], one);
        }
        for (name, weight) in patch.weights.iter().flatten() {
            let weights = Some(BTreeMap::from([(name.clone(), *weight)]));
            judge(&["weights", name], FrameConfigPatch { weights, ..none() });
        }
        problems
    }

    /// Words of `classify:` that cannot be looked for.
    fn words(&self) -> Problems {
        let mut problems = Problems::default();
        let mut walk = vec![(self.document.root.get("classify"), vec!["classify".to_owned()])];
        while let Some((node, path)) = walk.pop() {
            let below = |segment: &str| path.iter().cloned().chain([segment.to_owned()]).collect::<Vec<_>>();
            match node.map(|node| &node.value) {
                Some(Value::Map(entries)) => {
                    walk.extend(entries.iter().rev().map(|entry| (Some(&entry.value), below(&entry.key))));
                }
                Some(Value::List(items)) => {
                    let items = items.iter().enumerate().rev();
                    walk.extend(items.map(|(index, item)| (Some(item), below(&index.to_string()))));
                }
                Some(Value::Text(word)) => {
                    if let Err(error) = check_word(word) {
                        let path: Vec<&str> = path.iter().map(String::as_str).collect();
                        let problem = Problem::error(&self.document.name, error.to_string());
                        let position = self.document.position(&path);
                        problems.push(problem.at(Some(position)).path(self.document.path(&path)));
                    }
                }
                _ => {}
            }
        }
        problems
    }

    /// What this file says about `scope`.
    pub fn layer(&self, rank: LayerRank, scope: Scope) -> Option<Layer> {
        let (_, block, path) = self.blocks.iter().find(|(own, ..)| *own == scope)?;
        Some(Layer { rank, origin: Origin::within(&self.document, path), block: block.clone() })
    }

    /// What this file says about one worker.
    pub fn worker_layer(&self, worker: &str) -> Option<Layer> {
        let entry = self.shape.workers.get(worker)?;
        worker_layer(&self.document, &["workers", worker], entry.as_ref())
    }
}

type Blocks = Vec<(Scope, Block, Vec<&'static str>)>;

/// `autonomy:` is a map of scopes. Without them a map is the workflows', and a name belongs to the
/// scope that knows it.
fn blocks(document: &Document) -> Result<(Blocks, Problems), Problems> {
    let Some(node) = document.root.get("autonomy") else { return Ok((Vec::new(), Problems::default())) };
    // A key that is nearly a scope was meant to be one, and is then told so.
    let scoped = |entries: &[Entry]| {
        entries.iter().any(|entry| closest(&entry.key, Scope::ALL.map(Scope::name)).is_some())
    };
    match &node.value {
        Value::Null => Ok((Vec::new(), Problems::default())),
        Value::Text(level) => match Level::scope_of(level) {
            Some(scope) => {
                let block = Block::of(Autonomy::Text(level.clone()));
                Ok((vec![(scope, block, vec!["autonomy"])], Problems::default()))
            }
            None => {
                let knowing: Vec<&str> = Scope::ALL
                    .into_iter()
                    .filter(|scope| Level::find(*scope, level).is_some())
                    .map(Scope::name)
                    .collect();
                let (message, hint) = match knowing.first() {
                    Some(scope) => (
                        format!("level `{level}` does not say for which scope it is meant"),
                        format!(
                            "write `autonomy: {{{scope}: {level}}}`; scopes with this level: {}",
                            listed(knowing.iter().copied())
                        ),
                    ),
                    None => {
                        let names = || LEVELS.iter().map(|level| level.name);
                        let hint = match closest(level, names()) {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => "write a level by scope, as in `autonomy: {job: guided}`".to_owned(),
                        };
                        (format!("unknown level `{level}`"), hint)
                    }
                };
                let problem = Problem::error(&document.name, message).path("autonomy");
                Err(problem.at(Some(document.position(&["autonomy"]))).hint(hint).into())
            }
        },
        Value::Map(entries) if !scoped(entries) => {
            let (block, problems) = decode_part::<Block>(document, node, "autonomy", Gravity::Error)?;
            Ok((vec![(Scope::Workflow, block, vec!["autonomy"])], problems))
        }
        _ => {
            let (scopes, problems) =
                decode_part::<ScopedAutonomy>(document, node, "autonomy", Gravity::Error)?;
            let all = [
                (Scope::Workflow, scopes.workflow),
                (Scope::Worker, scopes.worker),
                (Scope::Job, scopes.job),
            ];
            let said = all.into_iter().filter_map(|(scope, autonomy)| {
                autonomy.map(|autonomy| (scope, Block::of(autonomy), vec!["autonomy", scope.name()]))
            });
            Ok((said.collect(), problems))
        }
    }
}
