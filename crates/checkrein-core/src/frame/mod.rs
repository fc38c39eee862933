//! Frames: a tree of goals per session, and the advice when to push and pop.

mod config;
mod env;
mod status;
mod tree;

pub use self::config::{FrameConfig, FrameConfigPatch, FrameLevel};
pub use self::env::{
    FLAME_AUTONOMY_LEVEL, FLAME_ENABLED_HEURISTICS, FLAME_POP_THRESHOLD, FLAME_PUSH_THRESHOLD,
    FLAME_SUGGEST_IN_CONTEXT, from_env,
};
pub use self::status::{FrameStatus, PopStatus};
pub use self::tree::{Fold, Frame, FrameTree, Invalidated, TreeError};
