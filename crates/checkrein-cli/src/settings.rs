//! Finds the settings that apply here: the user's, the project's, the tenant's, the environment's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_core::config::{CheckreinFile, Expert, NamedBy, Owner, Settings, Tenant, env};
use checkrein_core::document::{Document, Problems};
use checkrein_core::policy::Reading;

use crate::error::{CliError, warn};
use crate::files;

/// Where to look for the project's settings.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProjectPlace {
    /// Project settings to use instead of the nearest checkrein.yaml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The same for commands that also ask about workers.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Places {
    #[command(flatten)]
    project: ProjectPlace,

    /// Tenant file with workers and their policies
    #[arg(long, value_name = "FILE")]
    tenant: Option<PathBuf>,
}

pub const FILE_NAMES: [&str; 2] = ["checkrein.yaml", "checkrein.yml"];

impl ProjectPlace {
    /// Reads everything but tenants, which have nothing to say here.
    pub fn load(&self) -> Result<Settings, CliError> {
        let (settings, problems) = gather(self, Workers::Ignored, Reading::Strict)?;
        problems.iter().for_each(warn);
        Ok(settings)
    }
}

impl Places {
    /// Reads everything; what is odd but legal is said on stderr.
    pub fn load(&self) -> Result<Settings, CliError> {
        self.load_as(Reading::Strict)
    }

    /// The same, with a say in what becomes of words nobody knows.
    pub fn load_as(&self, reading: Reading) -> Result<Settings, CliError> {
        let (settings, problems) = self.gather(reading)?;
        problems.iter().for_each(warn);
        Ok(settings)
    }

    pub const fn project(&self) -> &ProjectPlace {
        &self.project
    }

    /// Whether the project's settings were named, instead of found.
    pub fn names_settings(&self) -> bool {
        self.project.config.is_some()
    }

    pub fn load_quietly(&self) -> Result<(Settings, Problems), CliError> {
        self.gather(Reading::Strict)
    }

    fn gather(&self, reading: Reading) -> Result<(Settings, Problems), CliError> {
        gather(&self.project, Workers::From(self.tenant.as_deref()), reading)
    }
}

/// Whether workers matter, and the tenant file that was asked for.
enum Workers<'p> {
    Ignored,
    From(Option<&'p Path>),
}

fn gather(
    place: &ProjectPlace,
    workers: Workers<'_>,
    reading: Reading,
) -> Result<(Settings, Problems), CliError> {
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mut problems = env::unknown(environment.iter().map(|(name, _)| name.as_str()));
    let variable = |name: &str| {
        let found = environment.iter().find(|(own, value)| own == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };

    let mut read = |document: Arc<Document>, owner: Owner| -> Result<CheckreinFile, CliError> {
        let (file, more) = CheckreinFile::read(&document, owner, reading)?;
        problems.extend(more);
        Ok(file)
    };
    let user_path = user_file();
    let user = match &user_path {
        Some(path) => Some(read(files::document(path)?, Owner::User)?),
        None => None,
    };
    let project_path = place.config.clone().or_else(project_file);
    // Whoever is at home among their own settings is in no project.
    let project_path = project_path.filter(|path| owner_of(path) == Owner::Project);
    let project = match &project_path {
        // One that is named may be anything a person can name.
        Some(path) if place.config.is_some() => Some(read(files::document(path)?, Owner::Project)?),
        Some(path) => Some(read(files::document_of_project(path, directory_of(path))?, Owner::Project)?),
        None => None,
    };

    let named_in = |file: &Option<CheckreinFile>, path: &Option<PathBuf>| {
        let tenant = file.as_ref()?.shape.tenant.as_ref()?;
        Some(directory_of(path.as_ref()?).join(tenant))
    };
    let tenant_path = match workers {
        Workers::Ignored => None,
        Workers::From(given) => given
            .map(Path::to_owned)
            .or_else(|| variable(env::TENANT))
            .map(|path| (path, NamedBy::Caller))
            .or_else(|| Some((named_in(&project, &project_path)?, NamedBy::Project)))
            .or_else(|| Some((named_in(&user, &user_path)?, NamedBy::User))),
    };
    let tenant = match tenant_path {
        Some((path, named_by)) => {
            let document = match (named_by, &project_path) {
                (NamedBy::Project, Some(project)) => {
                    files::document_of_project(&path, directory_of(project))?
                }
                _ => files::document(&path)?,
            };
            let (tenant, more) = Tenant::read(&document, reading)?;
            problems.extend(more);
            Some((tenant, named_by))
        }
        None => None,
    };
    Ok((Settings::new(user, project, tenant, environment)?, problems))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// The user's own settings: the file that is named, or the one in the configuration directory.
fn user_file() -> Option<PathBuf> {
    match std::env::var_os(env::CONFIG).filter(|path| !path.is_empty()) {
        Some(path) => Some(PathBuf::from(path)),
        None => user_directory().and_then(|directory| settings_in(&directory)),
    }
}

/// Whose a settings file is: the user's own is the one they have it in, all others came with a project.
pub fn owner_of(path: &Path) -> Owner {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let user = user_file().and_then(|user| real(&user));
    if user.is_some() && user == real(path) { Owner::User } else { Owner::Project }
}

fn project_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(settings_in)
}

fn settings_in(directory: &Path) -> Option<PathBuf> {
    FILE_NAMES.iter().map(|name| directory.join(name)).find(|path| path.exists())
}

fn user_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    base.map(|base| base.join("checkrein"))
}

/// Where expert files are looked for, the strongest first.
fn expert_directories() -> Vec<PathBuf> {
    let here = std::env::current_dir().ok();
    let project = here.and_then(|here| files::nearest(&here, ".checkrein/experts"));
    project.into_iter().chain(user_directory().map(|directory| directory.join("experts"))).collect()
}

/// The experts that have a file.
pub fn expert_files() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for directory in expert_directories() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path().join("config.yaml");
            if let Ok(name) = entry.file_name().into_string()
                && path.is_file()
                && !found.iter().any(|(known, _)| *known == name)
            {
                found.push((name, path));
            }
        }
    }
    found.sort();
    found
}

/// An expert with all it extends.
pub fn expert(name: &str) -> Result<Expert, CliError> {
    checkrein_engine::expert_among(&expert_files(), name).map_err(CliError::from)
}
