//! What the companion proposes, and people do or do not.

pub mod apply;
pub mod discard;
