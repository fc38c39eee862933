//! Experts: which there are, and what each comes to.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein_core::config::{BUILTIN_EXPERTS, Expert, ExpertFile, JobSettings, Owner, Settings, Subject};
use checkrein_core::document::{Document, Format, Problem, Problems};
use checkrein_core::policy::{Resolution, Scope};
use checkrein_core::principal::Principal;

use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// The experts that have a file: names and files.
pub type ExpertFiles = [(String, PathBuf)];

/// An expert with everything it extends, and what that comes to here.
#[derive(Clone, Debug)]
pub struct FoundExpert {
    pub expert: Expert,
    pub resolution: Resolution,
    pub job: JobSettings,
    /// Its own, or the one of the settings.
    pub agent: Option<String>,
}

/// An expert in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertRow {
    pub name: String,
    pub level: Option<String>,
    pub description: Option<String>,
    /// None is built in.
    pub file: Option<PathBuf>,
}

/// An expert with all it extends, from these files and the built-in ones.
pub fn expert_among(files: &ExpertFiles, name: &str) -> Result<Expert, Problems> {
    let known: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let file = |wanted: &str| {
        let Some((_, path)) = files.iter().find(|(name, _)| name == wanted) else { return Ok(None) };
        // As a person would write it from here.
        let here = std::env::current_dir().ok();
        let near = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
        let shown = near.unwrap_or(path).display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::error(&shown, format!("it cannot be read: {error}")))?;
        let document = Document::parse(&shown, &text, Format::of_name(&shown))?;
        let owner = Owner::of_expert(&path.display().to_string());
        ExpertFile::read(&Arc::new(document), owner).map(|(file, _)| Some(file))
    };
    Expert::find(name, file, &known)
}

/// What an expert comes to.
pub fn find_expert(settings: &Settings, files: &ExpertFiles, name: &str) -> Result<FoundExpert, Problems> {
    let expert = expert_among(files, name)?;
    if let Some((file, name)) = expert.agent_of_project() {
        settings.known_agent(&file.document, name)?;
    }
    let resolution = settings.resolve(Scope::Job, Subject::Expert(&expert), &[])?;
    let job = Expert::job_settings(Some(&expert), None);
    let agent = job.agent.clone().or_else(|| settings.agent().map(str::to_owned));
    Ok(FoundExpert { expert, resolution, job, agent })
}

/// All there are. One that is broken does not hide the others; what is wrong with it is said beside.
pub fn list_experts(settings: &Settings, files: &ExpertFiles) -> (Vec<ExpertRow>, Problems) {
    let builtin = BUILTIN_EXPERTS.iter().map(|expert| expert.name.to_owned());
    let mut names: Vec<String> = builtin.chain(files.iter().map(|(name, _)| name.clone())).collect();
    names.sort();
    names.dedup();
    let mut problems = Problems::default();
    let mut rows = Vec::new();
    for name in names {
        let file = files.iter().find(|(known, _)| *known == name).map(|(_, path)| path.clone());
        match find_expert(settings, files, &name) {
            Ok(FoundExpert { expert, resolution, .. }) => {
                let (level, description) = (resolution.policy.level, expert.description);
                rows.push(ExpertRow { name, level, description, file });
            }
            Err(more) => problems.extend(more),
        }
    }
    (rows, problems)
}

impl Engine {
    pub fn experts(&self, by: &Principal, files: &ExpertFiles) -> Result<Vec<ExpertRow>, EngineError> {
        require(by, Act::Read)?;
        Ok(list_experts(&self.settings, files).0)
    }

    pub fn expert(
        &self,
        by: &Principal,
        files: &ExpertFiles,
        name: &str,
    ) -> Result<FoundExpert, EngineError> {
        require(by, Act::Read)?;
        let builtin = BUILTIN_EXPERTS.iter().any(|expert| expert.name == name);
        if !builtin && !files.iter().any(|(known, _)| known == name) {
            return Err(EngineError::NoExpert(name.to_owned()));
        }
        Ok(find_expert(&self.settings, files, name)?)
    }
}
