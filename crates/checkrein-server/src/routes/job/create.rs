use std::collections::BTreeMap;
use std::path::PathBuf;

use checkrein_core::label::Label;
use checkrein_core::run::RunId;
use checkrein_engine::{Act, NewJob, RepositoryWanted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Created;
use crate::ask::ExactJson;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::Object;
use crate::wire::job::{Document, Job};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What is to be done, in your own words; where nothing is said, what the conversation named as `chat` wrote down
    #[serde(default)]
    pub description: String,
    /// Who does it: a name of `GET /v1/experts`
    pub expert: Option<String>,
    /// full, review, partial, guided, dependent, or a block of settings
    #[schemars(with = "Option<AutonomySent>")]
    pub autonomy: Option<Value>,
    /// The agent's command; the one the server's settings or the expert name if nothing is said
    pub agent: Option<String>,
    /// The directory of a repository on the server's machine; one of the job's own if nothing is said
    pub repo: Option<PathBuf>,
    /// For the agent to read
    #[serde(default)]
    pub documents: Vec<Document>,
    /// Names and addresses of what it may read from; passwords in them are shown nowhere
    #[serde(default)]
    pub datasources: BTreeMap<String, String>,
    /// A plan of your own instead of the agent's first one: Markdown with a list of what to do
    pub plan: Option<String>,
    /// What an expert's file may say, for this job alone
    pub config_override: Option<Object>,
    /// Keep the agent's processes away from the store, settings and credentials, also where the server has `sandbox: off`
    pub sandbox: Option<bool>,
    /// The conversation it was prepared in, which goes on in it; what it wrote down counts where nothing else is said
    pub chat: Option<String>,
    /// Labels a worker must have to take it up, beside those of the expert
    #[serde(default)]
    pub requires: Vec<Label>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described")]
pub enum AutonomySent {
    Level(String),
    Block(Object),
}

/// A level as it is, a block as JSON.
pub fn written(autonomy: Value) -> String {
    match autonomy {
        Value::String(level) => level,
        block => block.to_string(),
    }
}

/// The new job, and what is odd about how it was given.
#[derive(Debug, Serialize, JsonSchema)]
struct JobCreated {
    #[serde(flatten)]
    job: Job,
    warnings: Vec<String>,
}

pub fn route() -> Route {
    Route::post("/v1/jobs", create)
        .about(
            "createJob",
            "Give an agent a job; a worker takes it up. What would have the server run a command or use a repository that is sent takes an administrator",
        )
        .to(Act::GiveJob)
        .refuses(&[Kind::NotFound, Kind::AlreadyDecided])
        .more(&[
            ("with `agent`", Act::SendWorkflow),
            ("with `repo`", Act::SendWorkflow),
            ("with `agent` in `config_override`", Act::SendWorkflow),
            ("with `environment` in `config_override`", Act::SendWorkflow),
            ("with `sandbox` in `config_override`", Act::SendWorkflow),
            ("with `disk_bytes` in `config_override`", Act::SendWorkflow),
            ("with `memory_bytes` in `config_override`", Act::SendWorkflow),
            ("with `processes` in `config_override`", Act::SendWorkflow),
        ])
}

async fn create(call: Call, ExactJson(wanted): ExactJson<Wanted>) -> Result<Created<JobCreated>, Problem> {
    let wanted = completed(&call, wanted).await?;
    let (id, warnings) = given(&call, wanted).await?;
    let by = call.by()?;
    let found = call.engine().job(by, id.as_str()).await?;
    let job = Job::of(&found, call.engine().now(), call.clone_url(&id));
    let job = job.ok_or_else(|| Problem::new(Kind::Internal, format!("run `{id}` is not a job")))?;
    let version = found.view.run.state.version;
    let made = Created::new(JobCreated { job, warnings });
    Ok(made.at(version).location(format!("/v1/jobs/{id}")).about(&id))
}

/// What its conversation wrote down counts where nothing else is said.
async fn completed(call: &Call, wanted: Wanted) -> Result<Wanted, Problem> {
    let Some(chat) = &wanted.chat else { return Ok(wanted) };
    let draft = call.engine().draft(call.by()?, chat, call.nonce()).await?;
    let said = !wanted.description.trim().is_empty();
    Ok(Wanted {
        description: if said { wanted.description } else { draft.description },
        expert: wanted.expert.or(draft.expert),
        autonomy: wanted.autonomy.or(draft.autonomy.map(Value::String)),
        config_override: wanted.config_override.or(draft.config_override),
        ..wanted
    })
}

/// Gives the job; its id, and what is odd about it.
pub async fn given(call: &Call, wanted: Wanted) -> Result<(RunId, Vec<String>), Problem> {
    let directory = std::env::current_dir()
        .map_err(|error| Problem::new(Kind::Internal, format!("there is no current directory: {error}")))?;
    let invalid = |detail: String| Problem::new(Kind::Invalid, detail);
    let documents: Result<Vec<(String, Vec<u8>)>, _> =
        wanted.documents.into_iter().map(TryInto::try_into).collect();
    let repository = match wanted.repo {
        None => RepositoryWanted::Own,
        Some(directory) if directory.is_absolute() => RepositoryWanted::At(directory),
        Some(directory) => {
            return Err(invalid(format!("`repo` is `{}`, which is no whole path", directory.display()))
                .hint("name it from the root on, as it is on the server's machine"));
        }
    };
    if let Some(name) =
        wanted.datasources.iter().find(|(name, address)| name.trim().is_empty() || address.trim().is_empty())
    {
        return Err(invalid(format!("datasource `{}` has no name or no address", name.0)));
    }
    let new = NewJob {
        description: wanted.description,
        expert: wanted.expert,
        agent: wanted.agent,
        repository,
        documents: documents.map_err(|bad| invalid(bad.to_string()))?,
        datasources: wanted.datasources.into_iter().collect(),
        plan: wanted.plan,
        autonomy: wanted.autonomy.map(written),
        config_override: wanted.config_override.map(|over| Value::Object(over).to_string()),
        sandbox: wanted.sandbox,
        requires: wanted.requires,
        directory,
        experts: call.app.expert_files(),
        settings_given: false,
        chat: wanted.chat,
    };
    let nonce = call.nonce();
    let (id, odd) =
        call.apart(move |engine, by| async move { engine.create_sent_job(&by, new, nonce).await }).await?;
    Ok((id, odd.iter().map(ToString::to_string).collect()))
}
