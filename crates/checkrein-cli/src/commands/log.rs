use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use checkrein_core::activity::told;
use checkrein_core::document::{closest, listed};
use checkrein_core::run::{RunEvent, RunStatus, job, log};
use checkrein_engine::RunView;
use checkrein_server::wire::activity::LlmRequest;
use checkrein_server::wire::run::AttemptOutput;

use crate::error::CliError;
use crate::output::{Output, harmless, one_line};
use crate::session::{Desk, DeskPlace, Session};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    /// Go on until the run rests or waits
    #[arg(short, long)]
    follow: bool,
    /// Only of this step
    #[arg(long, value_name = "PHASE:STEP")]
    step: Option<String>,
    /// The records instead of the output: one JSON object per line
    #[arg(long)]
    json: bool,
    /// What the built-in agent asked of its model, one line for each; with an id, that request and its answer, whole
    #[arg(long, value_name = "START.NUMBER", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["follow", "json", "step"])]
    requests: Option<String>,
    #[command(flatten)]
    store: DeskPlace,
}

/// How often a file that grows is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How often a server is asked.
const ASK_EVERY: Duration = Duration::from_secs(1);

pub fn run(args: &Args) -> Result<Output, CliError> {
    let desk = args.store.desk_to_read()?;
    if let Some(wanted) = &args.requests {
        return requests(&desk, &args.run, Some(wanted.as_str()).filter(|wanted| !wanted.is_empty()));
    }
    let mut shown = Shown::default();
    loop {
        let view = desk.view(&args.run)?;
        if let Some(step) = args.step.as_deref().filter(|step| !has_step(&view, step)) {
            return Err(no_step(&view, step));
        }
        let gone = match &desk {
            _ if args.json => shown.records(&view),
            Desk::Here(session) => shown.output(session, &view, args.step.as_deref()),
            Desk::There(remote) => {
                let mut query = vec![("as", "json".to_owned())];
                query.extend(args.step.clone().map(|step| ("step", step)));
                shown.heard(
                    &remote.get::<Vec<AttemptOutput>>(&["runs", view.run.id.as_str(), "output"], &query)?,
                )
            }
        };
        let goes_on = matches!(view.run.state.status, RunStatus::Running | RunStatus::Created);
        // Whoever read it had enough.
        if gone.is_err() || !args.follow || !goes_on {
            return Ok(Output::text(if shown.open_line { "\n" } else { "" }));
        }
        std::thread::sleep(match desk {
            Desk::Here(_) => LOOK_EVERY,
            Desk::There(_) => ASK_EVERY,
        });
    }
}

/// Whether there is such a step, or in a job such a phase, now or later.
fn has_step(view: &RunView, step: &str) -> bool {
    let is_phase = |step: &str| {
        let number = step.split('-').nth(1).and_then(|number| number.parse().ok());
        number.is_some_and(|number| job::phase_name(number) == step)
    };
    match view.run.job() {
        Some(_) => is_phase(step),
        None => steps(view).any(|known| known == step),
    }
}

fn steps(view: &RunView) -> impl Iterator<Item = &str> {
    view.run.definition.plan.phases.iter().flat_map(|phase| &phase.tasks).map(|task| task.id.as_str())
}

fn no_step(view: &RunView, step: &str) -> CliError {
    let error = CliError::conflict(format!("there is no step `{}` in run {}", one_line(step), view.run.id));
    match closest(step, steps(view)) {
        _ if view.run.job().is_some() => error.hint("phases of a job are named such as `phase-1-strategic`"),
        Some(near) => error.hint(format!("did you mean `{}`?", one_line(near))),
        None => error.hint(format!("steps: {}", one_line(&listed(steps(view))))),
    }
}

/// What was asked of a model.
fn requests(desk: &Desk, run: &str, wanted: Option<&str>) -> Result<Output, CliError> {
    let found: Vec<LlmRequest> = match (desk, wanted) {
        (Desk::Here(session), _) => {
            let who = session.principal()?;
            let found = session.wait(session.engine.model_requests(&who, run, wanted))?;
            found.into_iter().map(|one| LlmRequest::of(one, wanted.is_some())).collect()
        }
        (Desk::There(remote), None) => remote.get(&["runs", run, "requests"], &[])?,
        (Desk::There(remote), Some(wanted)) => vec![remote.get(&["runs", run, "requests", wanted], &[])?],
    };
    if let Some(wanted) = wanted {
        let none = || CliError::conflict(format!("there is no request `{wanted}`"));
        return Output::json(found.first().ok_or_else(none)?);
    }
    let line = |one: &LlmRequest| {
        let how = match (&one.error, one.status) {
            (Some(error), _) => one_line(error),
            (None, Some(status)) => status.to_string(),
            (None, None) => String::new(),
        };
        format!(
            "{:<8} {:.0} {} {}ms {} {how}\n",
            one.id,
            one.started_at,
            one_line(&one.task),
            one.duration_ms,
            one_line(&one.model)
        )
    };
    Ok(Output::text(found.iter().map(line).collect::<String>()))
}

/// What was printed already.
#[derive(Default)]
struct Shown {
    records: usize,
    /// The attempt whose output is being printed, and how far each stream was.
    attempt: Option<String>,
    offsets: [u64; 2],
    finished: usize,
    /// How far the streams of each attempt were that a server told of.
    heard: Vec<[usize; 2]>,
    /// Whether the last line that was printed has no end.
    open_line: bool,
}

impl Shown {
    fn records(&mut self, view: &RunView) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        let records = log::records(&view.run.id, &view.run.definition, &view.history);
        for record in records.iter().skip(self.records) {
            writeln!(out, "{}", serde_json::to_string(record).unwrap_or_default())?;
        }
        self.records = records.len();
        out.flush()
    }

    fn heard(&mut self, attempts: &[AttemptOutput]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for (number, attempt) in attempts.iter().enumerate() {
            if number >= self.heard.len() {
                self.heard.push([0; 2]);
                heading(&mut out, &mut self.open_line, &attempt.task, attempt.attempt)?;
            }
            let Some(offsets) = self.heard.get_mut(number) else { continue };
            for (offset, stream) in offsets.iter_mut().zip([&attempt.stdout, &attempt.stderr]) {
                let new = told(stream.get(*offset..).unwrap_or_default());
                write!(out, "{}", harmless(&new))?;
                self.open_line = new.chars().last().map_or(self.open_line, |last| last != '\n');
                *offset = stream.len();
            }
        }
        out.flush()
    }

    fn output(&mut self, session: &Session, view: &RunView, step: Option<&str>) -> std::io::Result<()> {
        let finished = view.history.iter().filter_map(|(.., event)| match event {
            RunEvent::AttemptFinished(attempt) if attempt.judged => Some(attempt),
            _ => None,
        });
        let wanted = |task: &str| step.is_none_or(|step| step == task);
        for attempt in finished.skip(self.finished) {
            self.finished += 1;
            if let Some(base) = attempt.output.as_ref().filter(|_| wanted(&attempt.task)) {
                self.print(session, view, base, &attempt.task, attempt.attempt)?;
            }
            self.attempt = None;
            self.offsets = [0; 2];
        }
        let under_way = view.run.state.under_way.as_ref();
        let task = match view.run.job() {
            Some((_, job)) => Some(job.phase.name()),
            None => view.run.task_under_way().map(|(_, task)| task.id.clone()),
        };
        if let Some((under_way, task)) = under_way.zip(task).filter(|(_, task)| wanted(task)) {
            let base = checkrein_engine::output_name(under_way.start, &task);
            self.print(session, view, &base, &task, under_way.attempt)?;
        }
        std::io::stdout().lock().flush()
    }

    fn print(
        &mut self,
        session: &Session,
        view: &RunView,
        base: &str,
        task: &str,
        attempt: u32,
    ) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if self.attempt.as_deref() != Some(base) {
            self.attempt = Some(base.to_owned());
            self.offsets = [0; 2];
            heading(&mut out, &mut self.open_line, task, attempt)?;
        }
        let files = session.engine.output_files(&view.run.id, base);
        for (offset, path) in self.offsets.iter_mut().zip([&files.stdout, &files.stderr]) {
            let new = after(path, offset);
            let new = told(&String::from_utf8_lossy(&new));
            // What a step wrote must not command the terminal of whoever looks.
            write!(out, "{}", harmless(&new))?;
            self.open_line = new.chars().last().map_or(self.open_line, |last| last != '\n');
        }
        Ok(())
    }
}

fn heading(out: &mut impl Write, open_line: &mut bool, task: &str, attempt: u32) -> std::io::Result<()> {
    let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
    let end = if std::mem::take(open_line) { "\n" } else { "" };
    writeln!(out, "{end}── {}{again}", one_line(task))
}

/// What a file has beyond an offset; whole lines, unless there is nothing else.
fn after(path: &Path, offset: &mut u64) -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = checkrein_engine::open_regular(path)?;
        file.seek(SeekFrom::Start(*offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let mut bytes = read().unwrap_or_default();
    // Half of what an agent tells is waited for.
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if bytes.get(end..).is_some_and(|open| open.starts_with(b"{\"at\":")) {
        bytes.truncate(end);
    }
    *offset += bytes.len() as u64;
    bytes
}
