//! Sessions of frames: the list, and one as a flame graph with what each frame is about.

pub mod list;
pub mod show;
