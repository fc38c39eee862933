//! One attempt: a task made a process, and what came back made a response.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkrein_core::activity::Told;
use checkrein_core::config::agent::{AgentSpec, FailedCommands};
use checkrein_core::config::{Settings, env};
use checkrein_core::duration::Written;
use checkrein_core::plan::{Action, Context, FilledTask, PlannedPhase, Task};
use checkrein_core::response::Response;
use checkrein_core::run::{Finished, Run, UnderWay};
use checkrein_core::secret::forms;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::place::Place;
use crate::EngineError;
use crate::agent::{Follower, Hosted, Hosting, host_argv, variables_of, write_task};
use crate::agent_dir::{AgentDir, AgentFile, open_followed};
use crate::lease::HeldLease;
use crate::process::{
    Attempt, Ended, Exit, ProcessError, Stdin, Supervisor, Why, ends_in_a_long_object, last_line,
    last_object, this_program, wait_for_lock,
};

/// Between being told to end and being killed.
const GRACE: Duration = Duration::from_secs(5);
/// No response that means anything is longer.
const RESPONSE_BYTES_MAX: u64 = 16 << 20;

pub(crate) enum Performed {
    Finished(Box<Finished>),
    /// Its agent could not work, and it has no result.
    Stalled(Stalled),
    /// It was told to end before it had a result.
    Stopped,
    /// The process that watches over it was killed, and it was ended.
    Lost,
}

/// Why the agent of a step could not work.
pub(crate) struct Stalled {
    pub start: u64,
    pub reason: String,
    /// Whether its model was away, which passes.
    pub outage: bool,
}

/// Performs the attempts of one run, one after the other, under one supervisor.
pub(crate) struct Performer {
    supervisor: Option<Supervisor>,
    /// The task that was lost last: one that kills its supervisor every time must not go on for ever.
    lost: Option<(usize, usize)>,
    /// The lease it works under.
    lease: Arc<HeldLease>,
}

impl Performer {
    /// The lease it works under.
    pub fn lease(&self) -> Arc<HeldLease> {
        Arc::clone(&self.lease)
    }

    pub const fn under(lease: Arc<HeldLease>) -> Performer {
        Performer { supervisor: None, lost: None, lease }
    }

    /// The run's supervisor, which is started if it is not there.
    async fn supervisor(&mut self, place: &Place) -> Result<&mut Supervisor, EngineError> {
        match &mut self.supervisor {
            Some(supervisor) => Ok(supervisor),
            none => {
                let supervisor = watch_over(&place.supervisor_lock(), self.lease.silent_max()).await?;
                self.lease.attach(supervisor.pulse());
                Ok(none.insert(supervisor))
            }
        }
    }

    pub async fn perform(
        &mut self,
        run: &Run,
        settings: &Settings,
        place: &Place,
        now: Timestamp,
        stop: impl Future<Output = ()>,
    ) -> Result<Performed, EngineError> {
        let Some((under_way, task)) = run.task_under_way() else { return Ok(Performed::Stopped) };
        let finished = |responses: Vec<Response>, ended: Option<&Ended>, output: Option<String>| {
            Performed::Finished(Box::new(Finished {
                start: under_way.start,
                responses: responses.into_iter().map(|one| (Uuid::new_v4().to_string(), one)).collect(),
                started_at: now,
                duration_ms: ended.map_or(0, |ended| ended.duration_ms),
                exit_code: ended.and_then(|ended| match ended.exit {
                    Some(Exit::Code(code)) => Some(code),
                    Some(Exit::Signal(_)) | None => None,
                }),
                output,
                work: None,
            }))
        };
        let Some(phase) = run.phase(under_way.phase) else { return Ok(Performed::Stopped) };
        let prepared = match prepare(run, phase, task, under_way, settings, place) {
            Ok(prepared) => prepared,
            Err(Unprepared::Failed(reason)) => {
                return Ok(finished(vec![Response::failure(reason)], None, None));
            }
            Err(Unprepared::Nothing(response)) => return Ok(finished(vec![*response], None, None)),
        };
        let key = (under_way.phase, under_way.task);
        let ended = match self.supervised(key, place, &prepared.attempt, stop).await? {
            Supervised::Ended(ended) => ended,
            Supervised::Lost => return Ok(Performed::Lost),
            Supervised::LostAgain => {
                let failed = Response::failure("The process that watches over the step was killed");
                return Ok(finished(vec![failed], None, Some(prepared.base)));
            }
        };
        if ended.why == Why::Stopped {
            return Ok(Performed::Stopped);
        }
        let told = prepared.hosted.as_ref().map(|_| {
            let mut follower = Follower::of(&prepared.attempt.stdout);
            follower.listen();
            follower.told
        });
        if let Some(told) = &told
            && let Some(reason) = told.blocked.as_ref().or(told.unavailable.as_ref())
        {
            let (start, reason) = (under_way.start, reason.clone());
            let outage = told.blocked.is_none();
            return Ok(Performed::Stalled(Stalled { start, reason, outage }));
        }
        let responses = responses(&prepared, task, &ended, told, settings);
        let _ = AgentFile::named(&prepared.response).remove();
        Ok(finished(responses, Some(&ended), Some(prepared.base)))
    }
}

/// What a supervisor has to say about an attempt.
pub(crate) enum Supervised {
    Ended(Ended),
    /// It was killed, and the attempt was ended.
    Lost,
    /// The same happened to the same work before.
    LostAgain,
}

impl Performer {
    /// Runs one attempt under the run's supervisor, which is started if it is not there.
    pub async fn supervised(
        &mut self,
        key: (usize, usize),
        place: &Place,
        attempt: &Attempt,
        stop: impl Future<Output = ()>,
    ) -> Result<Supervised, EngineError> {
        let supervisor = self.supervisor(place).await?;
        match supervisor.run(attempt, stop).await {
            Ok(ended) => {
                self.lost = None;
                Ok(Supervised::Ended(ended))
            }
            Err(ProcessError::SupervisorGone { .. }) => {
                self.supervisor = None;
                let again = self.lost.replace(key) == Some(key);
                Ok(if again { Supervised::LostAgain } else { Supervised::Lost })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a proposed fix a person said yes to: how it ended, and what its output is called.
    pub async fn remedy(
        &mut self,
        run: &Run,
        settings: &Settings,
        place: &Place,
        command: &str,
        stop: impl Future<Output = ()>,
    ) -> Result<(Ended, String), EngineError> {
        let base = format!("remedy-{}", Uuid::new_v4().simple());
        let nothing = FilledTask {
            action: Action::Shell(command.to_owned()),
            arguments: Context::new(),
            env: Context::new(),
            working_directory: None,
        };
        let mut context = run.definition.values.clone();
        // It carries what every attempt does, so that it cannot give a verdict either.
        context.insert("run_id".to_owned(), run.id.to_string());
        let output = place.output(&base);
        let attempt = Attempt {
            key: format!("{}/{base}", run.id),
            argv: vec!["/bin/sh".into(), "-c".into(), command.into()],
            env: environment(
                settings,
                &context,
                &nothing,
                &place.file(&base, "response.json"),
                Path::new(""),
            ),
            cwd: Path::new(&run.definition.directory).to_owned(),
            stdin: Stdin::Nothing,
            wall: None,
            idle: None,
            grace: GRACE,
            stdout: output.stdout,
            stderr: output.stderr,
            bytes_max: settings.output_bytes_max(),
            secrets: secrets(run, settings, &nothing),
        };
        let supervisor = self.supervisor(place).await?;
        Ok((supervisor.run(&attempt, stop).await?, base))
    }
}

/// Starts a supervisor; one that was killed before it could say a word is started again.
async fn watch_over(lock: &Path, silent_max: Option<Duration>) -> Result<Supervisor, ProcessError> {
    match Supervisor::start_for(&this_program(), lock, silent_max).await {
        Err(ProcessError::NotStarted { .. }) => {
            drop(wait_for_lock(lock, GRACE)?);
            Supervisor::start_for(&this_program(), lock, silent_max).await
        }
        started => started,
    }
}

struct Prepared {
    attempt: Attempt,
    /// What its files are called.
    base: String,
    response: PathBuf,
    /// The named agent that does it.
    hosted: Option<Box<AgentSpec>>,
}

enum Unprepared {
    /// It fails before it runs.
    Failed(String),
    /// There is nothing to run.
    Nothing(Box<Response>),
}

fn prepare(
    run: &Run,
    phase: &PlannedPhase,
    task: &Task,
    under_way: &UnderWay,
    settings: &Settings,
    place: &Place,
) -> Result<Prepared, Unprepared> {
    let context = context(run, phase, task, under_way);
    let filled = task
        .fill(&context)
        .map_err(|unfilled| Unprepared::Failed(format!("{} ({})", unfilled.message, unfilled.hint)))?;
    let root = Path::new(&run.definition.directory);
    let base = output_name(under_way.start, &task.id);
    place.make_again();
    let response = place.file(&base, "response.json");
    // What a lost attempt wrote is not this one's answer.
    let _ = AgentFile::named(&response).remove();
    let (argv, stdin) = command(run, phase, &filled, (settings, &context), root, place, &base)?;
    let output = place.output(&base);
    let secrets = secrets(run, settings, &filled);
    let attempt = Attempt {
        key: run.id.attempt(under_way.start),
        argv,
        env: environment(settings, &context, &filled, &response, &place.file(&base, "brief.md")),
        cwd: filled.working_directory.as_ref().map_or_else(|| root.to_owned(), |own| root.join(own)),
        stdin,
        wall: task.timeout,
        idle: task.idle_timeout,
        grace: GRACE,
        stdout: output.stdout,
        stderr: output.stderr,
        bytes_max: settings.output_bytes_max(),
        secrets,
    };
    let hosted = match (&filled.action, &run.definition.plan.agent_spec) {
        (Action::Agent(_), Some(spec)) => Some(spec.clone()),
        _ => None,
    };
    Ok(Prepared { attempt, base, response, hosted })
}

/// What placeholders may name.
fn context(run: &Run, phase: &PlannedPhase, task: &Task, under_way: &UnderWay) -> Context {
    let mut context = run.definition.values.clone();
    let mut know = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            context.insert(name.to_owned(), value);
        }
    };
    know("target", run.definition.target.clone());
    know("work_id", run.definition.work_id.clone());
    know("run_id", Some(run.id.to_string()));
    know("workflow_id", Some(run.definition.plan.workflow.clone()));
    know("phase", Some(phase.name.clone()));
    know("step", Some(task.name.clone()));
    know("attempt", Some(under_way.attempt.to_string()));
    know("failure", run.state.failure.clone());
    context
}

/// What the files of an attempt are called.
pub fn output_name(start: u64, task: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    let name: String = task.chars().map(plain).take(80).collect();
    format!("{start:04}-{name}")
}

fn command(
    run: &Run,
    phase: &PlannedPhase,
    filled: &FilledTask,
    (settings, context): (&Settings, &Context),
    root: &Path,
    place: &Place,
    base: &str,
) -> Result<(Vec<OsString>, Stdin), Unprepared> {
    let shell = |command: &str| vec!["/bin/sh".into(), "-c".into(), command.into()];
    let unwritable = |path: &Path, error: &std::io::Error| {
        Unprepared::Failed(format!("`{}` cannot be written: {error}", path.display()))
    };
    match &filled.action {
        Action::Shell(command) => Ok((shell(command), Stdin::Nothing)),
        Action::Agent(prompt) => {
            let Some(agent) = &run.definition.plan.agent else {
                return Err(Unprepared::Failed("No agent is configured for this step".to_owned()));
            };
            let brief = brief(run, phase, prompt, root);
            let path = place.file(base, "brief.md");
            AgentFile::named(&path).replace(brief.as_bytes()).map_err(|error| unwritable(&path, &error))?;
            let Some(spec) = &run.definition.plan.agent_spec else {
                return Ok((shell(agent), Stdin::Text(brief)));
            };
            let home = AgentDir::open(&place.directory).and_then(|own| own.make(Path::new("agent")));
            let hosting = Hosting {
                spec,
                brief: &path,
                kind: None,
                level: run.policy().level.as_deref().unwrap_or("custom"),
                sandboxed: false,
                session: None,
                cost_left: None,
                home: home.map_err(|error| unwritable(&place.directory, &error))?,
                datasources: Vec::new(),
                own_files: "",
            };
            let file = |ending: &str| AgentFile::named(&place.file(base, ending));
            let hosted = Hosted {
                task: file("agent.json"),
                messages: file("messages.json"),
                requests: file("requests.jsonl"),
            };
            let hosted = write_task(hosting, hosted, settings);
            let hosted = hosted.map_err(|error| Unprepared::Failed(error.to_string()))?;
            Ok((host_argv(&hosted), Stdin::Nothing))
        }
        Action::Script(script) => {
            let path = place.file(base, "context.json");
            let json = serde_json::to_string_pretty(&json!(context)).unwrap_or_default();
            AgentFile::named(&path).replace(json.as_bytes()).map_err(|error| unwritable(&path, &error))?;
            let script = root.join(script);
            let runs = std::fs::metadata(&script).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
            let mut argv: Vec<OsString> = if runs { Vec::new() } else { vec!["/bin/sh".into()] };
            argv.extend([script.into_os_string(), path.into_os_string()]);
            Ok((argv, Stdin::Nothing))
        }
        Action::Document(document) => {
            let path = root.join(document);
            match std::fs::metadata(&path) {
                Ok(found) if found.is_file() => {
                    let noted =
                        json!({"status": "success", "message": format!("{document} is given to the agent")});
                    let builtin = checkrein_core::classify::Classifier::builtin();
                    Err(Unprepared::Nothing(Box::new(Response::normalise(&noted, builtin))))
                }
                Ok(_) => Err(Unprepared::Failed(format!("`{document}` is not a file"))),
                Err(error) => Err(Unprepared::Failed(format!("`{document}` cannot be read: {error}"))),
            }
        }
    }
}

/// What an agent reads: its prompt, the documents of its phase, and why it is asked again.
fn brief(run: &Run, phase: &PlannedPhase, prompt: &str, root: &Path) -> String {
    let mut brief = format!("{}\n", prompt.trim_end());
    for task in &phase.tasks {
        if let Action::Document(path) = &task.action
            && let Ok(text) = open_followed(&root.join(path)).and_then(std::io::read_to_string)
        {
            let _ = write!(brief, "\n## {path}\n\n{}\n", text.trim_end());
        }
    }
    if let Some(failure) = &run.state.failure {
        let _ = write!(brief, "\n## What failed before\n\n{failure}\n");
    }
    let _ = write!(
        brief,
        "\n## How to answer\n\nWrite a JSON object to the file named by CHECKREIN_RESPONSE: \
         `status` (success, warning or failure), `message`, `warnings`, `errors`, `suggested_fixes`.\n"
    );
    brief
}

/// Everything the person has, without what would let a step act for them; and what the step is told.
fn environment(
    settings: &Settings,
    context: &Context,
    filled: &FilledTask,
    response: &Path,
    brief: &Path,
) -> Vec<(OsString, OsString)> {
    let theirs = |name: &str, value: &str| {
        name != env::TOKEN && !env::FOR_AGENTS.contains(&name) && !env::opens_store(name, value)
    };
    let inherited = settings.environment.iter().filter(|(name, value)| theirs(name, value));
    let mut environment: Vec<(OsString, OsString)> =
        inherited.map(|(name, value)| (name.into(), value.into())).collect();
    let mut set = |name: &str, value: OsString| {
        environment.retain(|(known, _)| known != name);
        environment.push((name.into(), value));
    };
    for (name, value) in &filled.env {
        set(name, value.into());
    }
    for (name, value) in env::OF_CONTEXT {
        if let Some(value) = context.get(*value) {
            set(name, value.into());
        }
    }
    set("CHECKREIN_RESPONSE", response.into());
    if matches!(filled.action, Action::Agent(_)) {
        set("CHECKREIN_BRIEF", brief.into());
    }
    environment
}

/// The values of what was named as secret, the longest first: a secret may begin with another one, and
/// must not leave its end behind.
fn secrets(run: &Run, settings: &Settings, filled: &FilledTask) -> Vec<String> {
    secret_values(run, settings, |name| filled.env.get(name).cloned())
}

/// The same of a job, whose agent has no settings of its own.
pub(crate) fn secrets_of(run: &Run, settings: &Settings) -> Vec<String> {
    secret_values(run, settings, |_| None)
}

fn secret_values(run: &Run, settings: &Settings, own: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let spec = run.definition.plan.agent_spec.as_deref();
    let of_agent: Vec<String> =
        spec.into_iter().flat_map(variables_of).filter(|(_, secret)| *secret).map(|(name, _)| name).collect();
    let named = run.definition.plan.secrets.iter().chain(settings.secrets()).chain(&of_agent);
    let value = |name: &String| {
        own(name).or_else(|| {
            settings.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        })
    };
    let mut secrets: Vec<String> = named.filter_map(value).flat_map(|value| forms(&value)).collect();
    secrets.retain(|secret| !secret.is_empty());
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn responses(
    prepared: &Prepared,
    task: &Task,
    ended: &Ended,
    told: Option<Told>,
    settings: &Settings,
) -> Vec<Response> {
    let timed_out = |what: &str, time: Option<Duration>| {
        let time = time.map(|time| Written(time).to_string()).unwrap_or_default();
        vec![Response::failure(format!("Step timed out: {what} {time}"))]
    };
    match &ended.why {
        Why::SpawnFailed { reason } => {
            return vec![Response::failure(format!("Step cannot be started: {reason}"))];
        }
        Why::WallTimeout => return timed_out("it took longer than", task.timeout),
        Why::IdleTimeout => return timed_out("it was silent for", task.idle_timeout),
        Why::Exited | Why::Stopped => {}
    }
    let mut responses = match returned(prepared, ended.stdout.truncated) {
        None => vec![Response::normalise(&json!({}), settings.classifier())],
        Some(Err(reason)) => vec![Response::failure(reason)],
        Some(Ok(mut value)) => {
            redact(&mut value, &prepared.attempt.secrets);
            Response::attempts(&value, settings.classifier())
        }
    };
    if ended.exit != Some(Exit::Code(0))
        && let Some(last) = responses.last_mut()
    {
        let how = match ended.exit {
            Some(Exit::Code(code)) => format!("Step exited with code {code}"),
            Some(Exit::Signal(signal)) => format!("Step was ended by signal {signal}"),
            None => "Step ended in an unknown way".to_owned(),
        };
        last.fail(last_line(&prepared.attempt.stderr).unwrap_or(how));
    }
    if let (Some(told), Some(spec), Some(last)) = (told, &prepared.hosted, responses.last_mut()) {
        if last.message.is_none() {
            last.message = told.said.as_ref().map(|said| said.trim().chars().take(2_000).collect());
        }
        count_failed_commands(last, spec, &told, settings.classifier());
    }
    responses
}

/// Commands that failed become findings, where the agent's settings say so.
pub(crate) fn count_failed_commands(
    response: &mut Response,
    spec: &AgentSpec,
    told: &Told,
    classifier: &checkrein_core::classify::Classifier,
) {
    let failed: Vec<String> = told
        .failed_commands(&spec.findings.commands)
        .map(|command| format!("A command failed: {}", checkrein_core::shown::one_line(command)))
        .collect();
    match spec.findings.failed_commands {
        FailedCommands::Ignore => {}
        FailedCommands::Warning => failed.into_iter().for_each(|text| response.warn(text)),
        FailedCommands::Error => {
            let found = Response::normalise(&json!({"status": "failure", "errors": failed}), classifier);
            if !failed.is_empty() {
                response.status = found.status;
                response.errors.extend(found.errors);
            }
        }
    }
}

/// What the attempt said of itself: its response file, or an object as the last line of its output.
fn returned(prepared: &Prepared, truncated: bool) -> Option<Result<Value, String>> {
    let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    let bytes = match AgentFile::named(&prepared.response).read(RESPONSE_BYTES_MAX) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return printed(prepared, truncated),
        Err(error) => return Some(Err(format!("Step's response cannot be read: {error}"))),
    };
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return printed(prepared, truncated);
    }
    Some(parse(&text).map_err(|error| format!("Step's response is not JSON: {error}")))
}

/// An object as the last line of the output. What must have been one and is not all there says nothing
/// good: it fails the step.
fn printed(prepared: &Prepared, truncated: bool) -> Option<Result<Value, String>> {
    if prepared.hosted.is_some() {
        // What it told while it worked is no answer.
        return None;
    }
    let stdout = &prepared.attempt.stdout;
    if let Some(line) = last_object(stdout) {
        return Some(serde_json::from_str(&line).map_err(|error| error.to_string()));
    }
    ends_in_a_long_object(stdout, truncated).then(|| {
        Err("Step's response on its last line is too long; write it to the file CHECKREIN_RESPONSE names"
            .to_owned())
    })
}

/// A secret shows nowhere, also not where the step itself says it.
pub(crate) fn redact(value: &mut Value, secrets: &[String]) {
    let clean = |text: &mut String| {
        for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), "***");
            }
        }
    };
    match value {
        Value::String(text) => clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, secrets)),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (mut name, mut field) in old {
                clean(&mut name);
                redact(&mut field, secrets);
                fields.insert(name, field);
            }
        }
        Value::Number(number) => {
            let mut text = number.to_string();
            clean(&mut text);
            if text != number.to_string() {
                *value = Value::String(text);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
