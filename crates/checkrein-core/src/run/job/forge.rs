//! A job and the forge in which people review it as well: where that is, and what is known of it.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{Move, Refusal, RunEvent};
use super::{JobPhase, JobState};

/// Where reviews live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForgeKind {
    /// Here alone: in the store and the repository of the job.
    #[default]
    Local,
    /// Gitea, and Forgejo.
    Gitea,
    Github,
}

impl ForgeKind {
    pub const fn name(self) -> &'static str {
        match self {
            ForgeKind::Local => "local",
            ForgeKind::Gitea => "gitea",
            ForgeKind::Github => "github",
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The place in a forge a job has its pull requests at. What proves that we may is not part of it: that is
/// taken from the settings of whoever runs the job, and only for this address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeAt {
    pub kind: ForgeKind,
    /// As people open it, without a slash at the end.
    pub url: String,
    /// `owner/name`
    pub repository: String,
    /// Whether it is made for this job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made: bool,
}

/// A pull request of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub number: u64,
    /// As people open it.
    pub url: String,
    pub phase: String,
    /// Without what leads to it, such as `phase-1-strategic-rev-2`.
    pub branch: String,
    /// What the agent last left there, and when, by the forge's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub head: String,
    pub at: Timestamp,
}

/// How a pull request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Merged,
    Closed,
}

/// What was learnt of a forge, or done there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum ForgeNews {
    PullOpened {
        #[serde(flatten)]
        pull: Pull,
    },
    /// A round of the agent's work can be looked at there.
    PullShown {
        number: u64,
        head: String,
        at: Timestamp,
    },
    PullSettled {
        number: u64,
        how: Settled,
    },
    /// Something people did there was taken notice of, and is not again.
    Heard {
        id: String,
    },
    /// The forge's own rules keep what was approved or passed from being merged: a person is asked again.
    Barred {
        text: String,
    },
    /// What keeps the two apart; none once that is over.
    Trouble {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl JobState {
    /// The pull request of the branch that is worked on.
    pub fn pull(&self) -> Option<&Pull> {
        self.pull_of(&self.phase)
    }

    fn pull_of(&self, phase: &JobPhase) -> Option<&Pull> {
        let branch = phase.branch();
        self.pulls.iter().rev().find(|pull| pull.branch == branch)
    }

    /// Pull requests that nobody works on any more and that are still open, as far as is known.
    pub fn left_open(&self, over: bool) -> Vec<Pull> {
        let branch = self.phase.branch();
        let left = self.pulls.iter().filter(|pull| pull.settled.is_none() && (over || pull.branch != branch));
        left.cloned().collect()
    }

    pub(super) fn learn(&mut self, news: &ForgeNews) {
        let named = |pulls: &mut Vec<Pull>, number: u64, change: &dyn Fn(&mut Pull)| {
            pulls.iter_mut().filter(|pull| pull.number == number).for_each(change);
        };
        match news {
            ForgeNews::PullOpened { pull } => {
                self.pulls.retain(|known| known.number != pull.number);
                self.pulls.push(pull.clone());
            }
            ForgeNews::PullShown { number, head, at } => named(&mut self.pulls, *number, &|pull| {
                pull.shown = Some(Shown { head: head.clone(), at: *at });
            }),
            ForgeNews::PullSettled { number, how } => {
                named(&mut self.pulls, *number, &|pull| pull.settled = Some(*how));
            }
            ForgeNews::Heard { id } => self.heard.push(id.clone()),
            ForgeNews::Barred { .. } => self.phase.round = self.phase.round.saturating_add(1),
            ForgeNews::Trouble { text } => self.trouble.clone_from(text),
        }
    }
}

pub(in crate::run) fn learn(moved: &mut Move<'_>, news: ForgeNews) -> Result<(), Refusal> {
    if moved.run.job().is_none() {
        return Err(Refusal::NotAJob { id: moved.run.id.clone() });
    }
    moved.record(RunEvent::Forge(Box::new(news)));
    Ok(())
}
