//! All settings that apply here, gathered once; each question is then answered from them.

use super::agent::AgentShape;
use super::checkrein::{CheckreinFile, MachineShape, SandboxRule};
use super::companion::CompanionShape;
use super::env;
use super::expert::Expert;
use super::forge::ForgeShape;
use super::model::ModelShape;
use super::retention::{Keep, Kept};
use super::search::EmbeddingsShape;
use super::tenant::{Reviewer, Tenant};
use super::workflow::Workflow;
use crate::classify::{Classifier, ClassifyConfig};
use crate::document::{Document, Gravity, Problem, Problems};
use crate::frame::{self, FrameConfig};
use crate::policy::{Layer, LayerRank, Reading, Resolution, Scope, Tested};
use crate::run::job::ForgeKind;

/// What was found in files and the environment.
pub struct Settings {
    pub user: Option<CheckreinFile>,
    pub project: Option<CheckreinFile>,
    pub tenant: Option<(Tenant, NamedBy)>,
    pub environment: Vec<(String, String)>,
    classifier: Option<Classifier>,
}

/// Who named the tenant file, weakest first; its entries are as strong as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// `tenant:` in the user's settings.
    User,
    /// `tenant:` in the project's settings.
    Project,
    /// An option or a variable.
    Caller,
}

/// Whose policy is asked for, beside the scope.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'s> {
    Anyone,
    Worker(&'s str),
    Expert(&'s Expert),
    /// The workflow and what it extends, nearest first.
    Workflow(&'s [Workflow]),
}

impl Settings {
    pub fn new(
        user: Option<CheckreinFile>,
        project: Option<CheckreinFile>,
        tenant: Option<(Tenant, NamedBy)>,
        environment: Vec<(String, String)>,
    ) -> Result<Settings, Problems> {
        let mut words: Option<ClassifyConfig> = None;
        for file in [&user, &project].into_iter().flatten() {
            words = Some(words.unwrap_or_default().overlay(file.shape.classify.clone()));
        }
        // The words that ship are searched for by a machine that is made once.
        let words = words.filter(|words| *words != ClassifyConfig::default());
        let classifier = words.map(|words| Classifier::new(&words)).transpose();
        let classifier = classifier.map_err(|error| Problem::error("classify", error.to_string()))?;
        let settings = Settings { user, project, tenant, environment, classifier };
        if let Some(project) = &settings.project
            && let Some(name) = &project.shape.agent
        {
            settings.known_agent(&project.document, name)?;
        }
        Ok(settings)
    }

    pub fn classifier(&self) -> &Classifier {
        self.classifier.as_ref().unwrap_or_else(|| Classifier::builtin())
    }

    /// The policy in force, with `start` given by whoever asks.
    pub fn resolve(
        &self,
        scope: Scope,
        subject: Subject<'_>,
        start: &[Layer],
    ) -> Result<Resolution, Problems> {
        self.resolve_as(Reading::Strict, scope, subject, start)
    }

    /// The same, with a say in what becomes of words nobody knows.
    pub fn resolve_as(
        &self,
        reading: Reading,
        scope: Scope,
        subject: Subject<'_>,
        start: &[Layer],
    ) -> Result<Resolution, Problems> {
        let layers = self.layers(scope, subject, start)?;
        Resolution::resolve(scope, &layers, self.classifier(), reading)
    }

    /// What becomes of every example in the layers of a policy.
    pub fn test(&self, scope: Scope, subject: Subject<'_>) -> Result<Vec<Tested>, Problems> {
        let layers = self.layers(scope, subject, &[])?;
        Resolution::test(scope, &layers, self.classifier(), Reading::Strict).map(|(_, tested)| tested)
    }

    fn layers(&self, scope: Scope, subject: Subject<'_>, start: &[Layer]) -> Result<Vec<Layer>, Problems> {
        let files = [(LayerRank::UserConfig, &self.user), (LayerRank::ProjectConfig, &self.project)];
        let mut layers: Vec<Layer> =
            files.iter().filter_map(|(rank, file)| file.as_ref()?.layer(*rank, scope)).collect();
        layers.extend(env::layers(scope, |name| self.variable(name))?);
        match subject {
            Subject::Anyone => {}
            Subject::Worker(name) => layers.extend(self.worker(name)),
            Subject::Expert(expert) => layers.extend(expert.layers()),
            Subject::Workflow(chain) => layers.extend(Workflow::layers(chain)),
        }
        layers.extend_from_slice(start);
        Ok(layers)
    }

    /// The places a worker may have an entry in, weakest first: `workers:` of the user's and the
    /// project's settings, each followed by the tenant file it names.
    fn entries(&self) -> impl DoubleEndedIterator<Item = Entries<'_>> {
        let tenant = |by: &[NamedBy]| {
            let tenant = self.tenant.as_ref().filter(|(_, named_by)| by.contains(named_by));
            tenant.map(|(tenant, _)| Entries::Tenant(tenant))
        };
        [
            self.user.as_ref().map(Entries::Settings),
            tenant(&[NamedBy::User]),
            self.project.as_ref().map(Entries::Settings),
            tenant(&[NamedBy::Project, NamedBy::Caller]),
        ]
        .into_iter()
        .flatten()
    }

    /// A worker's entry in each place that has one, weakest first.
    fn worker(&self, name: &str) -> impl Iterator<Item = Layer> {
        self.entries().filter_map(move |entries| match entries {
            Entries::Settings(file) => file.worker_layer(name),
            Entries::Tenant(tenant) => tenant.layer(name),
        })
    }

    /// Who gives a worker's verdicts: the strongest entry that says so.
    pub fn reviewer(&self, worker: &str) -> Reviewer {
        let named = self.entries().rev().find_map(|entries| match entries {
            Entries::Settings(file) => file.shape.workers.get(worker)?.as_ref()?.reviewer,
            Entries::Tenant(tenant) => tenant.reviewer(worker),
        });
        named.unwrap_or_default()
    }

    /// Every worker that has an entry somewhere.
    pub fn workers(&self) -> Vec<&str> {
        let own = [&self.user, &self.project].into_iter().flatten();
        let own = own.flat_map(|file| file.shape.workers.keys().map(String::as_str));
        let mut names: Vec<&str> =
            own.chain(self.tenant.iter().flat_map(|(tenant, _)| tenant.workers())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// When frames are pushed and popped, and what was odd about the settings.
    pub fn frames(&self) -> (FrameConfig, Vec<String>) {
        let mut config = FrameConfig::default();
        let mut warnings = Vec::new();
        for file in [&self.user, &self.project].into_iter().flatten() {
            warnings.extend(config.apply(&file.shape.frames));
        }
        let (patch, odd) = frame::from_env(|name| self.variable(name));
        warnings.extend(odd);
        warnings.extend(config.apply(&patch));
        (config, warnings)
    }

    /// How long something is kept: what the stronger file says (W19).
    pub fn keep(&self, kept: Kept) -> Keep {
        let said = self.files().find_map(|file| file.shape.retention.says(kept));
        said.unwrap_or_else(|| kept.by_default())
    }

    /// The command that performs what a workflow leaves to an agent.
    pub fn agent(&self) -> Option<&str> {
        self.files().find_map(|file| file.shape.agent.as_deref())
    }

    /// What the files say about an agent: the user's, and what a project may say on top.
    pub(super) fn agent_shape(&self, name: &str) -> Option<AgentShape> {
        let said = |file: &Option<CheckreinFile>| file.as_ref()?.shape.agents.get(name).cloned();
        match (said(&self.user), said(&self.project)) {
            (Some(user), Some(project)) => Some(user.with(project)),
            (user, project) => project.or(user),
        }
    }

    /// Names of all agents of the settings.
    pub fn agents(&self) -> Vec<&str> {
        let names = self.files().flat_map(|file| file.shape.agents.keys());
        let mut names: Vec<&str> = names.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A language model by its name, as the user says: a project's file aims no key.
    pub fn model(&self, name: &str) -> Option<&ModelShape> {
        self.user.as_ref()?.shape.models.get(name)
    }

    /// Names of all models there are.
    pub fn models(&self) -> Vec<&str> {
        self.user.iter().flat_map(|file| file.shape.models.keys()).map(String::as_str).collect()
    }

    /// The store the user names. A project's word does not count: it may be anybody's.
    pub fn store(&self) -> Option<&str> {
        self.user.as_ref().and_then(|file| file.shape.store.as_deref())
    }

    /// Variables whose values are never shown or recorded.
    pub fn secrets(&self) -> impl Iterator<Item = &String> {
        let named = self.files().flat_map(|file| &file.shape.secrets);
        named.chain(self.forge_variables()).chain(self.companion_variables())
    }

    /// The forge the user named, of whom alone it is taken.
    pub fn forge(&self) -> Option<&ForgeShape> {
        self.user.as_ref()?.shape.forge.as_ref().filter(|forge| forge.kind != ForgeKind::Local)
    }

    /// What this machine has for runs, as the user says. A project's file is not asked: it may be anybody's.
    pub fn machine(&self) -> Option<&MachineShape> {
        self.user.as_ref().map(|file| &file.shape.machine)
    }

    /// Which jobs run in the sandbox here, as the user says. A project's file is not asked.
    pub fn sandbox(&self) -> Option<SandboxRule> {
        self.user.as_ref()?.shape.sandbox
    }

    /// Variables that open the forge; no agent gets them.
    pub fn forge_variables(&self) -> impl Iterator<Item = &String> {
        self.forge().into_iter().flat_map(|forge| forge.token_env.iter().chain(&forge.webhook_secret_env))
    }

    /// How much of each stream of an attempt is kept.
    pub fn output_bytes_max(&self) -> usize {
        self.files().find_map(|file| file.shape.output.max_bytes).unwrap_or(4 << 20)
    }

    /// How much output is kept in all.
    pub fn output_quota_bytes(&self) -> u64 {
        self.files().find_map(|file| file.shape.output.quota_bytes).unwrap_or(1 << 30)
    }

    /// Who makes vectors of texts, as the user says. A project's file is not asked: what a job holds must not go to
    /// an address that came with a repository.
    pub fn embeddings(&self) -> Option<&EmbeddingsShape> {
        self.user.as_ref().and_then(|file| file.shape.search.embeddings.as_ref())
    }

    /// Whom people ask about jobs, as the user says. A project's file is not asked, for the same reason.
    pub fn companion(&self) -> Option<&CompanionShape> {
        self.user.as_ref().map(|file| &file.shape.companion)
    }

    /// Variables that have the companion's keys.
    fn companion_variables(&self) -> impl Iterator<Item = &String> {
        self.companion().into_iter().flat_map(|shape| {
            let model = shape.model.as_ref().and_then(|model| model.key_env.as_ref());
            model.into_iter().chain(shape.web_search.as_ref().and_then(|search| search.key_env.as_ref()))
        })
    }

    /// The files that say something, the strongest first.
    fn files(&self) -> impl Iterator<Item = &CheckreinFile> {
        [&self.project, &self.user].into_iter().flatten()
    }

    /// What is odd about frames in the environment; a file with such is refused.
    pub fn frame_problems(&self) -> Problems {
        let mut problems = Problems::default();
        let (patch, mut odd) = frame::from_env(|name| self.variable(name));
        odd.extend(FrameConfig::default().apply(&patch));
        for warning in odd {
            // A warning begins with the variable it is about.
            let told = warning.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
            let (variable, message) = told.unwrap_or(("environment", warning.as_str()));
            problems.push(Problem { gravity: Gravity::Warning, ..Problem::error(variable, message) });
        }
        problems
    }

    /// The same place with other settings of the project, or another tenant file.
    pub fn with(&self, project: Option<CheckreinFile>, tenant: Option<Tenant>) -> Result<Settings, Problems> {
        let tenant = tenant.map(|tenant| (tenant, NamedBy::Caller));
        Settings::new(
            self.user.clone(),
            project.or_else(|| self.project.clone()),
            tenant.or_else(|| self.tenant.clone()),
            self.environment.clone(),
        )
    }

    /// The same place with the project's settings as they are somewhere else, or with none.
    pub fn in_project(&self, project: Option<CheckreinFile>) -> Result<Settings, Problems> {
        Settings::new(self.user.clone(), project, self.tenant.clone(), self.environment.clone())
    }

    /// The files that were read, weakest first.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        let own = [&self.user, &self.project].into_iter().flatten().map(|file| &*file.document);
        own.chain(self.tenant.iter().map(|(tenant, _)| &*tenant.document))
    }

    /// What a variable of the environment says.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.environment.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
    }
}

/// A place that has workers' entries.
enum Entries<'s> {
    Settings(&'s CheckreinFile),
    Tenant(&'s Tenant),
}
