//! Workers and their policies: a tenant file, or `workers:` in checkrein.yaml.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::{Document, Gravity, Problems, decode};
use crate::policy::{Autonomy, Block, Layer, LayerRank, Origin, Reading, Scope};

/// A tenant file that was read.
#[derive(Clone, Debug)]
pub struct Tenant {
    pub document: Arc<Document>,
    shape: TenantShape,
}

/// Workers of one tenant, plain or below a `tenant:` key.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "tenant file")]
pub struct TenantShape {
    id: Option<String>,
    name: Option<String>,
    workers: BTreeMap<String, Option<WorkerEntry>>,
    tenant: Option<TenantBody>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TenantBody {
    id: Option<String>,
    name: Option<String>,
    workers: BTreeMap<String, Option<WorkerEntry>>,
}

/// One worker. Without a policy of its own it has the default.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerEntry {
    /// A level, or a block such as `{level: semi_supervised, checkpoint_types: [deliverable]}`.
    pub autonomy: Option<Autonomy>,
    /// Who gives this worker's verdicts.
    pub reviewer: Option<Reviewer>,
}

/// What gives verdicts. Without one a checkpoint stays pending, whatever the level (C8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reviewer {
    /// A person, when there is one.
    #[default]
    Pending,
    /// Nobody looks; recorded as what it is.
    AutoApprove,
}

impl Reviewer {
    pub const fn name(self) -> &'static str {
        match self {
            Reviewer::Pending => "pending",
            Reviewer::AutoApprove => "auto-approve",
        }
    }
}

impl Tenant {
    pub fn read(document: &Arc<Document>, reading: Reading) -> Result<(Tenant, Problems), Problems> {
        let (shape, mut problems) = decode::<TenantShape>(document, Gravity::Error)?;
        let tenant = Tenant { document: Arc::clone(document), shape };
        let below = tenant.shape.tenant.iter().map(|body| (&["tenant", "workers"][..], &body.workers));
        for (path, workers) in std::iter::once((&["workers"][..], &tenant.shape.workers)).chain(below) {
            for (worker, entry) in workers {
                let path: Vec<&str> = path.iter().copied().chain([worker.as_str()]).collect();
                if let Some(layer) = worker_layer(document, &path, entry.as_ref()) {
                    problems.extend(layer.unknown(Scope::Worker, reading).errors());
                }
            }
        }
        problems.refuse_or(tenant)
    }

    /// The tenant's own name for itself.
    pub fn label(&self) -> Option<&str> {
        let body = self.shape.tenant.as_ref();
        let name = self.shape.name.as_deref().or(body.and_then(|body| body.name.as_deref()));
        name.or(self.shape.id.as_deref()).or(body.and_then(|body| body.id.as_deref()))
    }

    pub fn workers(&self) -> impl Iterator<Item = &str> {
        let below = self.shape.tenant.iter().flat_map(|body| body.workers.keys());
        self.shape.workers.keys().chain(below).map(String::as_str)
    }

    pub fn reviewer(&self, worker: &str) -> Option<Reviewer> {
        let below = || self.shape.tenant.as_ref().and_then(|body| body.workers.get(worker));
        self.shape.workers.get(worker).or_else(below)?.as_ref()?.reviewer
    }

    pub fn layer(&self, worker: &str) -> Option<Layer> {
        let below = || self.shape.tenant.as_ref().and_then(|body| body.workers.get(worker));
        match self.shape.workers.get(worker) {
            Some(entry) => worker_layer(&self.document, &["workers", worker], entry.as_ref()),
            None => worker_layer(&self.document, &["tenant", "workers", worker], below()?.as_ref()),
        }
    }
}

/// The layer of a worker's entry at `path`.
pub(super) fn worker_layer(
    document: &Arc<Document>,
    path: &[&str],
    entry: Option<&WorkerEntry>,
) -> Option<Layer> {
    let block = Block::of(entry?.autonomy.clone()?);
    let path: Vec<&str> = path.iter().copied().chain(["autonomy"]).collect();
    Some(Layer { rank: LayerRank::Definition, origin: Origin::within(document, &path), block })
}
