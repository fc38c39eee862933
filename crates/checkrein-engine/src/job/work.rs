//! One attempt of a job: the agent works in its clone, and what it left becomes a commit and a result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use checkrein_core::activity::Told;
use checkrein_core::boundary::PhaseKind;
use checkrein_core::config::Settings;
use checkrein_core::config::agent::{AgentKind, AgentSpec};
use checkrein_core::finding::Category;
use checkrein_core::response::Response;
use checkrein_core::run::job::{
    AgentOutcome, AgentResult, Datasource, FileChange, Isolation, JobDefinition, Stage, Todo, TodoList,
    Whole, Work, bound_todos, over_budget,
};
use checkrein_core::run::{Finished, Run};
use checkrein_forge::{Change, Collect, Collected, EntryKind, FileDiff, ForgeError, Landing, Oid, Stop};
use uuid::Uuid;

use super::artefacts;
use super::attempt_token;
use super::conflict::{OtherSide, recorded};
use super::hand_in::{exchange, out};
use super::isolation::{cache, isolated};
use super::outcome::{Outcome, outcome};
use super::place::JobPlace;
use super::prepare::{ByHttp, Prepared, environment, is_there, own_files, prepare, read_own};
use super::repository::{JobRepository, limits};
use super::review::lapsed;
use crate::agent::{
    Follower, Hosted, Hosting, deliver, host_argv, keep_requests, keep_session, session_kept, write_task,
};
use crate::agent_dir::{AgentDir, AgentFile, Weight};
use crate::forge::Along;
use crate::process::{Attempt, Ended, Exit, Stdin};
use crate::run::{Performed, Performer, Place, Supervised, redact, secrets_of};
use crate::{Engine, EngineError, now};

/// Between being told to end and being killed.
const GRACE: Duration = Duration::from_secs(10);
/// How often somebody looks how large a clone is.
const WEIGH_EVERY: Duration = Duration::from_secs(2);
/// How often in a row a part of it may be hidden.
const HIDDEN_MAX: u32 = 5;
/// How long what an attempt left may still be taken after it was told to stop.
const SETTLE_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn perform(
    performer: &mut Performer,
    engine: &Engine,
    run: &Run,
    place: &Place,
    stop: impl Future<Output = ()>,
) -> Result<Performed, EngineError> {
    let performed = attempt(performer, engine, run, place, stop).await?;
    // Before it is recorded: whoever goes on elsewhere finds what the record names.
    if matches!(performed, Performed::Finished(_)) {
        crate::forge::entrust(engine, run, &performer.lease()).await?;
    }
    Ok(performed)
}

async fn attempt(
    performer: &mut Performer,
    engine: &Engine,
    run: &Run,
    place: &Place,
    stop: impl Future<Output = ()>,
) -> Result<Performed, EngineError> {
    let (Some((definition, job)), Some(under_way)) = (run.job(), run.state.under_way.clone()) else {
        return Ok(Performed::Stopped);
    };
    let started_at = now();
    let job_place = JobPlace::of(&engine.store, &run.id);
    let at = started_at.as_second();
    let mut prepared = {
        let (run, under_way) = (run.clone(), under_way.clone());
        let job_place = JobPlace::of(&engine.store, &run.id);
        blocking(move || prepare(&run, &under_way, &job_place, at)).await?
    };
    let finished = |work: Work, response: Response, ended: Option<&Ended>, output: Option<String>| {
        Performed::Finished(Box::new(Finished {
            start: under_way.start,
            responses: vec![(Uuid::new_v4().to_string(), response)],
            started_at,
            duration_ms: ended.map_or(0, |ended| ended.duration_ms),
            exit_code: ended.and_then(|ended| match ended.exit {
                Some(Exit::Code(code)) => Some(code),
                Some(Exit::Signal(_)) | None => None,
            }),
            output,
            work: Some(Box::new(work)),
        }))
    };
    let own_plan = definition.plan.as_ref().filter(|_| job.phase.number == 1 && job.phase.rework.is_none());
    if let Some(plan) = own_plan {
        let (run, plan) = (run.clone(), plan.clone());
        let (work, response) = blocking(move || planned(&run, prepared, &plan, at)).await?;
        return Ok(finished(work, response, None, None));
    }
    let base = crate::run::output_name(under_way.start, &job.phase.name());
    place.make_again();
    let output = place.output(&base);
    let addresses = job_place.addresses_kept();
    let agent = run.definition.plan.agent.clone().unwrap_or_default();
    let spec = run.definition.plan.agent_spec.as_deref();
    let mut secrets: Vec<String> =
        addresses.iter().flat_map(|(_, address)| Datasource::secrets(address)).collect();
    secrets.extend(secrets_of(run, &engine.settings));
    let by_http = ByHttp {
        token: attempt_token::make(&job_place, &run.id, under_way.start)?,
        url: engine.public_url().map(|url| format!("{}/mcp", url.trim_end_matches('/'))),
    };
    secrets.push(by_http.token.clone());
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let hosted = match spec {
        Some(spec) => Some(host(run, spec, &prepared, &engine.settings, &job_place, under_way.start)?),
        None => None,
    };
    let command = match &hosted {
        Some(hosted) => (host_argv(hosted), named_by(spec)),
        None => (vec!["/bin/sh".into(), "-c".into(), agent.clone().into()], agent.clone()),
    };
    let attempt = Attempt {
        key: run.id.attempt(under_way.start),
        argv: isolated(definition, (command.0, &command.1), engine, &job_place, under_way.start)?,
        env: environment(
            run,
            &engine.settings,
            &prepared,
            &addresses,
            cache(definition, &job_place),
            &by_http,
        ),
        cwd: prepared.clone.clone(),
        stdin: Stdin::Text(prepared.brief.clone()),
        wall: definition.timeout,
        idle: definition.idle_timeout,
        grace: GRACE,
        stdout: output.stdout.clone(),
        stderr: output.stderr.clone(),
        bytes_max: match &hosted {
            Some(_) => engine.settings.output_bytes_max().max(ACTIVITY_BYTES_MAX),
            None => engine.settings.output_bytes_max(),
        },
        secrets: secrets.clone(),
    };
    let (mut too_big, mut cut) = (None, None);
    let (mut stop, mut told_to_stop) = (pin!(stop), false);
    let begun = std::time::Instant::now();
    let mut follower = Follower::of(&output.stdout);
    let (along, lease) = (Along::of(prepared.clone.clone()), performer.lease());
    // What was written before is of an attempt with the same name that was lost.
    for file in [&output.stdout, &output.stderr] {
        let _ = AgentFile::named(file).remove();
    }
    let ended = {
        let heavy = outgrown(job_place.directory.clone(), definition.disk_bytes);
        let over = follower.until_over(run.policy(), job.spent, begun);
        let delivery = deliver_to(engine, run, hosted.as_ref(), under_way.start);
        let (mut heavy, mut over) = (pin!(heavy), pin!(over));
        let (mut delivery, mut pushed) = (pin!(delivery), pin!(along.go(engine, run, &lease)));
        let either = std::future::poll_fn(|context| {
            // They have no end; they are polled to do what they do.
            let _ = delivery.as_mut().poll(context);
            let _ = pushed.as_mut().poll(context);
            if let Poll::Ready(reason) = over.as_mut().poll(context) {
                cut = Some(reason);
                return Poll::Ready(());
            }
            if let Poll::Ready(reason) = heavy.as_mut().poll(context) {
                too_big = Some(reason);
                return Poll::Ready(());
            }
            let stopped = stop.as_mut().poll(context);
            told_to_stop = stopped.is_ready();
            stopped
        });
        performer
            .supervised(
                (under_way.phase, usize::from(job.phase.stage == Stage::Feedback)),
                place,
                &attempt,
                either,
            )
            .await?
    };
    along.end().await;
    let ended = match ended {
        Supervised::Ended(ended) => ended,
        Supervised::Lost => return Ok(Performed::Lost),
        Supervised::LostAgain => {
            let (run, prepared) = (run.clone(), prepared);
            let failed = Response::failure("The process that watches over the agent was killed");
            let failed = Outcome { result: failure(), response: failed };
            let settled = blocking(move || settle(&run, &prepared, failed, Fits::Yes, at)).await?;
            return Ok(finished(settled.0, settled.1, None, Some(base)));
        }
    };
    follower.listen();
    if let Some(hosted) = &hosted {
        let kept = AgentFile::named(&place.file(&base, "requests.jsonl"));
        let (requests, secrets) = (hosted.requests.clone(), secrets.clone());
        blocking(move || {
            keep_requests(&requests, &kept, &secrets);
            Ok(())
        })
        .await?;
    }
    if ended.why == crate::process::Why::Stopped && too_big.is_none() && cut.is_none() {
        discard_written(&job_place, under_way.start, Fits::Yes).await?;
        return Ok(Performed::Stopped);
    }
    let fits = if too_big.is_some() { Fits::No } else { Fits::Yes };
    // A program that watches over its cost itself gives up by itself.
    let gave_up = follower.told.failed.is_some().then(|| {
        let mut spent = job.spent;
        spent.add(follower.spent(begun));
        over_budget(run.policy(), spent)
    });
    let cut = cut.filter(|_| ended.why == crate::process::Why::Stopped).or_else(|| gave_up.flatten());
    let mut outcome = match too_big {
        Some(text) => Outcome::oversized(text),
        None => {
            let said = follower.told.failed.as_deref();
            read_outcome(definition, &ended, &prepared, (said, &output.stderr), &engine.settings, &secrets)
        }
    };
    discard_written(&job_place, under_way.start, fits).await?;
    let told = follower.told;
    if let Some(spec) = spec {
        heed(&mut outcome, spec, &told, &engine.settings);
        keep_session(&job_place.session(), &spec.name, job.phase.number, told.session.as_deref());
    }
    if let Some(reason) = &cut {
        outcome.result.outcome = AgentOutcome::Blocked;
        outcome.result.summary.clone_from(reason);
        outcome.response =
            Response::normalise(&serde_json::json!({"message": reason}), engine.settings.classifier());
    }
    // What people pushed meanwhile meets the agent's work now.
    crate::forge::take_pushed(engine, run).await;
    let at = now().as_second();
    let run = run.clone();
    let git = Stop::default();
    prepared.repository.bare = prepared.repository.bare.with_stop(git.clone());
    let settled = blocking(move || settle(&run, &prepared, outcome, fits, at));
    let stop = async {
        if !told_to_stop {
            stop.await;
        }
    };
    let (mut work, response) = match until_settled(settled, stop, &git).await {
        Err(EngineError::Forge(ForgeError::Stopped { .. })) => return Ok(Performed::Stopped),
        settled => settled?,
    };
    work.heard = told.heard;
    work.outage = cut.is_none() && told.unavailable.is_some();
    work.cut = cut;
    Ok(finished(work, response, Some(&ended), Some(base)))
}

/// Waits for what is made of an attempt. Once it is told to stop that may still take a little while; then git is ended,
/// so that nothing an agent left keeps anybody waiting.
async fn until_settled<T>(
    settled: impl Future<Output = Result<T, EngineError>>,
    stop: impl Future<Output = ()>,
    git: &Stop,
) -> Result<T, EngineError> {
    let mut settled = pin!(settled);
    tokio::select! {
        done = &mut settled => return done,
        () = stop => {}
    }
    if let Ok(done) = tokio::time::timeout(SETTLE_MAX, &mut settled).await {
        return done;
    }
    git.stop();
    settled.await
}

/// What an agent tells is short; so much of it is kept, and can be followed as it comes.
const ACTIVITY_BYTES_MAX: usize = 64 << 20;

/// What the process of a named agent is started with.
fn host(
    run: &Run,
    spec: &AgentSpec,
    prepared: &Prepared,
    settings: &Settings,
    place: &JobPlace,
    start: u64,
) -> Result<Hosted, EngineError> {
    let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let datasource = |source: &Datasource| (source.name.clone(), source.variable.clone());
    let hosting = Hosting {
        spec,
        brief: &prepared.brief_file,
        kind: Some(job.phase.attempt_kind()),
        level: run.policy().level.as_deref().unwrap_or("custom"),
        sandboxed: definition.isolation == Isolation::Sandbox,
        session: session_kept(&place.session(), &spec.name, job.phase.number),
        cost_left: run.policy().budget.cost.map(|most| (most - job.spent.cost).max(0.0)),
        home: place.agent_home()?,
        datasources: definition.datasources.iter().map(datasource).collect(),
        own_files: own_files(definition),
    };
    let hosted = Hosted {
        task: place.file(exchange(start).join("agent.json")),
        messages: place.file(exchange(start).join("messages.json")),
        requests: place.file(out(start).join("requests.jsonl")),
    };
    write_task(hosting, hosted, settings)
}

/// A text with every file a named agent needs.
fn named_by(spec: Option<&AgentSpec>) -> String {
    let Some(spec) = spec else { return String::new() };
    let command = match &spec.kind {
        AgentKind::Command { command, .. } => command.as_str(),
        _ => "",
    };
    let program = spec.program.as_deref().unwrap_or_default();
    [&[program, command], spec.args.iter().map(String::as_str).collect::<Vec<_>>().as_slice()]
        .concat()
        .join(" ")
}

/// Messages of people reach an agent that can hear them.
async fn deliver_to(engine: &Engine, run: &Run, hosted: Option<&Hosted>, start: u64) {
    match hosted {
        Some(hosted) => deliver(engine.store.clone(), run.id.clone(), start, hosted.messages.clone()).await,
        None => std::future::pending().await,
    }
}

/// What an agent told while it worked becomes part of what it came to.
fn heed(outcome: &mut Outcome, spec: &AgentSpec, told: &Told, settings: &Settings) {
    let usage = &mut outcome.result.usage;
    usage.tokens = usage.tokens.max(told.tokens);
    usage.cost = usage.cost.max(told.cost.unwrap_or(0.0));
    if outcome.result.summary.trim().is_empty()
        && let Some(said) = &told.said
    {
        outcome.result.summary = said.trim().chars().take(2_000).collect();
    }
    if let Some(reason) = told.blocked.as_ref().or(told.unavailable.as_ref()) {
        outcome.result.outcome = AgentOutcome::Blocked;
        outcome.result.summary.clone_from(reason);
        outcome.response =
            Response::normalise(&serde_json::json!({"message": reason}), settings.classifier());
        // What failed so far, the attempt that goes on from here may still mend.
        return;
    }
    crate::run::count_failed_commands(&mut outcome.response, spec, told, settings.classifier());
}

/// Whether a clone is within its bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fits {
    Yes,
    No,
}

fn failure() -> AgentResult {
    AgentResult { outcome: AgentOutcome::Failed, ..AgentResult::default() }
}

fn read_outcome(
    definition: &JobDefinition,
    ended: &Ended,
    prepared: &Prepared,
    said: (Option<&str>, &Path),
    settings: &Settings,
    secrets: &[String],
) -> Outcome {
    let classifier = settings.classifier();
    let clean = |value: &mut serde_json::Value| redact(value, secrets);
    outcome(definition, ended, &prepared.files.result, said, classifier, clean)
}

/// Removes what an agent wrote beside its clone: it may hold what nobody else should see, and what is too much must not
/// be met again.
async fn discard_written(place: &JobPlace, start: u64, fits: Fits) -> Result<(), EngineError> {
    let written = [Some(out(start)), (fits == Fits::No).then(|| PathBuf::from("cache"))];
    let written: Vec<AgentFile> = written.into_iter().flatten().map(|below| place.file(below)).collect();
    blocking(move || {
        // Where that fails it is weighed with what the next attempt writes.
        written.iter().for_each(|written| _ = written.remove());
        Ok(())
    })
    .await
}

/// Ready once an agent has written more than it may, with the words for it.
async fn outgrown(job: PathBuf, bytes_max: u64) -> String {
    let mut hidden = 0;
    loop {
        tokio::time::sleep(WEIGH_EVERY).await;
        let job = job.clone();
        let weighed = tokio::task::spawn_blocking(move || weigh(&job, bytes_max)).await;
        match weighed {
            Ok(Weight { bytes, .. }) if bytes > bytes_max => {
                return format!("it wrote {bytes} bytes, {bytes_max} are allowed, and was ended");
            }
            Ok(Weight { too_deep: true, .. }) => {
                return "it made directories too deep to be looked at, and was ended".to_owned();
            }
            // Tests of programs take permissions away for a moment; whoever does it for good hides something.
            Ok(Weight { hidden: true, .. }) if hidden >= HIDDEN_MAX => {
                return "it made directories that cannot be looked into, and was ended".to_owned();
            }
            Ok(Weight { hidden: true, .. }) => hidden += 1,
            Ok(_) => hidden = 0,
            Err(_) => {}
        }
    }
}

/// Everything in a job's directory that an agent may write to.
fn weigh(job: &Path, bytes_max: u64) -> Weight {
    let mut all = Weight::default();
    for name in ["clone", "exchange", "cache"] {
        let directory = match AgentDir::open(&job.join(name)) {
            Ok(directory) => directory,
            Err(error) => {
                all.hidden |= error.kind() == std::io::ErrorKind::PermissionDenied;
                continue;
            }
        };
        let weight = directory.weigh(bytes_max.saturating_sub(all.bytes));
        all.bytes = all.bytes.saturating_add(weight.bytes);
        all.too_deep |= weight.too_deep;
        all.hidden |= weight.hidden;
    }
    all
}

/// A person's own plan takes the place of the first strategic phase.
fn planned(run: &Run, prepared: Prepared, plan: &str, at: i64) -> Result<(Work, Response), EngineError> {
    let Some((definition, _)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let repository = &prepared.repository;
    let head = head(&prepared)?;
    let path = definition.repository.artefact("plan.md");
    repository.write(&prepared.branch, &head, &[(path, Some(plan.to_owned()))], "the plan\n", at)?;
    let result = AgentResult {
        summary: "a plan of one's own".to_owned(),
        next_todos: TodoList::of_plan(plan),
        ..AgentResult::default()
    };
    let response =
        Response::normalise(&serde_json::json!({}), checkrein_core::classify::Classifier::builtin());
    let _ = repository.bare.discard_clone(&prepared.clone);
    describe(run, &prepared, Outcome { result, response }, None, at)
}

/// Takes what is in the clone, and tells what became of it.
fn settle(
    run: &Run,
    prepared: &Prepared,
    mut outcome: Outcome,
    fits: Fits,
    at: i64,
) -> Result<(Work, Response), EngineError> {
    let Some((definition, _)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let repository = &prepared.repository;
    let title = outcome.result.summary.lines().next().unwrap_or_default();
    let message = match (title.is_empty(), outcome.result.outcome) {
        (_, AgentOutcome::Failed) => "work of an attempt that failed\n".to_owned(),
        (true, _) => "work of the phase\n".to_owned(),
        (false, _) => format!("{title}\n"),
    };
    let collected = repository.bare.collect(&Collect {
        clone: &prepared.clone,
        branch: &prepared.branch,
        agent: &repository.agent,
        engine: &repository.engine,
        at_seconds: at,
        message: &message,
        limits: limits(definition),
    });
    let collected = match collected {
        Ok(collected) => Some(collected),
        // Without its clone there is nothing to take; what the branch has stays.
        Err(ForgeError::File { reason, .. }) if !is_there(&prepared.clone) => {
            outcome.response.warn(format!("the clone is gone, nothing could be taken from it: {reason}"));
            None
        }
        Err(ForgeError::File { path, reason }) if path == prepared.clone => {
            outcome.block(format!("what the agent left cannot be read: {reason}"));
            None
        }
        // What git cannot read through in its time and room is not tried again and again.
        Err(error @ (ForgeError::TimedOut { .. } | ForgeError::TooMuchOutput { .. })) => {
            outcome.block(format!("what the agent left is too much to be taken: {error}"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    for finding in collected.iter().flat_map(|collected| &collected.findings) {
        if finding.is_oversized() {
            outcome.block(finding.to_string());
        } else {
            outcome.response.warn(finding.to_string());
        }
    }
    match &collected {
        // What is too much must not be met again.
        Some(collected) if fits == Fits::Yes => repository.bare.rest_clone(&prepared.clone, collected)?,
        _ => repository.bare.discard_clone(&prepared.clone)?,
    }
    describe(run, prepared, outcome, collected, at)
}

fn describe(
    run: &Run,
    prepared: &Prepared,
    mut outcome: Outcome,
    collected: Option<Collected>,
    at: i64,
) -> Result<(Work, Response), EngineError> {
    let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
    let repository = &prepared.repository;
    let phase = &job.phase;
    let strategic = phase.attempt_kind() == PhaseKind::Strategic;
    let taken = head(prepared)?;
    read_own(repository, definition, phase, &taken);
    let worked = collected.as_ref().map_or(&prepared.start, |collected| &collected.work);
    let pushed = pushed_todos(repository, definition, [&prepared.start, worked], &taken);
    let todos = if pushed.is_some() { artefacts::Todos::Pushed } else { artefacts::Todos::Own };
    let mut bad_todos = None;
    match pushed.filter(|_| strategic && phase.stage == Stage::Work) {
        Some(Ok(theirs)) => {
            let own = std::mem::replace(&mut outcome.result.next_todos, theirs);
            if !own.is_empty() && own != outcome.result.next_todos {
                let own: Vec<String> = own.into_iter().map(|todo| todo.content).collect();
                outcome.response.warn(format!(
                    "todos.yaml was pushed while the agent planned, and counts; the agent's own todos are not used: {}",
                    own.join("; ")
                ));
            }
        }
        Some(Err(problem)) => bad_todos = Some(problem),
        None if strategic && outcome.result.next_todos.is_empty() && phase.stage == Stage::Work => {
            match repository
                .text(&taken, &definition.repository.artefact("todos.yaml"))
                .map(|text| TodoList::read(&text))
            {
                Some(Ok(mut list)) => {
                    bound_todos(&mut list.todos).into_iter().for_each(|text| outcome.response.warn(text));
                    outcome.result.next_todos = list.todos;
                }
                Some(Err(error)) => outcome.response.warn(format!("todos.yaml cannot be used: {error}")),
                None => {}
            }
        }
        None => {}
    }
    // An agent that merged the job's main branch into its own has brought the two closer.
    let base = repository.bare.merge_base(&repository.main()?, &taken)?;
    let base = base.unwrap_or_else(|| prepared.base.clone());
    let mut work = Work { result: outcome.result, base: base.to_string(), bad_todos, ..Work::default() };
    // What people pushed meanwhile, the agent has not seen yet.
    let unseen_since = collected.as_ref().and_then(|collected| match &collected.landing {
        Landing::Merged => Some(collected.work.clone()),
        Landing::Conflict { .. } => Some(prepared.start.clone()),
        Landing::Nothing | Landing::Forward => None,
    });
    if let Some(Landing::Conflict { conflict, kept_on }) = collected.map(|collected| collected.landing) {
        work.conflict = Some(recorded(conflict, OtherSide::Kept(kept_on.to_string())));
    }
    let head = artefacts::write(repository, run, &prepared.branch, &taken, &work, todos, at)?;
    for path in missing(repository, &head, &work.result.deliverables)? {
        let text = format!("the deliverable `{path}` is not there");
        outcome.response.warn_of(Category::Validation, text);
    }
    let met = phase.work.as_ref().and_then(|work| work.conflict.as_ref());
    if let Some(met) = met.filter(|_| work.conflict.is_none()) {
        work.conflict = repository.still_met(run, &prepared.branch, met, &head)?;
    }
    work.head = head.to_string();
    work.lapsed = lapsed(repository, job, &head)?;
    work.left = unseen_since.unwrap_or_else(|| head.clone()).to_string();
    work.files = changes(&repository.bare.changed_files(&base, &head)?);
    work.files_total = work.files.len();
    if !work.files.is_empty() {
        let links = repository.bare.links(&base)?;
        let links: Vec<(String, String)> =
            links.iter().map(|(path, target)| (path.to_string(), target.to_string())).collect();
        work.linked = run.policy().protected_by_links(&links);
    }
    if work.result.outcome == AgentOutcome::JobComplete {
        let start = repository.compared_with(definition, &head)?;
        let files = changes(&repository.bare.changed_files(&start, &head)?);
        work.whole = Some(Whole { base: start.to_string(), files_total: files.len(), files });
    }
    if let Some(rework) = &phase.rework {
        // A new branch shares nothing with what was looked at.
        let looked_at = Oid::parse(&rework.head).unwrap_or_else(|_| base.clone());
        let own = definition.repository.artefacts();
        let since = repository.bare.changed_files(&looked_at, &head)?;
        let paths = changes(&since).into_iter().map(|file| file.path);
        work.changed_in_round = paths.filter(|path| !artefacts::is_record(own, path)).collect();
        work.commits = own_commits(repository, &looked_at, &head)?;
    } else {
        work.changed_in_round = work.files.iter().map(|file| file.path.clone()).collect();
        work.commits = own_commits(repository, &base, &head)?;
    }
    Ok((work, outcome.response))
}

/// The todos somebody pushed while the agent worked, or what is wrong with them: neither the attempt began with this
/// `todos.yaml`, nor did the agent write it.
fn pushed_todos(
    repository: &JobRepository,
    definition: &JobDefinition,
    known: [&Oid; 2],
    taken: &Oid,
) -> Option<Result<Vec<Todo>, String>> {
    let path = definition.repository.artefact("todos.yaml");
    let now = repository.text(taken, &path);
    if known.into_iter().any(|commit| repository.text(commit, &path) == now) {
        return None;
    }
    Some(TodoList::read_approved(now.as_deref()).map(|list| list.todos))
}

/// Deliverables that are neither a file nor a directory of a commit. What is at an address elsewhere is not looked for.
fn missing<'d>(
    repository: &JobRepository,
    head: &Oid,
    deliverables: &'d [String],
) -> Result<Vec<&'d String>, ForgeError> {
    let named: Vec<&String> = deliverables.iter().filter(|path| !path.contains("://")).collect();
    if named.is_empty() {
        return Ok(named);
    }
    let there: BTreeMap<String, EntryKind> =
        repository.bare.list_files(head)?.iter().map(|entry| (entry.path.to_string(), entry.kind)).collect();
    let target = |path: &str| repository.text(head, path);
    Ok(named.into_iter().filter(|path| !is_delivered(&there, &target, path)).collect())
}

/// So many links lead from one to the next before it counts as a circle.
const LINKS_MAX: usize = 40;

/// Whether a path leads to a file or a directory of a commit. `target` is where a link of it leads.
fn is_delivered(
    there: &BTreeMap<String, EntryKind>,
    target: &impl Fn(&str) -> Option<String>,
    path: &str,
) -> bool {
    let path = path.trim();
    let parts = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
    let (mut left, mut at) = (parts(path), Vec::<String>::new());
    let (mut links, mut within) = (0, path.ends_with('/'));
    if path.starts_with('/') {
        return false;
    }
    while let Some(part) = left.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." if at.pop().is_none() => return false,
            ".." => continue,
            _ => at.push(part),
        }
        let so_far = at.join("/");
        if there.get(&so_far) != Some(&EntryKind::Link) {
            continue;
        }
        links += 1;
        at.pop();
        match target(&so_far) {
            Some(target) if !target.starts_with('/') && links <= LINKS_MAX => {
                within |= left.is_empty() && target.ends_with('/');
                left.extend(parts(&target));
            }
            _ => return false,
        }
    }
    let reached = at.join("/");
    let below = format!("{reached}/");
    let is_directory =
        || there.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below));
    match there.get(&reached) {
        Some(EntryKind::File | EntryKind::Executable) => !within,
        Some(EntryKind::Link | EntryKind::Submodule) => false,
        None => !reached.is_empty() && is_directory(),
    }
}

fn own_commits(repository: &JobRepository, since: &Oid, head: &Oid) -> Result<usize, ForgeError> {
    let commits = repository.bare.log(Some(since), head, 1000)?;
    Ok(commits.iter().filter(|commit| commit.author_email == repository.agent.email()).count())
}

pub(super) fn changes(files: &[FileDiff]) -> Vec<FileChange> {
    let word = |change: &Change| match change {
        Change::Added => "added",
        Change::Deleted => "deleted",
        Change::Modified => "modified",
        Change::Retyped => "retyped",
        Change::Renamed { .. } => "renamed",
    };
    let file = |file: &FileDiff| FileChange {
        path: file.path.to_string(),
        change: word(&file.change).to_owned(),
        added: file.added,
        removed: file.removed,
    };
    // A file that went somewhere else has left a place that may be protected.
    let left = files.iter().filter_map(|file| match &file.change {
        Change::Renamed { from, .. } => {
            Some(FileChange { path: from.to_string(), change: "deleted".to_owned(), added: 0, removed: 0 })
        }
        _ => None,
    });
    files.iter().map(file).chain(left).collect()
}

fn head(prepared: &Prepared) -> Result<Oid, EngineError> {
    let (branch, bare) = (&prepared.branch, &prepared.repository.bare);
    let gone = || ForgeError::NoBranch { branch: branch.to_string(), repository: bare.path().to_owned() };
    Ok(bare.head(branch)?.ok_or_else(gone)?)
}

/// Git and files are waited for on a thread of their own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(EngineError::Definition(format!("a thread died: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent left may be anything; whoever waits for its place gets it.
    #[tokio::test]
    async fn git_is_ended_soon_after_a_stop() {
        let (git, own) = (Stop::default(), Stop::default());
        let ended = git.clone();
        let for_ever = blocking(move || {
            while !ended.is_stopped() {
                std::thread::sleep(Duration::from_millis(10));
            }
            let (command, directory) = ("pack-objects".to_owned(), PathBuf::new());
            Err::<(), _>(ForgeError::Stopped { command, directory }.into())
        });
        let stopped = until_settled(for_ever, std::future::ready(()), &git).await;
        assert!(matches!(stopped, Err(EngineError::Forge(ForgeError::Stopped { .. }))));
        // What is done in time is done.
        let soon = blocking(|| Ok(7));
        assert_eq!(until_settled(soon, std::future::ready(()), &own).await.unwrap(), 7);
        assert!(!own.is_stopped());
    }

    #[test]
    fn what_is_delivered_is_a_file_or_a_directory_of_the_commit() {
        let links = BTreeMap::from([
            ("gone", "nowhere.md"),
            ("passwd", "/etc/passwd"),
            ("out", "../letter.md"),
            ("docs/up", "../letter.md"),
            ("latest", "docs"),
            ("round", "robin"),
            ("robin", "round"),
            ("slash", "letter.md/"),
        ]);
        let files = ["letter.md", "docs/a.md", "docs/b/c.md"].map(|path| (path.to_owned(), EntryKind::File));
        let mut there = BTreeMap::from(files);
        there.extend(links.keys().map(|path| ((*path).to_owned(), EntryKind::Link)));
        there.insert("vendor".to_owned(), EntryKind::Submodule);
        let target = |path: &str| links.get(path).map(|target| (*target).to_owned());
        for (path, expected) in [
            ("letter.md", true),
            (" ./letter.md ", true),
            ("letter.md/", false),
            ("letter.md/a", false),
            ("docs", true),
            ("docs/", true),
            ("docs/b/../a.md", true),
            ("docs/b/d.md", false),
            ("doc", false),
            ("", false),
            (".", false),
            ("/letter.md", false),
            ("../letter.md", false),
            ("gone", false),
            ("passwd", false),
            ("out", false),
            ("docs/up", true),
            ("latest", true),
            ("latest/", true),
            ("latest/a.md", true),
            ("latest/up", true),
            ("latest/z.md", false),
            ("round", false),
            ("slash", false),
            ("vendor", false),
        ] {
            assert_eq!(is_delivered(&there, &target, path), expected, "{path}");
        }
    }
}
