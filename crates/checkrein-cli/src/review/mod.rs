//! The review of a job's phase: one model of it, shown as text, as data, or on a screen to walk through.

mod app;
mod asking;
mod content;
mod heard;
mod input;
mod model;
pub mod plain;
mod screen;
mod thread;
mod view;

use checkrein_core::principal::Principal;
use checkrein_engine::{Engine, EngineError, ReviewMaterial, Reviewed};

pub use asking::ask;
pub use content::Which;
pub use model::Review;
pub use screen::{Left, is_possible, open};

/// A review with everything git has to show for it.
pub async fn load(
    engine: &Engine,
    by: &Principal,
    id: &str,
) -> Result<(Reviewed, ReviewMaterial), EngineError> {
    let reviewed = engine.review(by, id).await?;
    let material = engine.review_material(by, &reviewed).await?;
    Ok((reviewed, material))
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
