//! What can be told of, by the words webhooks ask for it with.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checkpoint::CheckpointStatus;
use crate::event::Event;
use crate::run::{RunEvent, RunStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NotificationType {
    /// Something waits for a person.
    #[serde(rename = "checkpoint.created")]
    CheckpointCreated,
    /// What waits is something else now.
    #[serde(rename = "checkpoint.moved")]
    CheckpointMoved,
    /// It was decided, or withdrawn.
    #[serde(rename = "checkpoint.resolved")]
    CheckpointResolved,
    #[serde(rename = "run.completed")]
    RunCompleted,
    #[serde(rename = "run.failed")]
    RunFailed,
    /// By the policy or a limit.
    #[serde(rename = "run.stopped")]
    RunStopped,
    #[serde(rename = "run.paused")]
    RunPaused,
    #[serde(rename = "run.cancelled")]
    RunCancelled,
    /// Somebody tries whether it arrives; nobody asks for it.
    #[serde(rename = "webhook.test")]
    WebhookTest,
}

use NotificationType::{
    CheckpointCreated, CheckpointMoved, CheckpointResolved, RunCancelled, RunCompleted, RunFailed, RunPaused,
    RunStopped, WebhookTest,
};

impl NotificationType {
    /// Those a webhook can ask for.
    pub const ALL: [NotificationType; 8] = [
        CheckpointCreated,
        CheckpointMoved,
        CheckpointResolved,
        RunCompleted,
        RunFailed,
        RunStopped,
        RunPaused,
        RunCancelled,
    ];

    /// What a webhook is told of that asks for nothing in particular: what waits for a person.
    pub const DEFAULT: [NotificationType; 1] = [CheckpointCreated];

    pub const fn name(self) -> &'static str {
        match self {
            CheckpointCreated => "checkpoint.created",
            CheckpointMoved => "checkpoint.moved",
            CheckpointResolved => "checkpoint.resolved",
            RunCompleted => "run.completed",
            RunFailed => "run.failed",
            RunStopped => "run.stopped",
            RunPaused => "run.paused",
            RunCancelled => "run.cancelled",
            WebhookTest => "webhook.test",
        }
    }

    /// One of those that can be asked for.
    pub fn parse(word: &str) -> Option<NotificationType> {
        NotificationType::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// What an event is told as; most are not told.
    pub fn of(event: &Event) -> Option<NotificationType> {
        match event {
            Event::CheckpointCreated { status, .. } => {
                (*status == CheckpointStatus::Pending).then_some(CheckpointCreated)
            }
            Event::CheckpointMoved { .. } => Some(CheckpointMoved),
            Event::CheckpointResolved { .. } => Some(CheckpointResolved),
            Event::Run(RunEvent::RunEnded { status, rule, .. }) => match (status, rule) {
                (RunStatus::Completed | RunStatus::CompletedWithWarnings, _) => Some(RunCompleted),
                (RunStatus::Cancelled, _) => Some(RunCancelled),
                (_, Some(_)) => Some(RunStopped),
                (_, None) => Some(RunFailed),
            },
            Event::Run(RunEvent::RunPaused { .. }) => Some(RunPaused),
            Event::Run(RunEvent::RunCancelled { .. }) => Some(RunCancelled),
            Event::Run(_) => None,
        }
    }
}

impl fmt::Display for NotificationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Rule;
    use crate::deliverable::Digest;

    #[test]
    fn what_each_event_is_told_as() {
        let digest = Digest::of(b"x");
        let created = |status| Event::CheckpointCreated {
            run: None,
            owner: None,
            created_by: None,
            worker: "w".into(),
            phase: String::new(),
            kind: "deliverable".into(),
            digest,
            round: 1,
            status,
            expires_at: None,
        };
        let ended =
            |status, rule| Event::Run(RunEvent::RunEnded { status, rule, reason: None, unfinished: None });
        let limit = Some(Rule::LimitErrors);
        for (event, expected) in [
            (created(CheckpointStatus::Pending), Some("checkpoint.created")),
            (created(CheckpointStatus::NotRequired), None),
            (Event::CheckpointMoved { digest }, Some("checkpoint.moved")),
            (ended(RunStatus::Completed, None), Some("run.completed")),
            (ended(RunStatus::CompletedWithWarnings, None), Some("run.completed")),
            (ended(RunStatus::Failed, None), Some("run.failed")),
            (ended(RunStatus::Failed, limit), Some("run.stopped")),
            (
                Event::Run(RunEvent::RunPaused { by: "ann".into(), reason: None, retry_at: None }),
                Some("run.paused"),
            ),
            (Event::Run(RunEvent::RunCancelled { by: "ann".into(), reason: None }), Some("run.cancelled")),
            (Event::Run(RunEvent::RunStarted), None),
        ] {
            assert_eq!(NotificationType::of(&event).map(NotificationType::name), expected, "{event:?}");
        }
    }

    #[test]
    fn names_are_those_of_the_wire() {
        for kind in NotificationType::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(NotificationType::parse(kind.name()), Some(kind));
        }
        assert_eq!(NotificationType::parse("webhook.test"), None);
    }
}
