//! Everything that can be asked of a session, by any face.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::config::FrameConfigPatch;
use crate::frame::request::{PopRequest, PushRequest};
use crate::frame::status::PopStatus;

/// A move, or a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "move", rename_all = "snake_case", deny_unknown_fields)]
pub enum FrameCommand {
    /// Begin a child of the current frame, or the first frame of all
    Push {
        /// What the frame is for
        goal: String,
    },
    /// Fold the current frame into its summary and return to its parent
    Pop {
        /// How it ended; completed if absent
        #[serde(default)]
        status: Option<PopStatus>,
        /// What is worth knowing of it from now on
        #[serde(default)]
        summary: Option<String>,
        /// What it produced, such as file names
        #[serde(default)]
        artifacts: Vec<String>,
        /// What was decided in it
        #[serde(default)]
        decisions: Vec<String>,
    },
    /// Note a frame for later
    Plan {
        /// What the frame will be for
        goal: String,
        /// The frame it belongs to; the current one if absent
        #[serde(default)]
        parent: Option<String>,
    },
    /// Note several frames for later, in order
    PlanChildren {
        /// What each will be for
        goals: Vec<String>,
        /// The frame they belong to; the current one if absent
        #[serde(default)]
        parent: Option<String>,
    },
    /// Give a planned frame another goal
    Edit { frame: String, goal: String },
    /// Go to work in a planned, blocked or left frame
    Activate { frame: String },
    /// Take up a frame again that was blocked or left
    Resume {
        /// The one that was blocked last if absent
        #[serde(default)]
        frame: Option<String>,
    },
    /// Withdraw a frame and what is planned below it
    Invalidate {
        /// The current one if absent
        #[serde(default)]
        frame: Option<String>,
        reason: String,
    },
    /// Say what is worth knowing of a frame, without ending it
    Summarize {
        /// The current one if absent
        #[serde(default)]
        frame: Option<String>,
        summary: String,
    },
    /// Note what the current frame produced
    AddArtifact { artifact: String },
    /// Note what was decided in the current frame
    AddDecision { decision: String },
    /// Take the latest move back
    Undo {},
    /// All frames
    Tree {},
    /// Where the session stands
    Status {},
    /// One frame with all that is known of it
    Details {
        /// The current one if absent
        #[serde(default)]
        frame: Option<String>,
    },
    /// What an agent is shown of a frame and its relatives
    Context {
        /// The current one if absent
        #[serde(default)]
        frame: Option<String>,
        /// At most so many tokens
        #[serde(default)]
        tokens: Option<usize>,
    },
    /// Should a child frame be pushed?
    ShouldPush(PushRequest),
    /// Should the current frame be popped?
    ShouldPop(PopRequest),
    /// What is suggested
    Suggestions {
        /// Also what does not wait any more
        #[serde(default)]
        history: bool,
    },
    /// Turn suggestions in the context on or off, look back, clear
    AutoSuggest(AutoSuggest),
    /// Turn a suggestion down
    Ignore { id: String },
    /// Say whether a suggestion was of use
    Feedback { id: String, useful: bool },
    /// What became of the suggestions, counted
    Stats {},
    /// Show or change the settings of this session
    Config(ConfigChange),
    /// Learn from what became of the suggestions
    Tune {
        /// Change the settings of this session; without it only proposes
        #[serde(default)]
        apply: bool,
        /// Only what was suggested to this type of agent
        #[serde(default)]
        agent: Option<String>,
    },
    /// Everything there is
    State {},
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AutoSuggest {
    /// Whether suggestions are appended to the context
    pub enable: Option<bool>,
    /// Show what was suggested before
    pub show_history: bool,
    /// Turn down everything that waits
    pub clear_pending: bool,
}

/// A change to the settings of a session; nothing at all only shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfigChange {
    /// manual, suggest or auto
    pub level: Option<String>,
    /// Confidence from which a push is recommended, 0 to 100
    pub push_threshold: Option<f64>,
    /// Confidence from which a pop is recommended, 0 to 100
    pub pop_threshold: Option<f64>,
    /// Whether suggestions are appended to the context
    pub suggest_in_context: Option<bool>,
    /// Names of the heuristics to use, and no others
    pub enabled_heuristics: Option<Vec<String>>,
    /// A heuristic to use as well
    pub enable_heuristic: Option<String>,
    /// A heuristic not to use any more
    pub disable_heuristic: Option<String>,
    /// average, weighted or max
    pub aggregation: Option<String>,
    /// Weights by heuristic, 0 or more
    pub weights: Option<std::collections::BTreeMap<String, f64>>,
    /// How many tokens the context of a frame may take
    pub context_tokens: Option<f64>,
    /// Forget every change of this session first
    pub reset: bool,
}

impl ConfigChange {
    pub fn is_nothing(&self) -> bool {
        *self == ConfigChange::default()
    }

    pub(super) fn patch(&self) -> FrameConfigPatch {
        FrameConfigPatch {
            level: self.level.clone(),
            push_threshold: self.push_threshold,
            pop_threshold: self.pop_threshold,
            suggest_in_context: self.suggest_in_context,
            enabled_heuristics: self.enabled_heuristics.clone(),
            aggregation: self.aggregation.clone(),
            weights: self.weights.clone(),
            context_tokens: self.context_tokens,
            ..FrameConfigPatch::default()
        }
    }
}

impl FrameCommand {
    /// Whether settings and what they lead to are asked for.
    pub fn asks_for_advice(&self) -> bool {
        matches!(self, FrameCommand::Config(_) | FrameCommand::ShouldPush(_) | FrameCommand::ShouldPop(_))
    }

    /// Whether it may change something. Advice is queued, so asking for it may.
    pub fn changes(&self) -> bool {
        match self {
            FrameCommand::Tree {}
            | FrameCommand::Status {}
            | FrameCommand::Details { .. }
            | FrameCommand::Context { .. }
            | FrameCommand::Suggestions { .. }
            | FrameCommand::Stats {}
            | FrameCommand::State {} => false,
            FrameCommand::Config(change) => !change.is_nothing(),
            FrameCommand::AutoSuggest(wanted) => wanted.enable.is_some() || wanted.clear_pending,
            FrameCommand::Tune { apply, .. } => *apply,
            _ => true,
        }
    }

    /// Whether it begins a session that is not there yet.
    pub fn begins(&self) -> bool {
        matches!(self, FrameCommand::Push { .. } | FrameCommand::Config(_)) && self.changes()
    }

    /// Whether it looks at every suggestion ever made.
    pub fn looks_back(&self) -> bool {
        match self {
            FrameCommand::Suggestions { history } => *history,
            FrameCommand::AutoSuggest(wanted) => wanted.show_history,
            FrameCommand::Stats {} | FrameCommand::Tune { .. } => true,
            _ => false,
        }
    }

    /// Whether it looks at what was suggested to all sessions.
    pub fn looks_around(&self) -> bool {
        matches!(self, FrameCommand::Tune { .. })
    }
}
