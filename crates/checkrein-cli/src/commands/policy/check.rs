use std::path::{Path, PathBuf};

use checkrein_core::config::{CheckreinFile, Owner, Settings, Subject, Tenant};
use checkrein_core::document::{Document, Gravity, Problem, Problems};
use checkrein_core::plan::{Context, Plan};
use checkrein_core::policy::{Reading, Scope};
use checkrein_engine::DefinitionError;
use serde::Serialize;

use crate::error::{CliError, Exit, warn};
use crate::output::Output;
use crate::settings::{self, Places};
use crate::{files, workflow};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to check; without any, all settings that apply here
    files: Vec<PathBuf>,
    /// The problems as a JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let mut report = Report::default();
    let settings = match args.places.load_quietly() {
        Ok((settings, problems)) => {
            if args.files.is_empty() {
                report.take(problems);
            } else if !args.json {
                problems.iter().for_each(warn);
            }
            report.found = true;
            settings
        }
        // Nothing runs with them; what is wrong elsewhere is said all the same.
        Err(error) => {
            report.take(error.into());
            Settings::new(None, None, None, Vec::new())?
        }
    };
    if args.files.is_empty() {
        report.everything(&settings);
    }
    for path in &args.files {
        if let Err(problems) = report.file(path, &settings) {
            report.take(problems);
        }
    }
    if args.json { report.json() } else { report.finish() }
}

/// What was looked at, and what is wrong with it.
#[derive(Default)]
struct Report {
    checked: Vec<String>,
    problems: Problems,
    /// Whether the settings here could be read.
    found: bool,
    /// Only what is odd about this file is said.
    about: Option<String>,
}

impl Report {
    /// The settings of this place and every expert.
    fn everything(&mut self, settings: &Settings) {
        let experts = settings::expert_files();
        if self.found {
            self.checked.extend(settings.documents().map(|document| document.name.clone()));
            self.settings(settings);
        }
        for (name, path) in &experts {
            self.checked.push(files::shown(path));
            self.expert(name, &experts, settings);
        }
    }

    /// One file in its place among the settings that apply here.
    fn file(&mut self, path: &Path, settings: &Settings) -> Result<(), Problems> {
        self.about = None;
        let document = files::document(path)?;
        self.checked.push(document.name.clone());
        self.about = Some(document.name.clone());
        match Kind::of(path, &document) {
            Kind::Workflow => {
                let (chain, problems) = workflow::chain(path)?;
                self.take(problems);
                let resolved = settings.resolve(Scope::Workflow, Subject::Workflow(&chain), &[]);
                self.resolved(resolved.map(|resolution| resolution.problems));
                match Plan::resolve(&chain) {
                    Ok((plan, problems)) => {
                        self.take(problems);
                        self.needs_values(&document, &plan);
                        self.needs_agent(&document, plan, settings);
                    }
                    Err(problems) => self.take(problems),
                }
            }
            Kind::Settings => {
                let owner = settings::owner_of(path);
                let (file, problems) = CheckreinFile::read(&document, owner, Reading::Strict)?;
                self.take(problems);
                // The user's own are among those that apply already.
                if owner == Owner::Project {
                    self.settings(&settings.with(Some(file), None)?);
                }
            }
            Kind::Tenant => {
                let (tenant, problems) = Tenant::read(&document, Reading::Strict)?;
                self.take(problems);
                self.settings(&settings.with(None, Some(tenant))?);
            }
            Kind::Expert => {
                let directory = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
                let name = directory.unwrap_or("expert").to_owned();
                let mut experts = settings::expert_files();
                experts.retain(|(known, _)| *known != name);
                experts.push((name.clone(), path.to_owned()));
                self.expert(&name, &experts, settings);
            }
        }
        Ok(())
    }

    /// Frames, each scope, each worker.
    fn settings(&mut self, settings: &Settings) {
        for scope in Scope::ALL {
            self.resolved(settings.resolve(scope, Subject::Anyone, &[]).map(|r| r.problems));
        }
        for worker in settings.workers() {
            self.resolved(settings.resolve(Scope::Worker, Subject::Worker(worker), &[]).map(|r| r.problems));
        }
        for agent in settings.agents() {
            if let Err(problem) = settings.agent_named(agent) {
                self.take(Problems::from(*problem));
            }
        }
        self.take(settings.frame_problems());
    }

    /// Placeholders and files that a run needs. What is given with a run, or made by it, nobody knows here.
    fn needs_values(&mut self, document: &Document, plan: &Plan) {
        let given = ["target", "work_id"].map(|name| (name.to_owned(), String::new()));
        let given = Context::from_iter(given);
        let here = std::env::current_dir().unwrap_or_default();
        let phases = plan.phases.iter().filter(|phase| phase.enabled);
        for task in phases.flat_map(|phase| &phase.tasks) {
            for unfilled in task.unfilled(&given) {
                let id = &task.id;
                let problem = if unfilled.is_missing() {
                    let (message, name) = (unfilled.message, &unfilled.name);
                    let message =
                        format!("`{id}`: {message} unless a run gives one, with `--set {name}=VALUE`");
                    document.problem(Gravity::Notice, &["phases"], message)
                } else {
                    let message = format!("`{id}`: {}", unfilled.message);
                    document.problem(Gravity::Error, &["phases"], message)
                };
                self.take(problem.hint(unfilled.hint).into());
            }
            for text in checkrein_engine::not_there(task, &here) {
                self.take(document.problem(Gravity::Notice, &["phases"], text).into());
            }
        }
    }

    /// What is left to an agent needs one.
    fn needs_agent(&mut self, document: &Document, plan: Plan, settings: &Settings) {
        if let Err(error) = checkrein_engine::with_agent(plan, settings) {
            let (message, hint) = match error {
                DefinitionError::Problems(problems) => return self.take(problems),
                DefinitionError::Refused { message, hint } => (message, hint),
            };
            let mut problem = document.problem(Gravity::Error, &["phases"], message);
            problem.hint = hint;
            self.take(problem.into());
        }
    }

    /// An expert, and all it extends.
    fn expert(&mut self, name: &str, experts: &[(String, PathBuf)], settings: &Settings) {
        match checkrein_engine::expert_among(experts, name) {
            Ok(expert) => {
                let resolved = settings.resolve(Scope::Job, Subject::Expert(&expert), &[]);
                self.resolved(resolved.map(|resolution| resolution.problems));
                if let Some((file, agent)) = expert.agent_of_project()
                    && let Err(problems) = settings.known_agent(&file.document, agent)
                {
                    self.take(problems);
                }
            }
            Err(problems) => self.take(problems),
        }
    }

    fn resolved(&mut self, resolved: Result<Problems, Problems>) {
        let (Ok(problems) | Err(problems)) = resolved;
        self.take(problems);
    }

    /// Layers are shared between questions; the same problem is said once.
    fn take(&mut self, problems: Problems) {
        for problem in problems.0 {
            // What refuses a file is its own business wherever it stands: in what it extends, or beside it.
            let refuses = problem.gravity == Gravity::Error;
            let meant = refuses || self.about.as_ref().is_none_or(|about| *about == problem.source);
            if meant && !self.problems.0.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    fn finish(self) -> Result<Output, CliError> {
        let (notices, refused): (Vec<_>, Vec<_>) =
            self.problems.0.into_iter().partition(|problem| problem.gravity == Gravity::Notice);
        notices.iter().for_each(warn);
        if !refused.is_empty() {
            // A check refuses what a run would only warn about.
            let refused = refused.into_iter().map(|problem| Problem { gravity: Gravity::Error, ..problem });
            return Err(Problems(refused.collect()).into());
        }
        let text = match self.checked.as_slice() {
            [] => "no settings here: the built-in defaults apply\n".to_owned(),
            checked => checked.iter().map(|name| format!("{name}: fine\n")).collect(),
        };
        Ok(Output::text(text))
    }

    fn json(self) -> Result<Output, CliError> {
        let refused = self.problems.iter().any(|problem| problem.gravity > Gravity::Notice);
        let rows: Vec<Row<'_>> = self.problems.iter().map(Row::of).collect();
        Ok(Output::json(&rows)?.exit(if refused { Exit::Usage } else { Exit::Done }))
    }
}

/// A problem as a program reads it.
#[derive(Serialize)]
struct Row<'p> {
    gravity: &'static str,
    source: &'p str,
    line: Option<usize>,
    column: Option<usize>,
    path: &'p str,
    message: &'p str,
    hint: Option<&'p str>,
}

impl<'p> Row<'p> {
    fn of(problem: &'p Problem) -> Row<'p> {
        Row {
            gravity: match problem.gravity {
                Gravity::Notice => "notice",
                Gravity::Warning => "warning",
                Gravity::Error => "error",
            },
            source: &problem.source,
            line: problem.position.map(|position| position.line),
            column: problem.position.map(|position| position.column),
            path: &problem.path,
            message: &problem.message,
            hint: problem.hint.as_deref(),
        }
    }
}

/// What a file is, by its name or by what it says.
enum Kind {
    Workflow,
    Settings,
    Tenant,
    Expert,
}

impl Kind {
    fn of(path: &Path, document: &Document) -> Kind {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let says = |key: &str| document.root.get(key).is_some();
        if says("phases") || says("hooks") || says("extends") {
            Kind::Workflow
        } else if name.starts_with("checkrein.") || says("classify") || says("frames") {
            Kind::Settings
        } else if says("workers") || document.root.get("tenant").is_some_and(|node| node.as_text().is_none())
        {
            Kind::Tenant
        } else if name == "config.yaml" || says("$extends") {
            Kind::Expert
        } else if says("id") {
            Kind::Workflow
        } else {
            Kind::Settings
        }
    }
}
