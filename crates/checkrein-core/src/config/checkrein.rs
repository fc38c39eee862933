//! `checkrein.yaml`, the project's and the user's.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::retention::Retention;
use super::tenant::{WorkerEntry, worker_layer};
use crate::classify::ClassifyConfig;
use crate::document::{Document, Gravity, Problem, Problems, Value, closest, decode, decode_part, listed};
use crate::frame::FrameConfigPatch;
use crate::policy::{Autonomy, Block, LEVELS, Layer, LayerRank, Level, Origin, Scope};

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
    pub fn read(document: &Arc<Document>) -> Result<(CheckreinFile, Problems), Problems> {
        // An empty file says nothing, which is fine.
        let (shape, mut problems) = match document.root.value {
            Value::Null => (CheckreinShape::default(), Problems::default()),
            _ => decode::<CheckreinShape>(document, Gravity::Error)?,
        };
        let (blocks, more) = blocks(document)?;
        problems.extend(more);
        Ok((CheckreinFile { document: Arc::clone(document), shape, blocks }, problems))
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
    let scoped =
        |node: &crate::document::Node| Scope::ALL.iter().any(|scope| node.get(scope.name()).is_some());
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
        Value::Map(_) if !scoped(node) => {
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
