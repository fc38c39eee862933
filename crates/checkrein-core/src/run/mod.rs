//! A run: what may happen next, and what has happened. No I/O, no clock.
//!
//! [`Run::apply`] takes a command and gives back what happened and what is to be done now. A run
//! changes in no other way, and folding its events gives the same run.

mod advance;
mod answer;
mod cancel;
mod check_in;
mod command;
mod event;
mod finish;
mod fold;
pub mod job;
pub mod log;
mod lose;
mod pause;
mod resume;
mod start;
mod status;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::{LimitsReached, Rule};
use crate::label::Label;
use crate::plan::{Plan, PlannedPhase, Task};
use crate::policy::Policy;
use crate::tally::Tally;
use job::{JobDefinition, JobState, Stage};

pub use check_in::asked;
#[cfg(test)]
pub(crate) use check_in::left_out;
pub use command::{Command, CommandKind, Finished};
pub use event::{
    At, Attempt, Boundary, Choice, Decided, HoldKind, Interruption, PhaseStatus, RemedyChosen, RunEvent,
};
pub use status::{RunStatus, TRANSITIONS, Transition, allowed, diagram};

/// What a run was started with; it never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub plan: Plan,
    pub policy: Policy,
    /// What the work is about, such as a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<String>,
    /// Values for placeholders.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub values: IndexMap<String, String>,
    /// Where relative paths begin.
    pub directory: String,
    /// The only phases that run, where somebody asked for some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// What makes it a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobDefinition>>,
}

impl Definition {
    /// Whether a phase is enabled and among those that were selected.
    fn runs(&self, phase: &PlannedPhase) -> bool {
        phase.enabled && (self.only.is_empty() || self.only.contains(&phase.name))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub definition: Arc<Definition>,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    pub fn new(text: impl Into<String>) -> RunId {
        RunId(text.into())
    }

    /// How long one is.
    pub const LENGTH: usize = 21;

    /// Whether a text may be the id of a run, so that there is something to look up: a day, a time and a
    /// word.
    pub fn looks_like(text: &str) -> bool {
        let digits = |part: Option<&str>, count: usize| {
            part.is_some_and(|part| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut parts = text.split('-');
        digits(parts.next(), 8) && digits(parts.next(), 6) && parts.next().is_some()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The checkpoint of a hold, by the round it was asked in.
    pub fn checkpoint(&self, hold: &Hold) -> String {
        match hold.round {
            1 => format!("{}.{}", self.0, hold.number),
            round => format!("{}.{}.{round}", self.0, hold.number),
        }
    }

    /// What the processes of an attempt carry.
    pub fn attempt(&self, start: u64) -> String {
        format!("{}/{start}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything about a run that changes. Small, since it is written at every step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub status: RunStatus,
    /// How many events there were.
    pub version: u64,
    pub place: Place,
    pub phases: Vec<PhaseState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<UnderWay>,
    /// How many attempts were started.
    pub starts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    pub holds: u32,
    pub tally: Tally,
    /// Findings of both kinds since the last check-in.
    pub since_check_in: Tally,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check_in: Option<CheckIn>,
    /// How often errors sent it back.
    pub retries: u32,
    /// Why it was sent back, for the attempts that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(default, skip_serializing_if = "LimitsReached::is_empty")]
    pub limits_reached: LimitsReached,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it last came to rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When a paused run is resumed by itself, if a server or a worker runs then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// How often in a row the model of a step's agent was away; those of a job are counted by phase.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outages: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobState>>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Who resumes a run that was paused until its model answers again.
pub const RETRIER: &str = "checkrein";

/// Where the run stands in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before a phase, whose entry is to be asked about; past the last one is the end.
    Entry { phase: usize },
    /// Before a phase that may be entered.
    Open { phase: usize },
    /// Before a task; past the last one is the end of the phase.
    Task { phase: usize, task: usize },
    /// Everything is done; whether to hold is not asked any more.
    Done,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseState {
    pub status: PhaseStatus,
    /// Finished attempts of each task.
    pub attempts: Vec<u32>,
    /// Steps that are done in this pass.
    pub steps_done: u32,
    pub warnings: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    pub phase: usize,
    pub task: usize,
    pub attempt: u32,
    pub start: u64,
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub number: u32,
    pub kind: HoldKind,
    #[serde(flatten)]
    pub boundary: At,
    pub round: u32,
    pub reason: String,
    /// Whether it is also a check-in, which its release completes.
    #[serde(default)]
    pub check_in: bool,
    /// Where the run goes on once it is released.
    pub then: Place,
    /// Answered with no; asked again on resume.
    #[serde(default)]
    pub rejected: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckIn {
    /// The number of its event.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The rule of the policy that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    pub reason: String,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    pub events: Vec<RunEvent>,
    pub effects: Vec<Effect>,
}

/// What is to be done, after what happened is committed. Each may be done twice without harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start the attempt under way.
    Attempt { start: u64 },
    /// Begin the next attempt, which nobody has begun: of a job, or of a step that not every worker can do.
    Begin,
    /// Merge the phase of a job.
    Land,
    /// Put on record that no review was required.
    Record { hold: u32 },
    /// Ask a person.
    Ask { hold: u32 },
    /// End the processes of an attempt.
    End { start: u64 },
    /// Take back what was asked.
    Withdraw { checkpoint: String },
    /// Write down how it went.
    Summarise,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("run `{id}` is {status}: it cannot be {}", command.done())]
    NotNow { id: RunId, status: RunStatus, command: CommandKind },
    #[error("run `{id}` has no attempt {start} under way")]
    StaleAttempt { id: RunId, start: u64 },
    #[error("run `{id}` does not wait for an answer to its question {hold}")]
    StaleAnswer { id: RunId, hold: u32 },
    #[error("a {} is approved or rejected; there is nothing to change in it", kind.name())]
    NothingToChange { kind: HoldKind },
    #[error("an attempt ends with at least one response")]
    NoResponse,
    #[error("run `{id}` is not a job")]
    NotAJob { id: RunId },
    #[error("there is no comment `{comment}` in the review of run `{id}`")]
    NoComment { id: RunId, comment: String },
}

impl Run {
    pub fn create(
        id: RunId,
        definition: Arc<Definition>,
        created: RunEvent,
        now: Timestamp,
    ) -> (Run, Applied) {
        let phases = definition.plan.phases.iter();
        let phases =
            phases.map(|phase| PhaseState { attempts: vec![0; phase.tasks.len()], ..PhaseState::default() });
        let state = State {
            status: RunStatus::Created,
            version: 0,
            place: Place::Entry { phase: 0 },
            phases: phases.collect(),
            under_way: None,
            starts: 0,
            hold: None,
            holds: 0,
            tally: Tally::default(),
            since_check_in: Tally::default(),
            last_check_in: None,
            retries: 0,
            failure: None,
            limits_reached: LimitsReached::default(),
            stopped: None,
            created_at: now,
            started_at: None,
            ended_at: None,
            retry_at: None,
            outages: 0,
            job: definition.job.as_ref().map(|_| Box::new(JobState::new())),
        };
        let mut run = Run { id, definition, state };
        run.fold(&created, now);
        (run, Applied { events: vec![created], effects: Vec::new() })
    }

    /// The run its events tell of; none where they do not begin with its creation.
    pub fn told(
        id: RunId,
        definition: Arc<Definition>,
        events: impl IntoIterator<Item = (RunEvent, Timestamp)>,
    ) -> Option<Run> {
        let mut events = events.into_iter();
        let (created, at) = events.next()?;
        if !matches!(created, RunEvent::RunCreated { .. }) {
            return None;
        }
        let (mut run, _) = Run::create(id, definition, created, at);
        for (event, at) in events {
            run.fold(&event, at);
        }
        Some(run)
    }

    /// Lets a command happen, or refuses it and changes nothing.
    pub fn apply(&mut self, command: Command, now: Timestamp) -> Result<Applied, Refusal> {
        let kind = command.kind();
        let refused = || Refusal::NotNow { id: self.id.clone(), status: self.state.status, command: kind };
        // What people say is remembered in any status, and moves nothing; about a job, until it is over.
        let said = matches!(kind, CommandKind::Remedy | CommandKind::Forge)
            || matches!(kind, CommandKind::Say) && !self.state.status.is_over();
        if !said && (allowed(self.state.status, kind).is_none() || !self.is_its_time(kind)) {
            return Err(refused());
        }
        let mut moved = Move { run: self, now, events: Vec::new(), effects: Vec::new(), fit: false };
        match command {
            Command::Start => start::start(&mut moved),
            Command::Begin if moved.run.definition.job.is_some() => moved.go_on(),
            Command::Begin => {
                moved.fit = true;
                moved.advance();
            }
            Command::Finish(finished) if moved.run.definition.job.is_some() => {
                job::finish(&mut moved, finished)?;
            }
            Command::Finish(finished) => finish::finish(&mut moved, finished)?,
            Command::Lose { start } => lose::lose(&mut moved, start)?,
            Command::Answer { hold, verdict, by, reason, start_over } => {
                answer::answer(&mut moved, hold, verdict, by, reason, start_over)?;
            }
            Command::Land(landed) => job::land(&mut moved, landed),
            Command::Conflict(conflict) => job::conflicted(&mut moved, conflict),
            Command::Bar { text } => job::barred(&mut moved, text),
            Command::Push { hold, head, files, files_total, next_todos, conflict, lapsed } => {
                moved.record(RunEvent::ReviewMoved {
                    hold,
                    head,
                    files,
                    files_total,
                    next_todos,
                    conflict,
                    lapsed,
                });
            }
            Command::Pause { by } => pause::pause(&mut moved, by),
            Command::Stall { start, reason, outage } => pause::stall(&mut moved, start, reason, outage)?,
            Command::Resume { by } => resume::resume(&mut moved, by),
            Command::Cancel { by, reason } => cancel::cancel(&mut moved, by, reason),
            Command::Comment { comment, by, author } => job::comment(&mut moved, comment, by, author)?,
            Command::Spend { start, used } => job::spend(&mut moved, start, used)?,
            Command::Mark { file, mark, by, content } => job::mark(&mut moved, file, mark, by, content)?,
            Command::Resolve { comment, resolved, by } => job::resolve(&mut moved, comment, resolved, by)?,
            Command::ChangePolicy { policy, by } => job::change_policy(&mut moved, policy, by)?,
            Command::Forge(news) => job::learn(&mut moved, news)?,
            Command::Remedy(chosen) => moved.record(RunEvent::RemedyChosen(Box::new(chosen))),
        }
        if said {
            return Ok(Applied { events: moved.events, effects: Vec::new() });
        }
        let Move { mut events, mut effects, .. } = moved;
        effects.extend(events.iter().find_map(|event| match event {
            RunEvent::PhasePassed { review: Some(hold), .. } => Some(Effect::Record { hold: *hold }),
            _ => None,
        }));
        events.shrink_to_fit();
        effects.extend(self.due());
        Ok(Applied { events, effects })
    }

    /// Whether a job is where this command belongs; of other runs the table says all.
    fn is_its_time(&self, kind: CommandKind) -> bool {
        let stage = self.state.job.as_ref().map(|job| job.phase.stage);
        let idle = self.state.under_way.is_none();
        match kind {
            CommandKind::Begin => idle && stage != Some(Stage::Land),
            CommandKind::Land | CommandKind::Conflict => idle && stage == Some(Stage::Land),
            CommandKind::Push => stage.is_some(),
            _ => true,
        }
    }

    /// Labels that whoever goes on with it must have: those of the whole run, and of the step it is at.
    pub fn requires(&self) -> Vec<Label> {
        let at = match (&self.state.under_way, self.state.place) {
            (Some(under_way), _) => Some((under_way.phase, under_way.task)),
            (None, Place::Task { phase, task }) if self.state.status == RunStatus::Running => {
                Some((phase, task))
            }
            _ => None,
        };
        let task = at.and_then(|(phase, task)| self.phase(phase)?.tasks.get(task));
        let mut all = self.definition.plan.requires.clone();
        all.extend(task.into_iter().flat_map(|task| task.requires.iter().cloned()));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What is to be done in this state, whether or not somebody has begun to: what a new engine does
    /// first.
    pub fn due(&self) -> Option<Effect> {
        match (&self.state.under_way, &self.state.hold) {
            (Some(under_way), _) => Some(Effect::Attempt { start: under_way.start }),
            (None, Some(hold)) if self.state.status == RunStatus::Held => {
                Some(Effect::Ask { hold: hold.number })
            }
            (None, _) if self.state.status == RunStatus::Running => {
                let stage = self.state.job.as_ref().map(|job| job.phase.stage);
                Some(if stage == Some(Stage::Land) { Effect::Land } else { Effect::Begin })
            }
            _ => self.state.status.is_at_rest().then_some(Effect::Summarise),
        }
    }

    pub fn phase(&self, index: usize) -> Option<&PlannedPhase> {
        self.definition.plan.phases.get(index)
    }

    /// The task whose attempt is under way.
    pub fn task_under_way(&self) -> Option<(&UnderWay, &Task)> {
        let under_way = self.state.under_way.as_ref()?;
        Some((under_way, self.definition.plan.task(under_way.phase, under_way.task)?))
    }

    /// The phase it is in, or came to last.
    pub fn current_phase(&self) -> Option<&PlannedPhase> {
        match self.state.place {
            Place::Entry { phase } | Place::Open { phase } | Place::Task { phase, .. } => self.phase(phase),
            Place::Done => self.definition.plan.phases.last(),
        }
    }
}

/// A command on its way through a run: every event changes the run as soon as it happens.
struct Move<'r> {
    run: &'r mut Run,
    now: Timestamp,
    events: Vec<RunEvent>,
    effects: Vec<Effect>,
    /// Whoever gave the command has all that the next task requires.
    fit: bool,
}

impl Move<'_> {
    fn record(&mut self, event: RunEvent) {
        self.run.fold(&event, self.now);
        self.events.push(event);
    }

    /// Ends the attempt under way, if there is one, without a result.
    fn interrupt(&mut self, why: Interruption) {
        if let Some(start) = self.interrupted(why) {
            return self.effects.push(Effect::End { start });
        }
        let Some((under_way, task)) = self.run.task_under_way() else { return };
        let start = under_way.start;
        let event = RunEvent::AttemptInterrupted { task: task.id.clone(), attempt: under_way.attempt, why };
        self.record(event);
        self.effects.push(Effect::End { start });
    }
}

#[cfg(test)]
pub(crate) mod simulator;
#[cfg(test)]
pub(crate) mod tests;
