//! A checkpoint: what it asks, why, and the answer to it.

pub mod decide;
pub mod decide_several;
pub mod show;
