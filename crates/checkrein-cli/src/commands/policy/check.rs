use std::path::{Path, PathBuf};

use checkrein_core::config::{CheckreinFile, ExpertFile, Settings, Subject, Tenant, Workflow};
use checkrein_core::document::{Document, Gravity, Problems};
use checkrein_core::policy::{LayerRank, Resolution, Scope};

use crate::error::{CliError, warn};
use crate::files;
use crate::output::Output;
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to check; without any, all settings that apply here
    files: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let mut report = Report::default();
    if args.files.is_empty() {
        report.everything(&args.places)?;
    } else {
        let settings = args.places.load()?;
        for path in &args.files {
            report.file(path, &settings)?;
        }
    }
    report.finish()
}

/// What was looked at, and what is wrong with it.
#[derive(Default)]
struct Report {
    checked: Vec<String>,
    problems: Problems,
}

impl Report {
    /// The settings of this place: each file, each scope, each worker, each expert.
    fn everything(&mut self, places: &Places) -> Result<(), CliError> {
        let (settings, problems) = places.load_quietly()?;
        self.problems.extend(problems);
        self.checked.extend(settings.documents().map(|document| document.name.clone()));
        for scope in Scope::ALL {
            self.take(settings.resolve(scope, Subject::Anyone, &[]).map(|r| r.problems));
        }
        for worker in settings.workers() {
            self.take(settings.resolve(Scope::Worker, Subject::Worker(worker), &[]).map(|r| r.problems));
        }
        for (name, path) in settings::expert_files() {
            self.checked.push(files::shown(&path));
            let expert = settings::expert(&name)?;
            self.take(settings.resolve(Scope::Job, Subject::Expert(&expert), &[]).map(|r| r.problems));
        }
        let (_, warnings) = settings.frames();
        for warning in warnings {
            let mut problem = checkrein_core::document::Problem::error("frames", warning);
            problem.gravity = Gravity::Warning;
            self.problems.push(problem);
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, settings: &Settings) -> Result<(), CliError> {
        let document = files::document(path)?;
        self.checked.push(document.name.clone());
        match Kind::of(path, &document) {
            Kind::Workflow => match Workflow::read(&document) {
                Ok((workflow, problems)) => {
                    self.problems.extend(problems);
                    let resolved = settings.resolve(Scope::Workflow, Subject::Workflow(&workflow), &[]);
                    self.take(resolved.map(|resolution| resolution.problems));
                }
                Err(problems) => self.problems.extend(problems),
            },
            Kind::Settings => match CheckreinFile::read(&document) {
                Ok((file, problems)) => {
                    self.problems.extend(problems);
                    for scope in Scope::ALL {
                        let layer = file.layer(LayerRank::ProjectConfig, scope);
                        let resolved = Resolution::resolve(scope, &layer, settings.classifier());
                        self.take(resolved.map(|resolution| resolution.problems));
                    }
                    for worker in file.shape.workers.keys() {
                        self.worker(file.worker_layer(worker).as_ref(), settings);
                    }
                }
                Err(problems) => self.problems.extend(problems),
            },
            Kind::Tenant => match Tenant::read(&document) {
                Ok((tenant, problems)) => {
                    self.problems.extend(problems);
                    for worker in tenant.workers() {
                        self.worker(tenant.layer(worker).as_ref(), settings);
                    }
                }
                Err(problems) => self.problems.extend(problems),
            },
            Kind::Expert => match ExpertFile::read(&document) {
                Ok((file, problems)) => {
                    self.problems.extend(problems);
                    let layer = file.layer();
                    let resolved = Resolution::resolve(Scope::Job, &layer, settings.classifier());
                    self.take(resolved.map(|resolution| resolution.problems));
                }
                Err(problems) => self.problems.extend(problems),
            },
        }
        Ok(())
    }

    fn worker(&mut self, layer: Option<&checkrein_core::policy::Layer>, settings: &Settings) {
        let resolved = Resolution::resolve(Scope::Worker, layer, settings.classifier());
        self.take(resolved.map(|resolution| resolution.problems));
    }

    /// Layers are shared between questions; the same problem is said once.
    fn take(&mut self, resolved: Result<Problems, Problems>) {
        let (Ok(problems) | Err(problems)) = resolved;
        for problem in problems.0 {
            if !self.problems.0.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    fn finish(self) -> Result<Output, CliError> {
        let (notices, refused): (Vec<_>, Vec<_>) =
            self.problems.0.into_iter().partition(|problem| problem.gravity == Gravity::Notice);
        notices.iter().for_each(warn);
        if !refused.is_empty() {
            return Err(Problems(refused).into());
        }
        let text = match self.checked.as_slice() {
            [] => "no settings here: the built-in defaults apply\n".to_owned(),
            checked => checked.iter().map(|name| format!("{name}: fine\n")).collect(),
        };
        Ok(Output::text(text))
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
