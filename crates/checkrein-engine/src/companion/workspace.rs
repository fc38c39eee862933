//! The workspace of a job as git has it, and the commits it can be looked at.

use checkrein_core::principal::Principal;
use checkrein_core::run::Run;
use checkrein_forge::{EntryKind, Oid};

use crate::authority::{Act, require};
use crate::job::{JobPlace, JobRepository, blocking};
use crate::search::phase_of_title;
use crate::{Engine, EngineError};

pub(super) struct Workspace {
    pub run: Run,
    pub repository: JobRepository,
}

/// As far back as it is looked where a phase was merged.
const COMMITS_MAX: usize = 2_000;

impl Engine {
    /// Looks at the repository of a job, on a thread that may wait for git.
    pub(super) async fn in_workspace<T: Send + 'static>(
        &self,
        by: &Principal,
        job: &str,
        look: impl FnOnce(&Workspace) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        require(by, Act::Read)?;
        let run = self.load_run(&self.seen_run(by, job).await?).await?.run;
        self.at_hand(&run).await?;
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            look(&Workspace { run, repository })
        })
        .await
    }
}

impl Workspace {
    /// What people call a commit: `head` (the branch of the phase, else the main one), `base` (what the phase was
    /// cut from), `main`, `start` (where the job began), a branch, a phase that was merged, or a commit; each may
    /// be followed by `~N`. Nothing else of git's language is understood.
    pub fn commit(&self, named: Option<&str>) -> Result<Oid, EngineError> {
        let named = named.map(str::trim).filter(|name| !name.is_empty()).unwrap_or("head");
        let at = named.find(['~', '^']).unwrap_or(named.len());
        let (name, steps) = named.split_at(at);
        let none = || EngineError::NoRevision {
            id: self.run.id.clone(),
            revision: named.chars().take(200).collect(),
        };
        let found = match self.named(name)? {
            Some(found) => found,
            None => return self.repository.bare.commit_named(named)?.ok_or_else(none),
        };
        if steps.is_empty() {
            return Ok(found);
        }
        self.repository.bare.commit_named(&format!("{found}{steps}"))?.ok_or_else(none)
    }

    fn named(&self, name: &str) -> Result<Option<Oid>, EngineError> {
        let Some((definition, job)) = self.run.job() else { return Ok(None) };
        let repository = &self.repository;
        let head = || -> Result<Oid, EngineError> {
            Ok(match repository.bare.head(&repository.branch(&job.phase))? {
                Some(head) => head,
                None => repository.main()?,
            })
        };
        Ok(match name {
            "head" | "HEAD" => Some(head()?),
            "main" => Some(repository.main()?),
            "start" => Some(repository.start(definition)?),
            "base" => match job.phase.work.as_deref() {
                Some(work) => Some(Oid::parse(&work.base)?),
                None => repository.bare.merge_base(&repository.main()?, &head()?)?,
            },
            name => {
                let branches = repository.bare.branches()?;
                let is_it = |branch: &str| {
                    branch == name || branch.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
                };
                match branches.into_iter().find(|(branch, _)| is_it(branch)) {
                    Some((_, oid)) => Some(oid),
                    None => self.merged(name)?,
                }
            }
        })
    }

    /// The commit a phase became on the main branch.
    fn merged(&self, phase: &str) -> Result<Option<Oid>, EngineError> {
        if !phase.starts_with("phase-") {
            return Ok(None);
        }
        let commits = self.repository.bare.log(None, &self.repository.main()?, COMMITS_MAX)?;
        let of_phase = |title: &str| phase_of_title(title).is_some_and(|name| name == phase);
        Ok(commits.into_iter().find(|commit| of_phase(commit.title())).map(|commit| commit.oid))
    }
}

pub(super) const fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Executable => "executable",
        EntryKind::Link => "link",
        EntryKind::Submodule => "submodule",
    }
}

/// A text without what is secret here or of a job, before any part of it is picked.
pub(super) fn clean(engine: &Engine, job: &checkrein_core::run::RunId, bytes: &[u8]) -> String {
    String::from_utf8_lossy(&engine.masker(std::slice::from_ref(job)).masked(bytes)).into_owned()
}
