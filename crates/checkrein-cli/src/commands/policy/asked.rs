//! Whose policy is asked for: the options `show` and `explain` share.

use std::path::PathBuf;

use checkrein_core::config::{Settings, Subject, env};
use checkrein_core::document::closest;
use checkrein_core::policy::{LayerRank, Reading, Resolution, Scope};

use crate::error::{CliError, warn};
use crate::files;
use crate::remote::Remote;
use crate::settings::{self, Places};
use crate::workflow;

#[derive(Debug, clap::Args)]
pub struct Asked {
    /// What the policy is for [default: workflow, or what the other options say]
    #[arg(long, value_parser = scope, value_name = "workflow|worker|job")]
    scope: Option<Scope>,

    /// The policy of this worker
    #[arg(long, value_name = "NAME", conflicts_with_all = ["expert", "workflow"])]
    worker: Option<String>,

    /// The policy of this expert's jobs
    #[arg(long, value_name = "NAME", conflicts_with = "workflow")]
    expert: Option<String>,

    /// The policy of this workflow file
    #[arg(long, value_name = "FILE")]
    workflow: Option<PathBuf>,

    /// A level or a JSON block on top, as it would be given at the start of a run
    #[arg(long, value_name = "LEVEL|JSON")]
    autonomy: Option<String>,

    /// Ask this server instead of files here, with the token in $CHECKREIN_TOKEN
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    #[command(flatten)]
    places: Places,
}

fn scope(text: &str) -> Result<Scope, String> {
    let found = Scope::ALL.into_iter().find(|scope| scope.name() == text);
    found.ok_or_else(|| "expected workflow, worker or job".to_owned())
}

impl Asked {
    /// The policy, with what is odd about it said on stderr.
    pub fn resolve(&self) -> Result<Resolution, CliError> {
        if let Some(url) = &self.server {
            return self.asked_there(&Remote::at(url)?);
        }
        let settings = self.places.load_as(Reading::Coercing)?;
        let scope = self.scope()?;
        let start = match &self.autonomy {
            Some(text) => vec![env::layer(LayerRank::Start, "--autonomy", text.trim())?],
            None => Vec::new(),
        };
        let resolution = if let Some(worker) = &self.worker {
            warn_of_misspelt_worker(&settings, worker);
            settings.resolve_as(Reading::Coercing, scope, Subject::Worker(worker), &start)?
        } else if let Some(name) = &self.expert {
            settings.resolve_as(
                Reading::Coercing,
                scope,
                Subject::Expert(&settings::expert(name)?),
                &start,
            )?
        } else if let Some(path) = &self.workflow {
            let (chain, problems) = workflow::chain(path)?;
            problems.iter().for_each(warn);
            settings.resolve_as(Reading::Coercing, scope, Subject::Workflow(&chain), &start)?
        } else {
            settings.resolve_as(Reading::Coercing, scope, Subject::Anyone, &start)?
        };
        resolution.problems.iter().for_each(warn);
        Ok(resolution)
    }

    fn asked_there(&self, remote: &Remote) -> Result<Resolution, CliError> {
        if self.workflow.is_some() {
            return Err(CliError::usage("a server knows no workflow files")
                .hint("leave `--workflow` out, or `--server`"));
        }
        let wanted = [
            ("scope", self.scope.map(|scope| scope.name().to_owned())),
            ("worker", self.worker.clone()),
            ("expert", self.expert.clone()),
            ("autonomy", self.autonomy.clone()),
        ];
        let query: Vec<(&str, String)> =
            wanted.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        remote.get(&["policies", "explain"], &query)
    }

    /// The title of an answer: `job, expert coder`.
    pub fn title(&self) -> String {
        let scope = self.scope().map_or("", Scope::name);
        if let Some(worker) = &self.worker {
            format!("worker `{worker}`")
        } else if let Some(expert) = &self.expert {
            format!("jobs of expert `{expert}`")
        } else if let Some(path) = &self.workflow {
            format!("workflow {}", files::shown(path))
        } else {
            format!("{scope}s")
        }
    }

    fn scope(&self) -> Result<Scope, CliError> {
        let implied = if self.worker.is_some() {
            Some((Scope::Worker, "--worker"))
        } else if self.expert.is_some() {
            Some((Scope::Job, "--expert"))
        } else if self.workflow.is_some() {
            Some((Scope::Workflow, "--workflow"))
        } else {
            None
        };
        match (self.scope, implied) {
            (Some(given), Some((scope, option))) if given != scope => Err(CliError::usage(format!(
                "`{option}` asks for a {scope}'s policy, `--scope {given}` for another"
            ))
            .hint(format!("leave `--scope` out or say `--scope {scope}`"))),
            (given, implied) => Ok(given.or(implied.map(|(scope, _)| scope)).unwrap_or(Scope::Workflow)),
        }
    }
}

/// A worker needs no entry, but one that is nearly another's name is probably misspelt.
fn warn_of_misspelt_worker(settings: &Settings, worker: &str) {
    let known = settings.workers();
    if !known.contains(&worker)
        && let Some(near) = closest(worker, known.iter().copied())
    {
        warn(format_args!(
            "worker `{worker}` has no entry, the default applies\n  hint: did you mean `{near}`?"
        ));
    }
}
