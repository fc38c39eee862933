//! The words for where a frame stands.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameStatus {
    Planned,
    InProgress,
    Completed,
    Failed,
    Blocked,
    Invalidated,
}

impl FrameStatus {
    pub const ALL: [FrameStatus; 6] = [
        FrameStatus::Planned,
        FrameStatus::InProgress,
        FrameStatus::Completed,
        FrameStatus::Failed,
        FrameStatus::Blocked,
        FrameStatus::Invalidated,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FrameStatus::Planned => "planned",
            FrameStatus::InProgress => "in_progress",
            FrameStatus::Completed => "completed",
            FrameStatus::Failed => "failed",
            FrameStatus::Blocked => "blocked",
            FrameStatus::Invalidated => "invalidated",
        }
    }

    /// Nothing more will happen in such a frame. A blocked one may be taken up again.
    pub fn is_closed(self) -> bool {
        match self {
            FrameStatus::Completed | FrameStatus::Failed | FrameStatus::Invalidated => true,
            FrameStatus::Planned | FrameStatus::InProgress | FrameStatus::Blocked => false,
        }
    }

    /// The frame was popped, so it has been folded into its summary.
    pub fn is_folded(self) -> bool {
        match self {
            FrameStatus::Completed | FrameStatus::Failed | FrameStatus::Blocked => true,
            FrameStatus::Planned | FrameStatus::InProgress | FrameStatus::Invalidated => false,
        }
    }
}

impl fmt::Display for FrameStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a frame may end when it is popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PopStatus {
    /// The goal was reached.
    Completed,
    /// Repeated failures; not recoverable here.
    Failed,
    /// No progress, but recoverable.
    Blocked,
}

impl From<PopStatus> for FrameStatus {
    fn from(status: PopStatus) -> FrameStatus {
        match status {
            PopStatus::Completed => FrameStatus::Completed,
            PopStatus::Failed => FrameStatus::Failed,
            PopStatus::Blocked => FrameStatus::Blocked,
        }
    }
}

impl fmt::Display for PopStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        FrameStatus::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_the_wire() {
        use FrameStatus::*;
        for status in [Planned, InProgress, Completed, Failed, Blocked, Invalidated] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
        for status in [PopStatus::Completed, PopStatus::Failed, PopStatus::Blocked] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.to_string());
        }
    }
}
