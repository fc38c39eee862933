//! Shows a run as it goes on: live on a terminal, as plain lines elsewhere, as events for programs.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use checkrein_core::decision::StepOrHook;
use checkrein_core::report::duration_words;
use checkrein_core::response::Status;
use checkrein_core::run::job::{AgentOutcome, ForgeNews, JobPhase};
use checkrein_core::run::{Interruption, Place, Run, RunEvent};
use checkrein_engine::Watch;
use checkrein_server::wire::event::said as said_as_json;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use serde_json::json;

use crate::error::warn;
use crate::output::{count, findings, one_line};

pub enum Progress {
    Live(Live),
    Lines,
    Events,
}

/// One bar for the run, with the step under way in it; what is done goes up the screen.
pub struct Live {
    bar: ProgressBar,
    started: HashMap<String, Timestamp>,
}

impl Progress {
    pub fn new(json: bool) -> Progress {
        if json {
            return Progress::Events;
        }
        let calm = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        if calm || !std::io::stderr().is_terminal() {
            return Progress::Lines;
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        // How much there is to do is not known yet.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress::Live(Live { bar, started: HashMap::new() })
    }

    /// Leaves the screen to others.
    pub fn rest(&mut self) {
        if let Progress::Live(live) = self {
            live.bar.disable_steady_tick();
            live.bar.finish_and_clear();
        }
    }

    /// Takes it up again.
    pub fn go_on(&mut self) {
        if let Progress::Live(live) = self {
            let elapsed = live.bar.elapsed();
            live.bar.reset();
            live.bar = live.bar.clone().with_elapsed(elapsed);
            live.bar.enable_steady_tick(Duration::from_millis(120));
        }
    }

    fn line(&self, text: &str) {
        match self {
            Progress::Live(live) => live.bar.println(text),
            // A closed stderr is nobody's error.
            Progress::Lines => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            Progress::Events => {}
        }
    }
}

impl Watch for Progress {
    fn event(&mut self, run: &Run, seq: u64, at: Timestamp, event: &RunEvent) {
        if let Progress::Events = self {
            let mut line = json!({"run_id": run.id, "seq": seq, "at": at});
            if let Some(line) = line.as_object_mut() {
                line.extend(said_as_json(event));
                if let (RunEvent::RunHeld { .. }, Some(hold)) = (event, &run.state.hold) {
                    line.insert("checkpoint".to_owned(), run.id.checkpoint(hold).into());
                }
            }
            let mut stdout = std::io::stdout().lock();
            let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
            return;
        }
        if let Progress::Live(live) = self {
            live.show(run, at, event);
        }
        if let Some(text) = said(run, event) {
            self.line(&text);
        }
    }

    fn warn(&mut self, text: String) {
        match self {
            Progress::Live(live) => live.bar.suspend(|| warn(text)),
            _ => warn(text),
        }
    }
}

impl Live {
    fn show_job(&mut self, phase: &JobPhase, event: &RunEvent) {
        if let RunEvent::AttemptStarted { .. } = event {
            self.bar.set_message(stage_of(phase));
        }
    }

    fn show(&mut self, run: &Run, at: Timestamp, event: &RunEvent) {
        if let Some((_, job)) = run.job() {
            return self.show_job(&job.phase, event);
        }
        let phases = &run.definition.plan.phases;
        let all: usize = phases.iter().filter(|phase| phase.enabled).map(|phase| phase.tasks.len()).sum();
        let done: usize = match run.state.place {
            Place::Entry { phase } | Place::Open { phase } => {
                phases.iter().take(phase).map(|phase| phase.tasks.len()).sum()
            }
            Place::Task { phase, task } => {
                phases.iter().take(phase).map(|phase| phase.tasks.len()).sum::<usize>() + task
            }
            Place::Done => all,
        };
        let template = "{spinner} [{bar:20}] {pos}/{len} {wide_msg} {elapsed}";
        if self.bar.length() == Some(0)
            && let Ok(style) = ProgressStyle::with_template(template)
        {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_length(all as u64);
        self.bar.set_position(done.min(all) as u64);
        if let RunEvent::AttemptStarted { task, attempt, .. } = event {
            self.started.insert(task.clone(), at);
            let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
            let tally = &run.state.tally;
            let found = match (tally.warnings, tally.errors) {
                (0, 0) => String::new(),
                (warnings, errors) => format!(" · {} so far", findings(warnings, errors)),
            };
            self.bar.set_message(format!("{}{again}{found}", one_line(task)));
        }
    }
}

/// Where a job is: nobody knows how many phases there will be.
fn stage_of(phase: &JobPhase) -> String {
    let mut text = format!("phase {} ({})", phase.number, phase.attempt_kind());
    if phase.round > 1 {
        text.push_str(&format!(", round {}", phase.round));
    }
    if !phase.todos.is_empty() {
        text.push_str(&format!(", {}", count(phase.todos.len() as u64, "todo")));
    }
    text
}

/// Whether the agent of a job says that somebody else has to do something first.
fn is_blocked(run: &Run) -> bool {
    let work = run.job().and_then(|(_, job)| job.phase.work.as_ref());
    work.is_some_and(|work| work.result.outcome == AgentOutcome::Blocked)
}

/// What an event is to somebody who watches; most are nothing.
fn said(run: &Run, event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::PhaseStarted { phase } => format!("phase {}", one_line(phase)),
        RunEvent::AttemptFinished(attempt) => {
            let mark = match attempt.response.status {
                // An agent that cannot go on has done nothing wrong, and nothing that is done.
                Status::Success if is_blocked(run) => "blocked",
                Status::Success if attempt.response.findings().next().is_none() => "ok",
                Status::Success | Status::Warning => "warning",
                Status::Failure => "failed",
            };
            let count = |count: usize, one: &str| match count {
                0 => String::new(),
                1 => format!(", 1 {one}"),
                count => format!(", {count} {one}s"),
            };
            let found = format!(
                "{}{}",
                count(attempt.response.warnings.len(), "warning"),
                count(attempt.response.errors.len(), "error")
            );
            let again = match (attempt.kind, attempt.attempt) {
                (StepOrHook::Step, 2..) => format!(" (attempt {})", attempt.attempt),
                _ => String::new(),
            };
            let time = duration_words(attempt.duration_ms);
            format!("  {mark:<8}{}{again} ({time}{found})", one_line(&attempt.task))
        }
        RunEvent::AttemptInterrupted { task, why: Interruption::Lost, .. } => {
            format!("  {:<8}{}, it is repeated", "lost", one_line(task))
        }
        RunEvent::AttemptInterrupted { task, .. } => format!("  {:<8}{}", "ended", one_line(task)),
        RunEvent::LoopedBack { to, retry, because, .. } => {
            format!("  back to {} (retry {retry}): {}", one_line(to), one_line(because))
        }
        RunEvent::CheckedIn { boundary, warnings, errors } => {
            let found = match (warnings, errors) {
                (0, 0) => "nothing to answer".to_owned(),
                _ => findings(*warnings, *errors),
            };
            format!("  check-in: {}, {found}", one_line(&boundary.reached()))
        }
        RunEvent::HoldReleased { by, .. } => format!("  approved by {}", one_line(by)),
        RunEvent::PhaseSkipped { phase, .. } => format!("phase {} is not run", one_line(phase)),
        RunEvent::RunPaused { reason: Some(reason), .. } => format!("paused: {}", one_line(reason)),
        RunEvent::RunPaused { reason: None, .. } => "paused".to_owned(),
        RunEvent::RunCancelled { .. } => "cancelled".to_owned(),
        RunEvent::Forge(news) => match &**news {
            ForgeNews::PullOpened { pull } => format!("  review  {}", one_line(&pull.url)),
            ForgeNews::Trouble { text: Some(text) } => {
                format!("  trouble with the forge: {}", one_line(text))
            }
            ForgeNews::Barred { text } => format!("  {}", one_line(text)),
            ForgeNews::Trouble { text: None } => "  the forge is there again".to_owned(),
            _ => return None,
        },
        RunEvent::Decided(decided) if decided.truncated_warnings > 0 || decided.truncated_errors > 0 => {
            let kind = if decided.truncated_warnings > 0 { "warnings" } else { "errors" };
            format!("  Limit reached, truncating collection: {kind}")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use checkrein_core::run::job::{Stage, Todo};

    use super::*;

    #[test]
    fn a_job_shows_where_it_is() {
        let todo = |id: u32| Todo { id, content: "x".to_owned(), done: false };
        let phase = |number: u32, round: u32, stage: Stage, todos: u32| JobPhase {
            number,
            revision: 1,
            round,
            stage,
            todos: (0..todos).map(todo).collect(),
            repeated: false,
            rework: None,
            work: None,
            review: None,
            unfinished: None,
            outages: 0,
        };
        assert_eq!(stage_of(&phase(1, 1, Stage::Work, 0)), "phase 1 (strategic)");
        assert_eq!(stage_of(&phase(2, 1, Stage::Work, 1)), "phase 2 (tactical), 1 todo");
        assert_eq!(stage_of(&phase(2, 3, Stage::Feedback, 4)), "phase 2 (strategic), round 3, 4 todos");
    }
}
