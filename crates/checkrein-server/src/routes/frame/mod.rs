//! Frames: when to push and when to pop.

pub mod should_pop;
pub mod should_push;
