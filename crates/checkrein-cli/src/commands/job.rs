use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use checkrein_core::companion::Draft;
use checkrein_core::label::Label;
use checkrein_engine::{NewJob, RepositoryWanted};
use checkrein_server::wire::chat::Chat;
use checkrein_server::wire::job::Document;
use serde::Deserialize;
use serde_json::{Value, json};

use super::workers::label;
use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note, warn};
use crate::output::Output;
use crate::remote::Remote;
use crate::session::DeskPlace;
use crate::{files, settings};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is to be done, in your own words; `-` reads it from standard input
    #[arg(required_unless_present = "chat")]
    description: Option<String>,
    /// As it was written down in this conversation, which goes on in the job; what is said here wins
    #[arg(long, value_name = "ID")]
    chat: Option<String>,
    /// Who does it: a name from `checkrein expert list`
    #[arg(long, value_name = "NAME")]
    expert: Option<String>,
    /// How far the agent may go: full, review, partial, guided, dependent, or a JSON block
    #[arg(long, value_name = "LEVEL|JSON")]
    autonomy: Option<String>,
    /// Who works: claude, codex, opencode, gemini, aider, builtin, one of `agents:`, or a command
    #[arg(long, value_name = "NAME|COMMAND")]
    agent: Option<String>,
    /// The repository to work on [default: the one around here, else a new one of the job's own]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// A document for the agent to read; may be given several times
    #[arg(long = "doc", value_name = "FILE")]
    docs: Vec<PathBuf>,
    /// Something to read from, handed to the agent in its environment; may be given several times
    #[arg(long = "datasource", value_name = "NAME=URL", value_parser = datasource)]
    datasources: Vec<(String, String)>,
    /// Your own plan instead of the agent's first one: Markdown with a list of what to do
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// What an expert's file may say, for this job alone
    #[arg(long, value_name = "JSON")]
    config_override: Option<String>,
    /// Keep the agent's processes away from the store, settings and credentials
    #[arg(long)]
    sandbox: bool,
    /// Something a worker must have to take it up, such as gpu; may be given several times
    #[arg(long, value_name = "LABEL", value_parser = label)]
    requires: Vec<Label>,
    /// Only record the job; `checkrein resume` or a worker begins it
    #[arg(long)]
    queue: bool,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: DeskPlace,
}

fn datasource(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, address)) if !name.trim().is_empty() && !address.trim().is_empty() => {
            Ok((name.trim().to_owned(), address.trim().to_owned()))
        }
        _ => Err("expected NAME=URL".to_owned()),
    }
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    if let Some(remote) = args.store.remote()? {
        return args.sent(&remote);
    }
    let session = args.store.here().open()?;
    let who = session.principal()?;
    let draft =
        args.chat.as_deref().map(|chat| session.wait(session.engine.draft(&who, chat, None))).transpose()?;
    let new = args.new_job(&draft.unwrap_or_default())?;
    if args.queue {
        let (id, odd) = session.wait(session.engine.create_job(&who, new))?;
        odd.iter().for_each(warn);
        return queued(id.as_str(), args.driving.json());
    }
    let (new, odd) = session.wait(session.engine.start_job(&who, new))?;
    odd.iter().for_each(warn);
    note(format_args!("job {}", new.id()));
    args.driving.drive(&session, TakeUp::New(new))
}

/// What is told of a run that was only recorded.
pub fn queued(id: &str, json: bool) -> Result<Output, CliError> {
    note(format_args!("`checkrein resume {id}` begins it"));
    if json {
        Output::json(&json!({"run_id": id, "status": "created"}))
    } else {
        Ok(Output::text(format!("{id}\n")))
    }
}

/// What a server answers to a job that was given to it.
#[derive(Deserialize)]
struct NewJobThere {
    run_id: String,
    warnings: Vec<String>,
}

impl Args {
    fn description(&self, draft: &Draft) -> Result<String, CliError> {
        match self.description.as_deref() {
            Some("-") => files::stdin("the job"),
            Some(text) => Ok(text.to_owned()),
            None if draft.description.trim().is_empty() => {
                let chat = self.chat.as_deref().unwrap_or_default();
                Err(CliError::usage(format!("conversation `{chat}` has written no description down")).hint(
                    format!(
                        "`checkrein chat --session {chat}` goes on with it, or say here what is to be done"
                    ),
                ))
            }
            None => Ok(draft.description.clone()),
        }
    }

    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, CliError> {
        let mut documents: Vec<(String, Vec<u8>)> = Vec::new();
        for path in &self.docs {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if documents.iter().any(|(known, _)| *known == name) {
                return Err(CliError::usage(format!("two documents are called `{name}`"))
                    .hint("the agent finds them by name; rename one"));
            }
            documents.push((name, files::bytes(path)?));
        }
        Ok(documents)
    }

    /// Gives it to a server. Agent, expert and repository are the server's; documents and plan are sent.
    fn sent(&self, remote: &Remote) -> Result<Output, CliError> {
        let draft = match &self.chat {
            Some(chat) => remote.get::<Chat>(&["chats", chat], &[("limit", "1".to_owned())])?.draft,
            None => Draft::default(),
        };
        let block = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.clone()));
        let documents: Vec<Document> = self.documents()?.into_iter().map(Document::from).collect();
        let datasources: BTreeMap<&str, &str> =
            self.datasources.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        let body = json!({
            "description": self.description(&draft)?, "chat": self.chat,
            "expert": self.expert.as_ref().or(draft.expert.as_ref()), "agent": self.agent, "repo": self.repo,
            "documents": documents, "datasources": datasources,
            "plan": self.plan.as_deref().map(files::text).transpose()?,
            "autonomy": self.autonomy.as_ref().or(draft.autonomy.as_ref()).map(block),
            "config_override": self.config_override(&draft).as_ref().map(block), "sandbox": self.sandbox.then_some(true),
            "requires": self.requires,
        });
        let new: NewJobThere = remote.post(&["jobs"], &body)?;
        new.warnings.iter().for_each(warn);
        if self.queue {
            return Ok(Output::text(format!("{}\n", new.run_id)));
        }
        note(format_args!("job {}", new.run_id));
        self.driving.follow(remote, &new.run_id, 0)
    }

    fn config_override(&self, draft: &Draft) -> Option<String> {
        let written = || draft.config_override.clone().map(|over| Value::Object(over).to_string());
        self.config_override.clone().or_else(written)
    }

    fn new_job(&self, draft: &Draft) -> Result<NewJob, CliError> {
        let here = std::env::current_dir()
            .map_err(|error| CliError::failed(format!("there is no current directory: {error}")))?;
        let description = self.description(draft)?;
        let documents = self.documents()?;
        let repository = match &self.repo {
            Some(directory) => RepositoryWanted::At(absolute(&here, directory)),
            None => RepositoryWanted::Around(here.clone()),
        };
        Ok(NewJob {
            description,
            expert: self.expert.clone().or_else(|| draft.expert.clone()),
            agent: self.agent.clone(),
            repository,
            documents,
            datasources: self.datasources.clone(),
            plan: self.plan.as_deref().map(files::text).transpose()?,
            autonomy: self.autonomy.clone().or_else(|| draft.autonomy.clone()),
            config_override: self.config_override(draft),
            sandbox: self.sandbox.then_some(true),
            requires: self.requires.clone(),
            directory: here,
            experts: settings::expert_files(),
            settings_given: self.store.here().names_settings(),
            chat: self.chat.clone(),
        })
    }
}

fn absolute(here: &Path, path: &Path) -> PathBuf {
    if path.is_absolute() { path.to_owned() } else { here.join(path) }
}
