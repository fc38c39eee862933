//! The review of a job's phase: one model of it, shown as text, as data, or on a screen to walk through.

mod app;
mod asking;
mod content;
mod input;
mod model;
pub mod plain;
mod screen;
mod side;
mod thread;
mod view;

pub use asking::{ask, over};
pub use content::Which;
pub use model::Review;
pub use screen::{is_possible, open};
pub use side::{Side, unchanged};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
