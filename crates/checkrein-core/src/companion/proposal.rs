//! What the companion proposes, and a person does or does not.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A proposal, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub number: i64,
    pub id: String,
    /// The answer it was made in.
    pub message: String,
    pub asked_by: String,
    pub proposed: Proposed,
    pub status: ProposalStatus,
    pub made_at: Timestamp,
    /// Who did what became of it, and when.
    pub settled: Option<(String, Timestamp)>,
    /// What came of it: a commit, or a comment.
    pub outcome: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proposed {
    /// A file as it is to be: a commit in the name of whoever applies it.
    File {
        path: String,
        /// The commit it was made on.
        base: String,
        /// The digest of the text that was there; none where there was no file.
        was: Option<String>,
        text: String,
        /// How it differs, for people.
        diff: String,
    },
    /// A comment on the review, or words to the agent that works, said by whoever posts it.
    Comment {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    Proposed,
    Applied,
    Discarded,
}

impl ProposalStatus {
    pub const ALL: [ProposalStatus; 3] =
        [ProposalStatus::Proposed, ProposalStatus::Applied, ProposalStatus::Discarded];

    pub const fn name(self) -> &'static str {
        match self {
            ProposalStatus::Proposed => "proposed",
            ProposalStatus::Applied => "applied",
            ProposalStatus::Discarded => "discarded",
        }
    }

    pub fn parse(text: &str) -> Option<ProposalStatus> {
        ProposalStatus::ALL.into_iter().find(|status| status.name() == text)
    }
}
