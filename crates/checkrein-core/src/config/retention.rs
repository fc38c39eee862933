//! How long what is settled is kept (W19). What is open is kept as long as it is open.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::duration::Written;
use crate::policy::Setting;
use crate::run::{RunStatus, State};

/// How long what is settled is kept. `null` keeps for ever.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Checkpoints that were decided, their events and deliverables. 30 days by default; open ones
    /// are never removed, those of a run go with it.
    checkpoints: Setting<Written>,
    /// What the steps of a run returned and wrote. 14 days by default.
    step_responses: Setting<Written>,
    /// The same of runs with errors or findings of high severity. 30 days by default.
    failed_step_responses: Setting<Written>,
    /// Runs without findings. 30 days by default; unfinished ones are never removed.
    runs: Setting<Written>,
    /// Runs that ended with warnings. 45 days by default.
    warned_runs: Setting<Written>,
    /// Runs that failed. 60 days by default.
    failed_runs: Setting<Written>,
    /// Sessions of frames nobody has touched, with their logs. 90 days by default.
    frame_sessions: Setting<Written>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    For(Duration),
    Forever,
}

/// What is kept for a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Checkpoints,
    StepResponses,
    FailedStepResponses,
    Runs,
    WarnedRuns,
    FailedRuns,
    FrameSessions,
}

impl Kept {
    /// Where nobody says anything (W19).
    pub const fn by_default(self) -> Keep {
        let days = match self {
            Kept::StepResponses => 14,
            Kept::Checkpoints | Kept::FailedStepResponses | Kept::Runs => 30,
            Kept::WarnedRuns => 45,
            Kept::FailedRuns => 60,
            Kept::FrameSessions => 90,
        };
        Keep::For(Duration::from_secs(days * 24 * 60 * 60))
    }
}

impl Keep {
    /// What was settled before this is old; none where nothing ever is.
    pub fn old_before(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Keep::Forever => None,
            Keep::For(length) => now.checked_sub(length).ok(),
        }
    }
}

/// What is to become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Keep,
    /// What its steps returned and wrote goes; that it was stays.
    Trim,
    Remove,
}

/// How old a run is counts from when it came to rest; what is unfinished has no age.
pub fn fate(state: &State, now: Timestamp, keep: impl Fn(Kept) -> Keep) -> Fate {
    let whole = match state.status {
        RunStatus::Completed | RunStatus::Cancelled => Kept::Runs,
        RunStatus::CompletedWithWarnings => Kept::WarnedRuns,
        RunStatus::Failed => Kept::FailedRuns,
        RunStatus::Created | RunStatus::Running | RunStatus::Held | RunStatus::Paused => return Fate::Keep,
    };
    let bad = state.tally.errors > 0 || state.tally.by_severity.high > 0;
    let responses = if bad { Kept::FailedStepResponses } else { Kept::StepResponses };
    let ended = state.ended_at.unwrap_or(state.created_at);
    let old = |kept: Kept| keep(kept).old_before(now).is_some_and(|before| ended < before);
    if old(whole) {
        Fate::Remove
    } else if old(responses) {
        Fate::Trim
    } else {
        Fate::Keep
    }
}

impl Retention {
    /// None where it says nothing.
    pub(super) fn says(&self, kept: Kept) -> Option<Keep> {
        let said = match kept {
            Kept::Checkpoints => &self.checkpoints,
            Kept::StepResponses => &self.step_responses,
            Kept::FailedStepResponses => &self.failed_step_responses,
            Kept::Runs => &self.runs,
            Kept::WarnedRuns => &self.warned_runs,
            Kept::FailedRuns => &self.failed_runs,
            Kept::FrameSessions => &self.frame_sessions,
        };
        match said {
            Setting::Absent => None,
            Setting::Clear => Some(Keep::Forever),
            Setting::Set(Written(length)) => Some(Keep::For(*length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{CheckreinFile, Owner, Settings};
    use crate::document::{Document, Format};
    use crate::policy::Reading;

    #[test]
    fn the_stronger_file_says_how_long() {
        let days = |days: u64| Keep::For(Duration::from_secs(days * 86_400));
        let file = |text: &str| {
            let document = Document::parse("checkrein.yaml", text, Format::Yaml)?;
            CheckreinFile::read(&Arc::new(document), Owner::Project, Reading::Strict).map(|(file, _)| file)
        };
        for (user, project, expected) in [
            ("", "", days(30)),
            ("retention: {checkpoints: 7d}", "", days(7)),
            ("retention: {checkpoints: 7d}", "retention: {}", days(7)),
            ("retention: {checkpoints: 7d}", "retention: {checkpoints: 90d}", days(90)),
            ("retention: {checkpoints: 7d}", "retention: {checkpoints: null}", Keep::Forever),
            ("retention: {checkpoints: null}", "", Keep::Forever),
            ("", "retention: {checkpoints: 0s}", days(0)),
        ] {
            let files = (file(user).unwrap(), file(project).unwrap());
            let settings = Settings::new(Some(files.0), Some(files.1), None, Vec::new()).unwrap();
            assert_eq!(settings.keep(Kept::Checkpoints), expected, "{user} / {project}");
        }
        for wrong in ["retention: {checkpoints: soon}", "retention: {checkpoint: 7d}", "retention: 7d"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_is_trimmed_and_then_removed() {
        use crate::finding::Severity;
        use crate::run::tests::{created, definition, plan};
        let days = |days: i64| Timestamp::from_second(days * 86_400).unwrap();
        let (mut run, _) = created(&definition(plan("a: x"), "{}"));
        run.state.ended_at = Some(days(0));
        for (status, high, day, expected) in [
            (RunStatus::Completed, false, 13, Fate::Keep),
            (RunStatus::Completed, false, 15, Fate::Trim),
            (RunStatus::Completed, false, 31, Fate::Remove),
            (RunStatus::Cancelled, false, 31, Fate::Remove),
            (RunStatus::CompletedWithWarnings, true, 29, Fate::Keep),
            (RunStatus::CompletedWithWarnings, true, 31, Fate::Trim),
            (RunStatus::CompletedWithWarnings, false, 46, Fate::Remove),
            (RunStatus::Failed, true, 59, Fate::Trim),
            (RunStatus::Failed, true, 61, Fate::Remove),
            (RunStatus::Paused, true, 9999, Fate::Keep),
            (RunStatus::Held, true, 9999, Fate::Keep),
            (RunStatus::Running, true, 9999, Fate::Keep),
        ] {
            run.state.status = status;
            run.state.tally = crate::tally::Tally::default();
            if high {
                run.state.tally.by_severity.add(Severity::High);
            }
            assert_eq!(fate(&run.state, days(day), Kept::by_default), expected, "{status} on day {day}");
        }
    }
}
