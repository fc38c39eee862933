//! Suggestions: pushes and pops that were proposed, and what became of them.

pub mod feedback;
pub mod list;
