//! Who goes on with runs, and what waits for them.

pub mod show;
