//! The repository of a job, its branches and the names commits are made in.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use checkrein_core::run::job::{JobDefinition, JobPhase, Repository};
use checkrein_core::run::{Run, RunId};
use checkrein_forge::{
    Bare, Branch, FileChange, FilesCommit, ForgeError, Git, Identity, Limits, Names, Oid, Source, TreePath,
};

use super::place::JobPlace;
use crate::EngineError;

/// Everything git knows about one job.
pub(crate) struct JobRepository {
    pub bare: Bare,
    pub names: Names,
    pub engine: Identity,
    pub agent: Identity,
    /// Whether it was made of what the forge has: the repository the job started from is on another machine.
    pub copied: bool,
    /// Texts that were read: what a commit has never changes.
    texts: RefCell<HashMap<(Oid, String), Option<String>>>,
}

impl JobRepository {
    /// Opens it; the first time it is made, with the documents of the job on its main branch.
    pub fn open(
        id: &RunId,
        definition: &JobDefinition,
        place: &JobPlace,
        at: i64,
    ) -> Result<JobRepository, EngineError> {
        let git = find_git()?;
        let (engine, agent) = identities()?;
        let (path, copied) = (place.repository(), place.is_copy());
        let names = names_of(id, definition)?;
        let bare = match source(definition)? {
            None if !copied => Bare::create(&git, &path, names.clone(), &engine.at(at))?,
            Some(source) if !path.exists() && !copied => {
                Bare::create_from(&git, &path, names.clone(), &source)?
            }
            _ => Bare::open(&git, &path, names.clone())?,
        };
        let bare = bare.under(place.epoch());
        Ok(JobRepository { bare, names, engine, agent, copied, texts: RefCell::default() })
    }

    /// For whoever only looks: nothing is made.
    pub fn look(run: &Run, place: &JobPlace) -> Result<JobRepository, EngineError> {
        let Some((definition, job)) = run.job() else {
            return Err(EngineError::NotAJob(run.id.clone()));
        };
        let path = place.repository();
        if !path.exists() {
            let begun = job.phase.number > 1 || job.phase.work.is_some();
            let id = run.id.clone();
            return Err(if begun {
                EngineError::NoJobFiles { id, path }
            } else {
                EngineError::NoRepository(id)
            });
        }
        JobRepository::open(&run.id, definition, place, 0)
    }

    pub fn branch(&self, phase: &JobPhase) -> Branch {
        self.names.phase(phase.number, phase.kind(), phase.revision)
    }

    pub fn main(&self) -> Result<Oid, ForgeError> {
        let main = self.names.main();
        let gone =
            || ForgeError::NoBranch { branch: main.to_string(), repository: self.bare.path().to_owned() };
        self.bare.head(&main)?.ok_or_else(gone)
    }

    /// The commit the job started from.
    pub fn start(&self, definition: &JobDefinition) -> Result<Oid, ForgeError> {
        match &definition.repository {
            Repository::Existing { commit, .. } => Oid::parse(commit),
            Repository::Own => self.bare.root(&self.main()?),
        }
    }

    /// What the result of a job is compared with: the commit it started from, or what the branch took in since of the one
    /// it started from.
    pub fn compared_with(&self, definition: &JobDefinition, head: &Oid) -> Result<Oid, ForgeError> {
        match self.bare.head(&self.names.base())?.filter(|_| definition.repository != Repository::Own) {
            Some(base) => match self.bare.merge_base(&base, head)? {
                Some(common) => Ok(common),
                None => self.start(definition),
            },
            None => self.start(definition),
        }
    }

    /// Shows a branch in the repository the job started from. The job's own is what counts, so that this
    /// cannot be done is no harm.
    pub fn mirror(&self, definition: &JobDefinition, branch: &Branch) {
        if let Some(source) = self.source(definition) {
            let _ = self.bare.mirror(&source, branch);
        }
    }

    /// Takes a branch away there, once everything on it is merged.
    pub fn unmirror(&self, definition: &JobDefinition, branch: &Branch, merged: &Oid) {
        if let Some(source) = self.source(definition) {
            let _ = self.bare.unmirror(&source, branch, merged);
        }
    }

    /// Takes over what people committed on a branch there.
    pub fn take_mirrored(&self, definition: &JobDefinition, branch: &Branch) {
        if let Some(source) = self.source(definition) {
            let _ = self.bare.take_mirrored(&source, branch);
        }
    }

    /// The repository the job started from, where it is on this machine.
    pub(super) fn source(&self, definition: &JobDefinition) -> Option<Source> {
        if self.copied { None } else { source(definition).ok().flatten() }
    }

    /// A text on a branch, where there is one.
    pub fn text(&self, commit: &Oid, path: &str) -> Option<String> {
        let key = (commit.clone(), path.to_owned());
        if let Some(known) = self.texts.borrow().get(&key) {
            return known.clone();
        }
        self.read_texts(commit, &[path]);
        self.texts.borrow().get(&key).cloned().flatten()
    }

    /// Reads several texts with one call of git, for those who ask for them next.
    pub fn read_texts(&self, commit: &Oid, paths: &[&str]) {
        let found = self.bare.show_files(commit, paths, TEXT_BYTES_MAX).unwrap_or_default();
        let found = found.into_iter().map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
        let mut texts = self.texts.borrow_mut();
        for (path, text) in paths.iter().zip(found) {
            texts.insert((commit.clone(), (*path).to_owned()), text);
        }
    }

    /// Commits files of the engine's own; those that are as they should be already are none.
    pub fn write(
        &self,
        branch: &Branch,
        onto: &Oid,
        files: &[(String, Option<String>)],
        message: &str,
        at: i64,
    ) -> Result<Oid, ForgeError> {
        let changes: Vec<FileChange> = files
            .iter()
            .filter(|(path, content)| self.text(onto, path) != *content)
            .map(|(path, content)| {
                let path = TreePath::from(path.as_str());
                match content {
                    Some(content) => FileChange::Write { path, content: content.clone().into_bytes() },
                    None => FileChange::Delete { path },
                }
            })
            .collect();
        if changes.is_empty() {
            return Ok(onto.clone());
        }
        let by = self.engine.at(at);
        self.bare.commit_files(&FilesCommit { branch, onto, by: &by, message, changes: &changes })
    }
}

/// In whose names commits are made: the engine's and the agent's.
pub(crate) fn identities() -> Result<(Identity, Identity), ForgeError> {
    let engine = Identity::new("checkrein", "engine@checkrein.invalid")?;
    Ok((engine, Identity::new("agent", "agent@checkrein.invalid")?))
}

/// The names of a job's branches.
pub(crate) fn names_of(id: &RunId, definition: &JobDefinition) -> Result<Names, ForgeError> {
    match &definition.repository {
        Repository::Own => Ok(Names::Own),
        Repository::Existing { .. } => Names::within(id.as_str()),
    }
}

/// No text of a plan or a list of todos is larger.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// How much of an agent's work is taken: its commits bring no more than it may have on disk. Of its files as many as
/// usual are: an agent that had more was ended for it, and what it had done is kept.
pub(crate) fn limits(definition: &JobDefinition) -> Limits {
    let usual = Limits::default();
    Limits { commits_bytes: usual.commits_bytes.min(definition.disk_bytes), ..usual }
}

/// Found once: a program's `PATH` does not change under it.
pub(crate) fn find_git() -> Result<Git, ForgeError> {
    static FOUND: OnceLock<Git> = OnceLock::new();
    if let Some(git) = FOUND.get() {
        return Ok(git.clone());
    }
    let git = Git::find_in(&std::env::var_os("PATH").unwrap_or_default())?;
    Ok(FOUND.get_or_init(|| git).clone())
}

/// The repository a job started from.
pub(crate) fn source(definition: &JobDefinition) -> Result<Option<Source>, ForgeError> {
    match &definition.repository {
        Repository::Own => Ok(None),
        Repository::Existing { directory, branch, commit } => {
            Ok(Some(Source::again(Path::new(directory), branch.clone(), Oid::parse(commit)?)))
        }
    }
}
