//! Frames: a tree of goals per session, and the advice when to push and pop.
//!
//! The tree folds finished work into summaries ([`FrameTree`]), the context shows a frame what it
//! needs of the rest ([`assemble_context`]), the heuristics advise ([`crate::heuristic`]) and a
//! suggestion carries their advice until somebody acts on it ([`Suggestions`]).

mod answer;
mod config;
mod context;
mod env;
mod escape;
mod flame;
mod render;
mod request;
mod session;
mod signals;
mod stats;
mod status;
mod suggestion;
mod tree;
mod tune;

pub use self::answer::{Ceiling, ConfigView, EvaluationView, FrameAnswer, StatsView, tree_text};
pub use self::config::{AgentThresholds, FrameConfig, FrameConfigPatch, FrameLevel, RECOMMENDED_YAML};
pub use self::context::{ContextError, assemble_context, estimate_tokens};
pub use self::env::{
    FLAME_AUTONOMY_LEVEL, FLAME_ENABLED_HEURISTICS, FLAME_POP_THRESHOLD, FLAME_PUSH_THRESHOLD,
    FLAME_SUGGEST_IN_CONTEXT, from_env,
};
pub use self::flame::{FlameStyle, FlameWidth, flame_graph};
pub use self::render::{render_pop, render_push};
pub use self::request::{FrameInput, PopRequest, PushRequest, evaluate_pop, evaluate_push};
pub use self::session::{
    Around, AutoSuggest, By, ConfigChange, FrameCommand, FrameError, FrameSession, LogLine, SessionState,
    Step, SuggestionFilter, Transcript, Who,
};
pub use self::signals::{Observation, Signals, ToolUse, Usage};
pub use self::stats::{Precision, SuggestionStats, precision};
pub use self::status::{FrameStatus, PopStatus};
pub use self::suggestion::{
    NewSuggestion, Offer, Proposal, SUGGESTION_LIFETIME_MS, Suggestion, SuggestionStatus, Suggestions,
};
pub use self::tree::{Fold, Frame, FrameTree, Invalidated, TreeError};
pub use self::tune::{Threshold, Tuning};
