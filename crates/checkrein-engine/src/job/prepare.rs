//! Before an attempt: its branch, its clone and its brief.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use checkrein_core::config::{Settings, env};
use checkrein_core::run::job::{BriefJson, Datasource, JobDefinition, JobPhase, JobState, brief};
use checkrein_core::run::{Run, UnderWay};
use checkrein_forge::{Branch, Collect, DiffLimits, ForgeError, LineKind, Oid};

use super::artefacts;
use super::hand_in::AttemptFiles;
use super::place::JobPlace;
use super::repository::{JobRepository, limits};
use super::work::{blocking, changes};
use crate::agent::variables_of;
use crate::{Engine, EngineError};

/// An attempt that can begin.
pub(super) struct Prepared {
    pub repository: JobRepository,
    pub branch: Branch,
    /// Where the phase was cut from the job's main branch.
    pub base: Oid,
    /// What the agent begins with.
    pub start: Oid,
    pub clone: PathBuf,
    pub brief: String,
    pub brief_file: PathBuf,
    pub files: AttemptFiles,
}

pub(super) fn prepare(
    run: &Run,
    under_way: &UnderWay,
    place: &JobPlace,
    at: i64,
) -> Result<Prepared, EngineError> {
    let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let phase = &job.phase;
    place.make()?;
    let repository = JobRepository::open(&run.id, definition, place, at)?;
    let branch = repository.branch(phase);
    if phase.number == 1 && repository.bare.head(&branch)?.is_none() {
        repository.hand_over(place, definition, at)?;
    }
    let main = repository.main()?;
    if repository.bare.head(&branch)?.is_none() {
        repository.bare.cut_branch(&branch, &main)?;
    } else {
        repository.take_mirrored(definition, &branch);
    }
    let clone = place.clone();
    let findings = take_back(&repository, definition, &branch, &clone, at)?;
    let head = head(&repository, &branch)?;
    let base = match head == main {
        true => main,
        false => repository.bare.merge_base(&main, &head)?.unwrap_or(main),
    };
    read_own(&repository, definition, phase, &head);
    let mut on_branch = on_branch(&repository, definition, job, &head);
    if let Some(attempt) = &phase.unfinished {
        let since = attempt.since.as_deref().and_then(|since| Oid::parse(since).ok());
        let since = since.unwrap_or_else(|| base.clone());
        let own = definition.repository.artefacts();
        on_branch.left = left_in_clone(&repository, own, &since, &head, findings)?;
    }
    // The level may be another one since it was written; the file is brought up to date right after.
    on_branch.workspace = on_branch.workspace.map(|known| brief::with_level(&known, run));
    let brief = brief::brief(run, &on_branch);
    let brief_json = BriefJson::of(run, &on_branch);
    begin(&repository, run, definition, &branch, &head, at)?;
    let start = repository.bare.create_clone(&clone, &branch, &repository.agent)?;
    let files = AttemptFiles::begin(place, under_way.start, &brief, brief_json.as_ref())?;
    let brief_file = files.brief.path().with_file_name("brief.md");
    Ok(Prepared { repository, branch, base, start, clone, brief, brief_file, files })
}

/// The job's own files are read together.
pub(super) fn read_own(repository: &JobRepository, definition: &JobDefinition, phase: &JobPhase, head: &Oid) {
    let archived = |what: &str| format!("archive/{}-{what}", phase.name());
    let names = ["workspace.md", "plan.md", "todos.yaml", "feedback.md", "tools/agent.md"].map(str::to_owned);
    let archived = [archived("todos.yaml"), archived("retrospective.md")];
    let paths: Vec<String> =
        names.iter().chain(&archived).map(|name| definition.repository.artefact(name)).collect();
    repository.read_texts(head, &paths.iter().map(String::as_str).collect::<Vec<_>>());
}

/// What an attempt without a result left, as the next one is told.
fn left_in_clone(
    repository: &JobRepository,
    own: &str,
    since: &Oid,
    head: &Oid,
    left_out: Vec<String>,
) -> Result<brief::LeftInClone, EngineError> {
    let mut commits = repository.bare.log(Some(since), head, COMMITS_MAX)?;
    commits.reverse();
    let by_agent = |commit: &&checkrein_forge::Commit| commit.author_email == repository.agent.email();
    let mut files = changes(&repository.bare.changed_files(since, head)?);
    files.retain(|file| !artefacts::is_record(own, &file.path));
    let commits = commits.iter().filter(by_agent).map(|commit| commit.title().to_owned()).collect();
    Ok(brief::LeftInClone { commits, files, left_out })
}

/// Takes what an interrupted attempt left in its clone to the branch, before the clone is made again. Says what
/// could not be taken.
pub(crate) fn take_back(
    repository: &JobRepository,
    definition: &JobDefinition,
    branch: &Branch,
    clone: &Path,
    at: i64,
) -> Result<Vec<String>, EngineError> {
    if clone.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let collected = repository.bare.collect(&Collect {
        clone,
        branch,
        agent: &repository.agent,
        engine: &repository.engine,
        at_seconds: at,
        message: "work of an attempt that was interrupted\n",
        limits: limits(definition),
    });
    match collected {
        Ok(collected) => {
            repository.bare.rest_clone(clone, &collected)?;
            return Ok(collected.findings.iter().map(ToString::to_string).collect());
        }
        // A clone of another branch holds nothing that was not taken when that one ended.
        Err(ForgeError::NoClone { .. } | ForgeError::NoBranch { .. }) => {
            repository.bare.discard_clone(clone)?;
        }
        // Nobody would get further with it the next time.
        Err(error @ (ForgeError::TimedOut { .. } | ForgeError::TooMuchOutput { .. })) => {
            repository.bare.discard_clone(clone)?;
            return Ok(vec![format!("what the agent left is too much to be taken: {error}")]);
        }
        Err(ForgeError::File { .. }) if !is_there(clone) => repository.bare.discard_clone(clone)?,
        // What cannot be read now cannot be read later either.
        Err(ForgeError::File { path, reason }) if path == clone => {
            repository.bare.discard_clone(clone)?;
            return Ok(vec![format!("what the agent left cannot be read: {reason}")]);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Vec::new())
}

/// Whether a clone is still what it was made as; an agent can put anything in its place.
pub(super) fn is_there(clone: &Path) -> bool {
    clone.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Takes what is in the clone of a job to its branch, when nobody works in it any more.
pub(crate) async fn keep_work(engine: &Engine, run: &Run) -> Result<(), EngineError> {
    let place = JobPlace::of(&engine.store, &run.id);
    if run.job().is_none() || !place.repository().exists() {
        return Ok(());
    }
    let (run, at) = (run.clone(), engine.now().as_second());
    blocking(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((definition, job)) = run.job() else { return Ok(()) };
        take_back(&repository, definition, &repository.branch(&job.phase), &place.clone(), at)?;
        Ok(repository.bare.discard_rested(&place.clone())?)
    })
    .await
}

fn head(repository: &JobRepository, branch: &Branch) -> Result<Oid, EngineError> {
    let gone =
        || ForgeError::NoBranch { branch: branch.to_string(), repository: repository.bare.path().to_owned() };
    Ok(repository.bare.head(branch)?.ok_or_else(gone)?)
}

/// What the agent begins with: its workspace, what it has, and what people want changed.
fn begin(
    repository: &JobRepository,
    run: &Run,
    definition: &JobDefinition,
    branch: &Branch,
    head: &Oid,
    at: i64,
) -> Result<(), EngineError> {
    let own = |name: &str| definition.repository.artefact(name);
    let workspace = own("workspace.md");
    let known = repository.text(head, &workspace).unwrap_or_else(|| brief::first_workspace(run));
    let mut files = vec![
        (workspace, Some(brief::with_level(&known, run))),
        (own("tools/agent.md"), Some(brief::tools(run))),
    ];
    if let Some(feedback) = brief::feedback(run) {
        files.push((own("feedback.md"), Some(format!("# Feedback\n\n{}\n", feedback.trim_end()))));
    }
    repository.write(branch, head, &files, "checkrein: what the phase begins with\n", at)?;
    Ok(())
}

fn on_branch(
    repository: &JobRepository,
    definition: &JobDefinition,
    job: &JobState,
    head: &Oid,
) -> brief::OnBranch {
    let (phase, untold) = (&job.phase, job.untold.as_ref());
    let text = |name: &str| repository.text(head, &definition.repository.artefact(name));
    let mut on_branch = brief::OnBranch {
        plan: text("plan.md"),
        workspace: text("workspace.md"),
        main: repository.names.main().to_string(),
        base: repository.names.base().to_string(),
        ..Default::default()
    };
    let changed = match (&phase.work, untold) {
        (Some(work), _) => Oid::parse(&work.left).ok().zip(Some(head.clone())),
        (None, Some(untold)) => Oid::parse(&untold.left).ok().zip(Oid::parse(&untold.head).ok()),
        (None, None) => None,
    };
    let Some((left, head)) = changed.filter(|(left, head)| left != head) else { return on_branch };
    let machines = [&repository.engine, &repository.agent];
    let commits =
        repository.bare.human_commits(Some(&left), &head, &machines, COMMITS_MAX).unwrap_or_default();
    if commits.is_empty() {
        return on_branch;
    }
    on_branch.human_commits =
        commits.iter().map(|commit| format!("{}: {}", commit.author_name, commit.title())).collect();
    on_branch.human_diff = diff_text(repository, &left, &head).ok();
    on_branch
}

const COMMITS_MAX: usize = 100;
const DIFF_BYTES_MAX: usize = 64 << 10;

/// A diff as agents read it.
fn diff_text(repository: &JobRepository, old: &Oid, new: &Oid) -> Result<String, ForgeError> {
    let diff = repository.bare.diff(old, new, &DiffLimits::default())?;
    let mut out = String::new();
    for file in &diff.files {
        out.push_str(&format!("--- {0}\n+++ {0}\n", file.path));
        for hunk in &file.hunks {
            let first = |number: fn(&checkrein_forge::Line) -> Option<u32>| {
                hunk.lines.iter().find_map(number).unwrap_or(0)
            };
            out.push_str(&format!(
                "@@ -{} +{} @@\n",
                first(|line| line.old_number),
                first(|line| line.new_number)
            ));
            for line in &hunk.lines {
                let sign = match line.kind {
                    LineKind::Same => ' ',
                    LineKind::Added => '+',
                    LineKind::Removed => '-',
                };
                out.push(sign);
                out.push_str(&line.text);
                out.push('\n');
            }
            if out.len() > DIFF_BYTES_MAX {
                out.push_str("… and more; look at it with git\n");
                return Ok(out);
            }
        }
    }
    Ok(out)
}

/// Where the job's own files are, seen from the clone.
pub(super) fn own_files(definition: &JobDefinition) -> &'static str {
    match definition.repository.artefacts() {
        "" => ".",
        own => own.trim_end_matches('/'),
    }
}

/// What every program needs; anything else is named by whoever gives the job.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// How an agent that runs elsewhere hands in.
pub(super) struct ByHttp {
    pub token: String,
    /// Where, if people find the server somewhere.
    pub url: Option<String>,
}

/// The whole environment of an agent: an allow-list, and what it is told.
pub(super) fn environment(
    run: &Run,
    settings: &Settings,
    prepared: &Prepared,
    addresses: &[(String, String)],
    cache: Option<PathBuf>,
    by_http: &ByHttp,
) -> Vec<(OsString, OsString)> {
    let Some((definition, job)) = run.job() else { return Vec::new() };
    let phase = &job.phase;
    let of_agent: Vec<String> = run
        .definition
        .plan
        .agent_spec
        .iter()
        .flat_map(|spec| variables_of(spec))
        .map(|(name, _)| name)
        .collect();
    let wanted = |name: &str| {
        let named = definition.environment.iter().chain(&of_agent).any(|known| known == name);
        let ours = name.starts_with("CHECKREIN_");
        // What opens the forge is no agent's, whoever names it.
        let opens = settings.forge_variables().any(|known| known == name);
        !ours && !opens && (named || PASSED_ON.contains(&name) || name.starts_with("LC_"))
    };
    let inherited = settings.environment.iter().filter(|(name, _)| wanted(name));
    let mut environment: Vec<(OsString, OsString)> =
        inherited.map(|(name, value)| (name.into(), value.into())).collect();
    let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
    set("CHECKREIN_JOB_ID", run.id.as_str().into());
    set("CHECKREIN_RUN_ID", run.id.as_str().into());
    set("CHECKREIN_PHASE", phase.name().into());
    set("CHECKREIN_PHASE_NUMBER", phase.number.to_string().into());
    set("CHECKREIN_PHASE_KIND", phase.attempt_kind().to_string().into());
    set("CHECKREIN_ROUND", phase.round.to_string().into());
    set("CHECKREIN_AUTONOMY", run.policy().level.as_deref().unwrap_or("custom").into());
    set("CHECKREIN_JOB_FILES", own_files(definition).into());
    set("CHECKREIN_BRIEF", prepared.brief_file.clone().into());
    set(env::BRIEF_JSON, prepared.files.brief.path().into());
    set(env::RESULT, prepared.files.result.path().into());
    set(env::ATTEMPT_TOKEN, (&by_http.token).into());
    if let Some(url) = &by_http.url {
        set(env::MCP_URL, url.into());
    }
    if let Some(cache) = cache {
        set("XDG_CACHE_HOME", cache.into());
    }
    for (name, address) in addresses {
        set(&Datasource::variable(name), address.into());
    }
    environment
}
