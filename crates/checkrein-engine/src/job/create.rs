//! A job is given: everything that can be wrong with it is said before anything is recorded.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use checkrein_core::config::{CheckreinFile, Expert, ExpertFile, Owner, Settings, Subject, env};
use checkrein_core::document::{Document, Format, Gravity, Problem, Problems};
use checkrein_core::label::Label;
use checkrein_core::plan::Plan;
use checkrein_core::policy::{Layer, LayerRank, Reading, Scope};
use checkrein_core::principal::Principal;
use checkrein_core::run::job::{Datasource, ForgeAt, Isolation, JobDefinition, Repository};
use checkrein_core::run::{Definition, RunId, RunStatus};
use checkrein_forge::{ForgeError, Git, Source, TreePath};
use checkrein_store::{Needs, Reach, Stays};

use super::isolation::{GivenFrom, choose_isolation};
use super::place::{DOCUMENT_BYTES_MAX, JobPlace, unusable, write};
use super::repository::{JobRepository, find_git};
use super::work::blocking;
use crate::authority::{Act, require};
use crate::request::Nonce;
use crate::run::Whose;
use crate::{ClaimedRun, Engine, EngineError};

/// What somebody wants done.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    pub description: String,
    pub expert: Option<String>,
    /// The command, with or without `cmd:` before it.
    pub agent: Option<String>,
    pub repository: RepositoryWanted,
    /// Names and contents.
    pub documents: Vec<(String, Vec<u8>)>,
    /// Names and addresses.
    pub datasources: Vec<(String, String)>,
    /// A plan of one's own, in Markdown.
    pub plan: Option<String>,
    /// A level or a block, given at the start.
    pub autonomy: Option<String>,
    /// JSON: what an expert's file may say, for this job alone.
    pub config_override: Option<String>,
    /// What was said about it; nothing leaves it to the settings and the expert.
    pub sandbox: Option<bool>,
    /// Where a relative path of the agent's command begins.
    pub directory: PathBuf,
    /// The user's own experts: names and files.
    pub experts: Vec<(String, PathBuf)>,
    /// Labels a worker must have to take it up, beside those of its expert.
    pub requires: Vec<Label>,
    /// The project's settings were named by the caller, and are not taken from the base commit.
    pub settings_given: bool,
    /// The conversation it was prepared in, which goes on in it.
    pub chat: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RepositoryWanted {
    /// The one this directory is in, else one of the job's own.
    Around(PathBuf),
    /// The one in this directory, and no other.
    At(PathBuf),
    #[default]
    Own,
}

const BYTES_MAX: usize = 16 << 20;

impl NewJob {
    /// What giving it takes, of somebody elsewhere. Whoever names a command, a place or variables of this
    /// machine, or takes an agent out of its sandbox, could have anything done here.
    pub fn takes(&self) -> Result<Act, EngineError> {
        let over = self.config_override.as_deref().map(read_override).transpose()?;
        let reaches_out = over.is_some_and(|over| {
            let shape = over.shape;
            !shape.agent.is_absent()
                || !shape.environment.is_absent()
                || !shape.sandbox.is_absent()
                || !shape.disk_bytes.is_absent()
                || !shape.memory_bytes.is_absent()
                || !shape.processes.is_absent()
        });
        let own = self.agent.is_none() && self.repository == RepositoryWanted::Own && !reaches_out;
        Ok(if own { Act::GiveJob } else { Act::SendWorkflow })
    }
}

impl Engine {
    /// Records a new job with all it needs; nothing happens yet. What is odd is told.
    pub async fn create_job(&self, by: &Principal, new: NewJob) -> Result<(RunId, Problems), EngineError> {
        require(by, Act::StartRun)?;
        let (id, _, odd) = self.record_job(by, new, None, Whose::Anybodys, GivenFrom::Here).await?;
        // Where that does not come off, a worker here does it.
        let _ = self.hand_to_forge(&id).await;
        Ok((id, odd))
    }

    /// Brings what a new job begins with to its forge, so that it can begin anywhere.
    async fn hand_to_forge(&self, id: &RunId) -> Result<(), EngineError> {
        let run = self.load_run(id).await?.run;
        if !self.roams(&run) {
            return Ok(());
        }
        let lease = self.take_run(id, Reach::Here).await?;
        // Somebody may have begun meanwhile.
        let run = self.load_run(id).await?.run;
        if run.state.status != RunStatus::Created || lease.stays() == Stays::Nowhere {
            return Ok(());
        }
        let (own, place, at) = (run.clone(), JobPlace::of(&self.store, id), self.now().as_second());
        blocking(move || {
            let Some((definition, _)) = own.job() else { return Ok(()) };
            JobRepository::open(&own.id, definition, &place, at)?.hand_over(&place, definition, at)
        })
        .await?;
        crate::forge::entrust(self, &run, &lease).await
    }

    /// The same for whoever drives it right away: nobody else takes it up in between.
    pub async fn start_job(
        &self,
        by: &Principal,
        new: NewJob,
    ) -> Result<(ClaimedRun, Problems), EngineError> {
        require(by, Act::StartRun)?;
        let since = Instant::now();
        let (id, needs, odd) = self.record_job(by, new, None, Whose::Ours, GivenFrom::Here).await?;
        Ok((self.claimed_new(id, &needs, since), odd))
    }

    /// The same for a job that was sent from elsewhere, perhaps twice: what it would have this machine do
    /// for its sender takes more than giving a job.
    pub async fn create_sent_job(
        &self,
        by: &Principal,
        new: NewJob,
        nonce: Option<Nonce>,
    ) -> Result<(RunId, Problems), EngineError> {
        require(by, Act::GiveJob)?;
        require(by, new.takes()?)?;
        let recorded = self.record_job(by, new, nonce, Whose::Anybodys, GivenFrom::Http).await?;
        Ok((recorded.0, recorded.2))
    }

    async fn record_job(
        &self,
        by: &Principal,
        new: NewJob,
        nonce: Option<Nonce>,
        whose: Whose,
        from: GivenFrom,
    ) -> Result<(RunId, Needs, Problems), EngineError> {
        if new.description.trim().is_empty() {
            return Err(EngineError::Empty("description"));
        }
        if new.plan.as_ref().is_some_and(|plan| plan.trim().is_empty()) {
            return Err(EngineError::Empty("plan"));
        }
        for (index, (name, _)) in new.documents.iter().enumerate() {
            let plain = !name.contains('/') && TreePath::from(name.as_str()).is_plain();
            if !plain {
                return Err(EngineError::BadDocument(name.clone()));
            }
            if new.documents.iter().take(index).any(|(known, _)| known == name) {
                return Err(EngineError::SameDocument(name.clone()));
            }
        }
        if let Some(chat) = &new.chat {
            self.chat_before_job(by, chat, nonce).await?;
        }
        let git = find_git()?;
        let source = look(&git, &new.repository)?;
        let mut odd = Problems::default();
        let settings = self.settings_at(&git, source.as_ref(), &new, &mut odd)?;
        let experts =
            Experts { git: &git, source: source.as_ref(), own: &new.experts, directory: &new.directory };
        let expert = new.expert.as_deref().map(|name| experts.find(name)).transpose()?;
        if let Some((file, name)) = expert.as_ref().and_then(Expert::agent_of_project) {
            settings.known_agent(&file.document, name)?;
        }
        let over = new.config_override.as_deref().map(read_override).transpose()?;
        let mut start: Vec<Layer> = Vec::new();
        if let Some(layer) = over.as_ref().and_then(|file| file.layer()) {
            start.push(Layer { rank: LayerRank::Start, ..layer });
        }
        if let Some(text) = &new.autonomy {
            start.push(env::layer(LayerRank::Start, "--autonomy", text.trim())?);
        }
        let subject = expert.as_ref().map_or(Subject::Anyone, Subject::Expert);
        let resolution = settings.resolve(Scope::Job, subject, &start)?;
        odd.extend(resolution.problems);
        let job = Expert::job_settings(expert.as_ref(), over.as_ref());
        let agent = new.agent.clone().or(job.agent).or_else(|| settings.agent().map(str::to_owned));
        let agent = agent.filter(|agent| !agent.trim().is_empty()).ok_or(EngineError::NoAgent)?;
        let agent_spec = settings.agent_named(&agent).map_err(|problem| Problems::from(*problem))?;
        // Where somebody else takes it up, they may have what is not here.
        if whose == Whose::Ours
            && agent_spec.is_none()
            && let Some(word) = unknown_word(&agent, &settings)
        {
            return Err(Problems::from(settings.no_such_agent(word)).into());
        }
        let repository = match &source {
            None => Repository::Own,
            Some(source) => Repository::Existing {
                directory: text(&source.directory)?,
                branch: source.branch.clone(),
                commit: source.commit.to_string(),
            },
        };
        one_variable_each(&new.datasources)?;
        let datasource = |(name, address): &(String, String)| Datasource {
            name: name.clone(),
            variable: Datasource::variable(name),
            shown: Datasource::shown(address),
        };
        let wants_sandbox = new.sandbox == Some(true);
        let refuses_sandbox = new.sandbox == Some(false)
            || over.as_ref().is_some_and(|over| over.shape.sandbox.set() == Some(&false));
        let isolation = choose_isolation(&self.settings, from, wants_sandbox || job.sandbox)?;
        // What somebody wrote is not ignored without a word.
        if from == GivenFrom::Http && refuses_sandbox && isolation == Isolation::Sandbox && !wants_sandbox {
            return Err(EngineError::SandboxRequired);
        }
        let title = new.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let definition = Definition {
            plan: Plan {
                workflow: expert.as_ref().map_or_else(|| "job".to_owned(), |expert| expert.name.clone()),
                description: expert.as_ref().and_then(|expert| expert.description.clone()),
                agent: Some(match &agent_spec {
                    Some(spec) => spec.name.clone(),
                    None => command(&agent, &new.directory),
                }),
                agent_spec: agent_spec.map(Box::new),
                secrets: settings.secrets().cloned().collect(),
                requires: new.requires.iter().cloned().chain(job.requires).collect(),
                phases: Vec::new(),
            },
            policy: resolution.policy,
            target: Some(title.trim().chars().take(120).collect()),
            work_id: None,
            values: Default::default(),
            directory: text(&new.directory)?,
            only: Vec::new(),
            job: Some(Box::new(JobDefinition {
                description: new.description.trim().to_owned(),
                expert: new.expert.clone(),
                instructions: job.instructions,
                repository,
                documents: new.documents.iter().map(|(name, _)| name.clone()).collect(),
                datasources: new.datasources.iter().map(datasource).collect(),
                plan: new.plan.clone(),
                merge: job.merge,
                isolation,
                timeout: job.timeout,
                idle_timeout: job.idle_timeout,
                disk_bytes: job.disk_bytes,
                memory_bytes: job.memory_bytes,
                processes: job.processes,
                environment: job.environment,
                forge: crate::forge::forge_for(&self.settings, &git, source.as_ref())?,
            })),
        };
        let forge = definition.job.as_ref().and_then(|job| job.forge.clone());
        let files = |id: &RunId| self.keep_files(id, &new, forge.as_ref());
        let needs = self.needs_of_new(&definition);
        let id = self.create_with_files(by, definition, (None, nonce), whose, files).await?;
        if let Some(chat) = &new.chat {
            self.attach_chat(chat, &id).await?;
        }
        Ok((id, needs, odd))
    }

    /// What a job of this id needs beside its record. A job without it cannot begin, and says so.
    fn keep_files(&self, id: &RunId, new: &NewJob, forge: Option<&ForgeAt>) -> Result<(), EngineError> {
        let place = JobPlace::of(&self.store, id);
        place.make()?;
        if let Some(at) = forge {
            crate::forge::Pace::of(self, id).begin(at, id, self.now())?;
        }
        place.keep_addresses(&new.datasources)?;
        for (name, content) in &new.documents {
            write(&place.document(name), content)?;
        }
        Ok(())
    }

    /// A job follows the settings of the commit it starts from, never what lies about in a working tree.
    fn settings_at(
        &self,
        git: &Git,
        source: Option<&Source>,
        new: &NewJob,
        odd: &mut Problems,
    ) -> Result<Settings, EngineError> {
        let Some(source) = source.filter(|_| !new.settings_given) else {
            return self.in_project(self.settings.project.clone());
        };
        let mut project = None;
        for name in ["checkrein.yaml", "checkrein.yml"] {
            if let Some(document) = document(git, source, name)? {
                let (file, more) = CheckreinFile::read(&document, Owner::Project, Reading::Strict)?;
                odd.extend(more);
                project = Some(file);
                break;
            }
        }
        if let Some(loose) = &self.settings.project {
            let committed = project.as_ref().map(|file| &file.document.text);
            let message = match committed {
                Some(_) => "the job follows the one in the commit it starts from, which differs",
                None => "it is not in the commit the job starts from, so the job does not follow it",
            };
            if committed != Some(&loose.document.text) {
                let problem = Problem::error(&loose.document.name, message);
                odd.push(Problem { gravity: Gravity::Warning, ..problem });
            }
        }
        self.in_project(project)
    }

    fn in_project(&self, project: Option<CheckreinFile>) -> Result<Settings, EngineError> {
        Ok(self.settings.in_project(project)?)
    }
}

/// Where experts are looked for: in the base commit or the directory, then among the user's own.
struct Experts<'e> {
    git: &'e Git,
    source: Option<&'e Source>,
    own: &'e [(String, PathBuf)],
    directory: &'e Path,
}

const EXPERTS: &str = ".checkrein/experts";

impl Experts<'_> {
    fn find(&self, name: &str) -> Result<Expert, EngineError> {
        let mut known: Vec<String> = match self.source {
            Some(source) => source.names(self.git, EXPERTS)?,
            None => Vec::new(),
        };
        known.extend(self.own.iter().map(|(name, _)| name.clone()));
        known.sort();
        known.dedup();
        let file = |wanted: &str| -> Result<Option<ExpertFile>, Problems> {
            let broken = |error: String| Problems::from(Problem::error(wanted, error));
            let path = format!("{EXPERTS}/{wanted}/config.yaml");
            let committed = match self.source.filter(|_| !wanted.contains(['/', ':'])) {
                Some(source) => {
                    document(self.git, source, &path).map_err(|error| broken(error.to_string()))?
                }
                None => None,
            };
            let (document, owner) = match (committed, self.own.iter().find(|(name, _)| name == wanted)) {
                (Some(document), _) => (document, Owner::Project),
                (None, Some((_, path))) if self.counts(path) => {
                    let text = std::fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
                    let name = path.display().to_string();
                    let document = Arc::new(Document::parse(&name, &text, Format::of_name(&name))?);
                    (document, Owner::of_expert(&name))
                }
                _ => return Ok(None),
            };
            ExpertFile::read(&document, owner).map(|(file, _)| Some(file))
        };
        let found = Expert::find(name, file, &known);
        found.map_err(|problems| {
            let committed = |source: &Source| {
                let path = format!("{EXPERTS}/{name}/config.yaml");
                matches!(source.file(self.git, &path, BYTES_MAX), Ok(Some(_)))
            };
            match self.own.iter().find(|(own, path)| own == name && !self.counts(path)) {
                // What is wrong with one that is committed is said as it is.
                Some((_, path)) if !self.source.is_some_and(committed) => {
                    EngineError::UncommittedExpert { name: name.to_owned(), path: path.clone() }
                }
                _ => problems.into(),
            }
        })
    }

    /// An expert in a repository's working tree counts once it is committed; any other does at once.
    fn counts(&self, path: &Path) -> bool {
        self.source.is_none()
            || !path.ancestors().any(|above| {
                self.directory.starts_with(above)
                    && above.join(EXPERTS).exists()
                    && above.join(".git").exists()
            })
    }
}

/// Why the file of an expert is not what a job in its repository goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// No job there can use it.
    New,
    /// Jobs there use what is committed.
    Changed,
}

/// The experts whose files a job in this directory does not go by.
pub fn uncommitted_experts(files: &[(String, PathBuf)], directory: &Path) -> Vec<(String, Uncommitted)> {
    let Ok(git) = find_git() else { return Vec::new() };
    let Ok(Some(source)) = look(&git, &RepositoryWanted::Around(directory.to_owned())) else {
        return Vec::new();
    };
    let experts = Experts { git: &git, source: Some(&source), own: files, directory };
    let standing = |(name, path): &(String, PathBuf)| {
        if experts.counts(path) {
            return None;
        }
        let committed = source.file(&git, &format!("{EXPERTS}/{name}/config.yaml"), BYTES_MAX).ok()?;
        match committed {
            None => Some((name.clone(), Uncommitted::New)),
            Some(bytes) if std::fs::read(path).is_ok_and(|there| there != bytes) => {
                Some((name.clone(), Uncommitted::Changed))
            }
            Some(_) => None,
        }
    };
    files.iter().filter_map(standing).collect()
}

fn look(git: &Git, wanted: &RepositoryWanted) -> Result<Option<Source>, EngineError> {
    match wanted {
        RepositoryWanted::Own => Ok(None),
        RepositoryWanted::At(directory) => Ok(Some(Source::look(git, directory, None)?)),
        RepositoryWanted::Around(directory) => match Source::look(git, directory, None) {
            Err(ForgeError::NotARepository { .. }) => Ok(None),
            found => Ok(Some(found?)),
        },
    }
}

fn document(git: &Git, source: &Source, path: &str) -> Result<Option<Arc<Document>>, EngineError> {
    let Some(bytes) = source.file(git, path, BYTES_MAX)? else { return Ok(None) };
    let name = format!("{path} of {}", source.commit.as_str().chars().take(10).collect::<String>());
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(Arc::new(Document::parse(&name, &text, Format::of_name(path))?)))
}

/// Two datasources in one variable are one.
fn one_variable_each(datasources: &[(String, String)]) -> Result<(), EngineError> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for (name, _) in datasources {
        let variable = Datasource::variable(name);
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == variable) {
            let message = format!("datasources `{other}` and `{name}` are both in `{variable}`");
            let problem = Problem::error("datasources", message).hint("give one of them another name");
            return Err(Problems::from(problem).into());
        }
        seen.push((variable, name));
    }
    Ok(())
}

fn read_override(text: &str) -> Result<ExpertFile, EngineError> {
    let document = Arc::new(Document::parse("--config-override", text, Format::Json)?);
    if matches!(document.root.value, checkrein_core::document::Value::Null) {
        let problem = Problem::error("--config-override", "expected an object, found null");
        return Err(Problems::from(
            problem.hint("leave it out, or clear one setting: `{\"autonomy\": null}`"),
        )
        .into());
    }
    let (file, _) = ExpertFile::read(&document, Owner::User)?;
    if file.shape.extends.is_some() {
        let message = "an override extends nothing; name the expert itself";
        return Err(Problems::from(Problem::error("--config-override", message)).into());
    }
    Ok(file)
}

/// The command of an agent. A program that is named by a path is found from where the job was given,
/// since the agent works elsewhere.
fn command(agent: &str, directory: &Path) -> String {
    let agent = agent.trim().strip_prefix("cmd:").unwrap_or(agent.trim()).trim();
    let (program, rest) = agent.split_once(char::is_whitespace).unwrap_or((agent, ""));
    let by_path = program.contains('/') && !program.starts_with('/');
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%".contains(c));
    let found = directory.join(program);
    let Ok(found) = found.canonicalize() else { return agent.to_owned() };
    match found.to_str().filter(|_| by_path) {
        Some(path) if plain(path) && rest.is_empty() => path.to_owned(),
        Some(path) if plain(path) => format!("{path} {rest}"),
        Some(path) => format!("'{}' {rest}", path.replace('\'', r"'\''")),
        None => agent.to_owned(),
    }
}

/// The word a command begins with, where a shell knows neither a program nor anything else by it. Of a command that begins
/// with something else than a plain word only the shell knows what it means.
fn unknown_word<'a>(agent: &'a str, settings: &Settings) -> Option<&'a str> {
    let word = agent.split_whitespace().next().filter(|word| !word.starts_with('-'))?;
    if !word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return None;
    }
    let path = settings.environment.iter().find(|(name, _)| name == "PATH")?;
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "command -v \"$1\"", "sh", word]).env_clear().env("PATH", &path.1);
    let found = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| !status.success()).then_some(word)
}

fn text(path: &Path) -> Result<String, EngineError> {
    let not_text =
        || EngineError::RunFiles { path: path.to_owned(), reason: "its name is not UTF-8".to_owned() };
    path.to_str().map(str::to_owned).ok_or_else(not_text)
}

impl JobRepository {
    /// Puts what was handed over on the job's main branch, once.
    pub fn hand_over(
        &self,
        place: &JobPlace,
        definition: &JobDefinition,
        at: i64,
    ) -> Result<(), EngineError> {
        if definition.documents.is_empty() {
            return Ok(());
        }
        let main = self.main()?;
        let mut changes = Vec::new();
        for name in &definition.documents {
            let document = place.document(name);
            let broken = |error: &std::io::Error| unusable(&document.path(), error);
            let content = match document.read(DOCUMENT_BYTES_MAX).map_err(|error| broken(&error))? {
                Some(content) => content,
                // On another machine they are on the branch, which came from the forge with them.
                None if self.copied => continue,
                None => return Err(broken(&std::io::ErrorKind::NotFound.into())),
            };
            let path = definition.repository.artefact(&format!("documents/{name}"));
            changes.push(checkrein_forge::FileChange::Write { path: path.as_str().into(), content });
        }
        let by = self.engine.at(at);
        let branch = self.names.main();
        let message = "documents of the job\n";
        let commit = checkrein_forge::FilesCommit {
            branch: &branch,
            onto: &main,
            by: &by,
            message,
            changes: &changes,
        };
        self.bare.commit_files(&commit)?;
        Ok(())
    }
}
