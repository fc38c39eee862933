use std::path::{Path, PathBuf};

use checkrein_core::config::{CheckreinFile, Settings, Subject, Tenant};
use checkrein_core::document::{Document, Gravity, Problem, Problems};
use checkrein_core::plan::Plan;
use checkrein_core::policy::Scope;
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
    if args.files.is_empty() {
        if let Err(error) = report.everything(&args.places) {
            report.take(error.into());
        }
    } else {
        let loaded = if args.json {
            args.places.load_quietly().map(|(settings, _)| settings)
        } else {
            args.places.load()
        };
        match loaded {
            Ok(settings) => {
                for path in &args.files {
                    if let Err(problems) = report.file(path, &settings) {
                        report.take(problems);
                    }
                }
            }
            Err(error) => report.take(error.into()),
        }
    }
    if args.json { report.json() } else { report.finish() }
}

/// What was looked at, and what is wrong with it.
#[derive(Default)]
struct Report {
    checked: Vec<String>,
    problems: Problems,
    /// Only what is wrong with this file counts.
    about: Option<String>,
}

impl Report {
    /// The settings of this place and every expert.
    fn everything(&mut self, places: &Places) -> Result<(), CliError> {
        let experts = settings::expert_files();
        let (settings, problems) = places.load_quietly()?;
        self.take(problems);
        self.checked.extend(settings.documents().map(|document| document.name.clone()));
        self.settings(&settings);
        for (name, path) in &experts {
            self.checked.push(files::shown(path));
            self.expert(name, &experts, &settings);
        }
        Ok(())
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
                // A file that only sets a policy has nothing to run, and need not.
                if chain.iter().any(|workflow| !workflow.file.phases.is_empty()) {
                    self.resolved(Plan::resolve(&chain).map(|(_, problems)| problems));
                }
            }
            Kind::Settings => {
                let (file, problems) = CheckreinFile::read(&document)?;
                self.take(problems);
                self.settings(&settings.with(Some(file), None).map_err(|error| unusable(&document, error))?);
            }
            Kind::Tenant => {
                let (tenant, problems) = Tenant::read(&document)?;
                self.take(problems);
                self.settings(
                    &settings.with(None, Some(tenant)).map_err(|error| unusable(&document, error))?,
                );
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
        self.take(settings.frame_problems());
    }

    /// An expert, and all it extends.
    fn expert(&mut self, name: &str, experts: &[(String, PathBuf)], settings: &Settings) {
        match checkrein_engine::expert_among(experts, name) {
            Ok(expert) => {
                let resolved = settings.resolve(Scope::Job, Subject::Expert(&expert), &[]);
                self.resolved(resolved.map(|resolution| resolution.problems));
            }
            Err(problems) => {
                // What it extends may be broken in a file of its own, and so is this one.
                self.about = None;
                self.take(problems);
            }
        }
    }

    fn resolved(&mut self, resolved: Result<Problems, Problems>) {
        let (Ok(problems) | Err(problems)) = resolved;
        self.take(problems);
    }

    /// Layers are shared between questions; the same problem is said once.
    fn take(&mut self, problems: Problems) {
        for problem in problems.0 {
            let meant = self.about.as_ref().is_none_or(|about| *about == problem.source);
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

fn unusable(document: &Document, error: impl std::fmt::Display) -> Problems {
    Problem::error(&document.name, error.to_string()).path("classify").into()
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
