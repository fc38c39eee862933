use std::path::{Path, PathBuf};

use checkrein_core::config::{Settings, Subject, env};
use checkrein_core::document::closest;
use checkrein_core::plan::{Action, Context, Plan};
use checkrein_core::policy::{Block, Layer, LayerRank, Scope};
use checkrein_core::run::Definition;
use serde_json::{Map, Value};

use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::session::StorePlace;
use crate::{files, workflow};

/// A shorter one would make a riddle of every text.
const SECRET_BYTES_MIN: usize = 4;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workflow file: YAML, JSON or TOML
    file: PathBuf,
    /// A level for this run
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    /// A setting of the policy, such as warning_tolerance=high, or a value for a placeholder
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    sets: Vec<(String, String)>,
    /// What the work is about [default: the git branch]
    #[arg(long)]
    target: Option<String>,
    /// The work item it belongs to
    #[arg(long, value_name = "ID")]
    work_id: Option<String>,
    /// Only this phase; may be given several times
    #[arg(long = "phase", value_name = "NAME")]
    phases: Vec<String>,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: StorePlace,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    // Everything that can be wrong with files is said before anything is recorded.
    let (chain, odd) = workflow::chain(&args.file)?;
    odd.iter().for_each(warn);
    let (settings, odd) = args.store.settings()?;
    odd.iter().for_each(warn);
    let (start, values) = args.start()?;
    let resolution = settings.resolve(Scope::Workflow, Subject::Workflow(&chain), &start)?;
    resolution.problems.iter().for_each(warn);
    let (plan, odd) = Plan::resolve(&chain)?;
    odd.iter().for_each(warn);
    let plan = with_agent(plan, &settings)?;
    no_written_secrets(&plan, &settings, &values)?;
    for secret in plan.secrets.iter().chain(settings.secrets()) {
        let value = settings.environment.iter().find(|(name, _)| name == secret).map(|(_, value)| value);
        if value.is_some_and(|value| (1..SECRET_BYTES_MIN).contains(&value.len())) {
            warn(format_args!(
                "the value of `{secret}` is too short to be masked; a secret has at least {SECRET_BYTES_MIN} characters"
            ));
        }
    }
    for phase in &args.phases {
        let names = || plan.phases.iter().map(|phase| phase.name.as_str());
        if !names().any(|name| name == phase) {
            let hint = match closest(phase, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("phases: {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(CliError::usage(format!("there is no phase `{phase}`")).hint(hint));
        }
    }
    let directory = std::env::current_dir()
        .map_err(|error| CliError::failed(format!("there is no current directory: {error}")))?;
    let definition = Definition {
        plan,
        policy: resolution.policy,
        target: args.target.clone().or_else(|| checkrein_engine::git_branch(&directory)),
        work_id: args.work_id.clone(),
        values,
        directory: directory_text(&directory)?,
        only: args.phases.clone(),
        job: None,
    };
    let session = args.store.open_with(settings)?;
    let who = session.principal()?;
    let id = session.wait(session.engine.create_run(&who, definition, None))?;
    note(format_args!("run {id}: {}", files::shown(&args.file)));
    args.driving.drive(&session, id.as_str(), TakeUp::New)
}

/// Steps find their directory again when the run is resumed from elsewhere.
fn directory_text(directory: &Path) -> Result<String, CliError> {
    let text = directory.to_str().map(str::to_owned);
    text.ok_or_else(|| CliError::usage(format!("`{}` is not UTF-8", directory.display())))
}

/// What is left to an agent needs one; better said now than at the third phase.
fn with_agent(plan: Plan, settings: &Settings) -> Result<Plan, CliError> {
    let agent = plan.agent.clone().or_else(|| settings.agent().map(str::to_owned));
    let phases = plan.phases.iter().filter(|phase| phase.enabled);
    let needs = phases.flat_map(|phase| &phase.tasks).find(|task| matches!(task.action, Action::Agent(_)));
    if let (Some(task), None) = (needs, &agent) {
        return Err(CliError::usage(format!("step `{}` is for an agent, and none is configured", task.id))
            .hint("name its command as `agent:` in the workflow or in checkrein.yaml, such as `agent: claude -p`"));
    }
    Ok(Plan { agent, ..plan })
}

/// A run keeps its definition, so what is secret must not be written in it.
fn no_written_secrets(plan: &Plan, settings: &Settings, values: &Context) -> Result<(), CliError> {
    let tasks = || plan.phases.iter().flat_map(|phase| &phase.tasks);
    for secret in plan.secrets.iter().chain(settings.secrets()) {
        let place = match tasks().find(|task| task.env.contains_key(secret)) {
            Some(task) => format!("`env` of `{}`", task.id),
            None if values.contains_key(secret) => "`--set`".to_owned(),
            None => continue,
        };
        return Err(CliError::usage(format!("`{secret}` is a secret, and its value stands in {place}"))
            .hint(format!("set {secret} in the environment instead; steps find it there")));
    }
    Ok(())
}

impl Args {
    /// What was given at the start: the policy's part and the values for placeholders.
    fn start(&self) -> Result<(Vec<Layer>, Context), CliError> {
        let mut layers = Vec::new();
        if let Some(level) = &self.level {
            layers.push(env::layer(LayerRank::Start, "--level", level)?);
        }
        let mut block = Map::new();
        let mut values = Context::new();
        let fields: Vec<String> = Block::field_names();
        for (name, value) in &self.sets {
            let field = name.split('.').next().unwrap_or(name);
            if fields.iter().any(|known| known == field) {
                insert(&mut block, name, parsed(value));
                continue;
            }
            if let Some(near) = closest(field, fields.iter().map(String::as_str)) {
                return Err(CliError::usage(format!("`{name}` is not a setting of a policy"))
                    .hint(format!("did you mean `{near}`?")));
            }
            values.insert(name.clone(), value.clone());
        }
        if !block.is_empty() {
            layers.push(env::layer(LayerRank::Start, "--set", &Value::Object(block).to_string())?);
        }
        Ok((layers, values))
    }
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
