//! What a run is started with: a workflow, the settings here, and what was given for this run alone.

use std::path::Path;

use checkrein_core::config::{Settings, Subject, Workflow, env};
use checkrein_core::document::{Problems, closest, listed};
use checkrein_core::plan::{Action, Context, Plan, Task};
use checkrein_core::policy::{Block, Layer, LayerRank, Scope};
use checkrein_core::run::Definition;
use serde_json::{Map, Value};

use crate::{Engine, git_branch};

/// What was given for one run.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// A level for this run.
    pub level: Option<String>,
    /// Settings of the policy, such as `limits.max_total_warnings`, and values for placeholders.
    pub sets: Vec<(String, String)>,
    /// What the work is about; the git branch where nobody says.
    pub target: Option<String>,
    pub work_id: Option<String>,
    /// The only phases that run; all by default.
    pub phases: Vec<String>,
}

/// What a run can be started with, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Defined {
    pub definition: Definition,
    pub odd: Vec<String>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error(transparent)]
    Problems(#[from] Problems),
    #[error("{message}")]
    Refused { message: String, hint: Option<String> },
}

/// A shorter one would make a riddle of every text.
const SECRET_BYTES_MIN: usize = 4;

impl Engine {
    /// The definition of a run of a workflow, `directory` being where it runs.
    pub fn define_run(
        &self,
        chain: &[Workflow],
        request: &RunRequest,
        directory: &Path,
    ) -> Result<Defined, DefinitionError> {
        define(&self.settings, chain, request, directory)
    }
}

/// Everything that can be wrong with it is said before anything is recorded.
pub fn define(
    settings: &Settings,
    chain: &[Workflow],
    request: &RunRequest,
    directory: &Path,
) -> Result<Defined, DefinitionError> {
    let (start, values) = start(request)?;
    let resolution = settings.resolve(Scope::Workflow, Subject::Workflow(chain), &start)?;
    let mut odd: Vec<String> = resolution.problems.iter().map(ToString::to_string).collect();
    let (plan, more) = Plan::resolve(chain)?;
    odd.extend(more.iter().map(ToString::to_string));
    known_phases(&start, &plan)?;
    let plan = with_agent(plan, settings)?;
    no_written_secrets(&plan, settings, &values)?;
    known_values(&plan, &values)?;
    for secret in plan.secrets.iter().chain(settings.secrets()) {
        let value = settings.environment.iter().find(|(name, _)| name == secret).map(|(_, value)| value);
        if value.is_some_and(|value| (1..SECRET_BYTES_MIN).contains(&value.len())) {
            odd.push(format!(
                "the value of `{secret}` is too short to be masked; a secret has at least {SECRET_BYTES_MIN} characters"
            ));
        }
    }
    for phase in &request.phases {
        known_phase(&plan, phase, "--phase")?;
    }
    let target = request.target.clone().or_else(|| git_branch(directory));
    let given = [("target", &target), ("work_id", &request.work_id)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    let known: Context = values.clone().into_iter().chain(given).collect();
    let selected = |name: &String| request.phases.is_empty() || request.phases.contains(name);
    let phases = || plan.phases.iter().filter(|phase| phase.enabled && selected(&phase.name));
    for task in phases().flat_map(|phase| &phase.tasks) {
        if let Some(unfilled) = task.unfilled(&known).into_iter().next() {
            let give =
                unfilled.is_missing().then(|| format!("`--set {}=VALUE` gives it one; ", unfilled.name));
            let hint = format!("{}{}", give.unwrap_or_default(), unfilled.hint);
            return refuse(format!("`{}`: {}", task.id, unfilled.message), hint);
        }
        odd.extend(not_there(task, directory));
    }
    let Some(text) = directory.to_str() else {
        let message = format!("`{}` is not UTF-8", directory.display());
        return Err(DefinitionError::Refused { message, hint: None });
    };
    let definition = Definition {
        plan,
        policy: resolution.policy,
        target,
        work_id: request.work_id.clone(),
        values,
        // Steps find their directory again when the run is resumed from elsewhere.
        directory: text.to_owned(),
        only: request.phases.clone(),
        job: None,
    };
    Ok(Defined { definition, odd })
}

/// What a task needs among the files of its run and does not find there, in words. Something that runs before it may
/// still make it, so it is no mistake yet.
pub fn not_there(task: &Task, directory: &Path) -> Vec<String> {
    let file = match &task.action {
        Action::Script(path) | Action::Document(path) if !directory.join(path).is_file() => Some(format!(
            "`{}`: there is no file `{path}`; it fails unless something makes it before",
            task.id
        )),
        _ => None,
    };
    let own = task.working_directory.as_ref().filter(|own| !own.contains('{'));
    let place = own.filter(|own| !directory.join(own).is_dir()).map(|own| {
        format!("`{}`: there is no directory `{own}`; it fails unless something makes it before", task.id)
    });
    file.into_iter().chain(place).collect()
}

/// What is given at the start names phases of this workflow.
fn known_phases(start: &[Layer], plan: &Plan) -> Result<(), DefinitionError> {
    for layer in start {
        for (path, phase) in layer.block.phases_named() {
            known_phase(plan, phase, &format!("{} {}", layer.origin.name, path.join(".")))?;
        }
    }
    Ok(())
}

fn known_phase(plan: &Plan, phase: &str, place: &str) -> Result<(), DefinitionError> {
    let names = || plan.phases.iter().map(|phase| phase.name.as_str());
    if names().any(|name| name == phase) {
        return Ok(());
    }
    let hint = match closest(phase, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("phases: {}", names().collect::<Vec<_>>().join(", ")),
    };
    refuse(format!("{place}: there is no phase `{phase}`"), hint)
}

fn refuse<T>(message: String, hint: impl Into<String>) -> Result<T, DefinitionError> {
    Err(DefinitionError::Refused { message, hint: Some(hint.into()) })
}

/// What is left to an agent needs one; better said now than at the third phase.
pub fn with_agent(plan: Plan, settings: &Settings) -> Result<Plan, DefinitionError> {
    let agent = plan.agent.clone().or_else(|| settings.agent().map(str::to_owned));
    let phases = plan.phases.iter().filter(|phase| phase.enabled);
    let needs = phases.flat_map(|phase| &phase.tasks).find(|task| matches!(task.action, Action::Agent(_)));
    if let (Some(task), None) = (needs, &agent) {
        return refuse(
            format!("step `{}` is for an agent, and none is configured", task.id),
            "name one as `agent:` in the workflow or in checkrein.yaml, such as `agent: claude`",
        );
    }
    let agent_spec = match &agent {
        Some(agent) => settings.agent_named(agent).map_err(|problem| DefinitionError::Refused {
            message: format!("agent `{agent}`: {}", problem.message),
            hint: problem.hint.clone(),
        })?,
        None => None,
    };
    Ok(Plan { agent, agent_spec: agent_spec.map(Box::new), ..plan })
}

/// A run keeps its definition, so what is secret must not be written in it.
fn no_written_secrets(plan: &Plan, settings: &Settings, values: &Context) -> Result<(), DefinitionError> {
    let tasks = || plan.phases.iter().flat_map(|phase| &phase.tasks);
    for secret in plan.secrets.iter().chain(settings.secrets()) {
        let place = match tasks().find(|task| task.env.contains_key(secret)) {
            Some(task) => format!("`env` of `{}`", task.id),
            None if values.contains_key(secret) => "`--set`".to_owned(),
            None => continue,
        };
        return refuse(
            format!("`{secret}` is a secret, and its value stands in {place}"),
            format!("set {secret} in the environment instead; steps find it there"),
        );
    }
    Ok(())
}

/// What was given at the start: the policy's part and the values for placeholders.
fn start(request: &RunRequest) -> Result<(Vec<Layer>, Context), DefinitionError> {
    let mut layers = Vec::new();
    if let Some(level) = &request.level {
        layers.push(env::layer(LayerRank::Start, "--level", level)?);
    }
    let mut block = Map::new();
    let mut values = Context::new();
    let fields: Vec<String> = Block::field_names();
    for (name, value) in &request.sets {
        let field = name.split('.').next().unwrap_or(name);
        if fields.iter().any(|known| known == field) {
            insert(&mut block, name, parsed(value));
            continue;
        }
        values.insert(name.clone(), value.clone());
    }
    if !block.is_empty() {
        layers.push(env::layer(LayerRank::Start, "--set", &Value::Object(block).to_string())?);
    }
    Ok((layers, values))
}

/// What is given at the start reaches something: a name nobody reads is misspelt (X1).
fn known_values(plan: &Plan, values: &Context) -> Result<(), DefinitionError> {
    for name in values.keys() {
        match name.as_str() {
            "target" => {
                return refuse("`target` has an option of its own".to_owned(), "give it as `--target`");
            }
            "work_id" => {
                return refuse("`work_id` has an option of its own".to_owned(), "give it as `--work-id`");
            }
            "run_id" | "workflow_id" | "phase" | "step" | "attempt" => {
                return refuse(format!("the run itself says what `{name}` is"), "leave it out");
            }
            _ if plan.takes_value(name) => continue,
            _ => {}
        }
        let (fields, placeholders) = (Block::field_names(), plan.placeholders());
        let known = || fields.iter().chain(&placeholders).map(String::as_str);
        // `autonomy.ask` is `ask` here.
        let inner = name.split_once('.').map(|(_, inner)| inner);
        let is_field =
            |path: &&str| path.split('.').next().is_some_and(|own| fields.iter().any(|f| f == own));
        let hint = match inner.filter(is_field).or_else(|| closest(name, known())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let placeholders = match placeholders.is_empty() {
                    true => "the workflow has no placeholders".to_owned(),
                    false => format!("placeholders: {}", listed(placeholders.iter().map(String::as_str))),
                };
                format!("{placeholders}; settings: {}", listed(fields.iter().map(String::as_str)))
            }
        };
        let message = format!("`{name}` is not a setting of a policy, nor a placeholder of this workflow");
        return refuse(message, hint);
    }
    Ok(())
}

/// `limits.max_total_warnings=5` is a path.
fn insert(block: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            block.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = block.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Some(inner) = inner.as_object_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

/// JSON where it is JSON, else the text itself.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
