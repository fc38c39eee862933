//! Where a run stands, and what may move it on: one table, from which the docs draw their picture.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommandKind::{
    self, Answer, Begin, Cancel, Conflict, Finish, Land, Lose, Pause, Push, Resume, Start,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Created,
    /// An attempt is under way.
    Running,
    /// Waits for a person's answer.
    Held,
    /// Stopped by a person; not the end.
    Paused,
    Completed,
    CompletedWithWarnings,
    Failed,
    Cancelled,
}

use RunStatus::{Cancelled, Completed, CompletedWithWarnings, Created, Failed, Held, Paused, Running};

impl RunStatus {
    pub const ALL: [RunStatus; 8] =
        [Created, Running, Held, Paused, Completed, CompletedWithWarnings, Failed, Cancelled];

    pub const fn name(self) -> &'static str {
        match self {
            Created => "created",
            Running => "running",
            Held => "held",
            Paused => "paused",
            Completed => "completed",
            CompletedWithWarnings => "completed_with_warnings",
            Failed => "failed",
            Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.name() == word)
    }

    /// Nothing moves it any more.
    pub fn is_over(self) -> bool {
        !TRANSITIONS.iter().any(|transition| transition.from == self)
    }

    /// Nothing happens until somebody does something; what was done so far can be told.
    pub const fn is_at_rest(self) -> bool {
        !matches!(self, Created | Running | Held)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// From a status, by a command, to one of these.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    pub from: RunStatus,
    pub by: CommandKind,
    pub to: &'static [RunStatus],
}

/// Wherever a run goes on, it goes on to its next attempt, hold or end.
const ON: &[RunStatus] = &[Running, Held, Completed, CompletedWithWarnings];
const ON_OR_NOT: &[RunStatus] = &[Running, Held, Completed, CompletedWithWarnings, Failed, Paused];

/// What is not in here is refused.
pub static TRANSITIONS: &[Transition] = &[
    Transition { from: Created, by: Start, to: ON },
    Transition { from: Created, by: Cancel, to: &[Cancelled] },
    Transition { from: Running, by: Begin, to: &[Running] },
    Transition { from: Running, by: Finish, to: ON_OR_NOT },
    Transition { from: Running, by: Land, to: &[Running, Completed, CompletedWithWarnings] },
    Transition { from: Running, by: Conflict, to: &[Held] },
    Transition { from: Running, by: Lose, to: &[Running] },
    Transition { from: Running, by: Pause, to: &[Paused] },
    Transition { from: Running, by: Cancel, to: &[Cancelled] },
    Transition {
        from: Held,
        by: Answer,
        to: &[Running, Held, Completed, CompletedWithWarnings, Paused, Cancelled],
    },
    Transition { from: Held, by: Push, to: &[Held] },
    Transition { from: Held, by: Cancel, to: &[Cancelled] },
    Transition { from: Paused, by: Resume, to: ON_OR_NOT },
    Transition { from: Paused, by: Cancel, to: &[Cancelled] },
    Transition { from: Failed, by: Resume, to: ON_OR_NOT },
    Transition { from: Failed, by: Cancel, to: &[Cancelled] },
];

pub fn allowed(from: RunStatus, by: CommandKind) -> Option<&'static Transition> {
    TRANSITIONS.iter().find(|transition| transition.from == from && transition.by == by)
}

/// The table as a state diagram for the docs.
pub fn diagram() -> String {
    let mut lines = vec!["stateDiagram-v2".to_owned(), "    [*] --> created".to_owned()];
    for transition in TRANSITIONS {
        for to in transition.to {
            lines.push(format!("    {} --> {to}: {}", transition.from, transition.by));
        }
    }
    for status in RunStatus::ALL.into_iter().filter(|status| status.is_over()) {
        lines.push(format!("    {status} --> [*]"));
    }
    lines.join("\n")
}
