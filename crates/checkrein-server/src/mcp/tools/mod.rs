//! The one list of tools, one file each.

mod check_checkpoint;
mod request_checkpoint;

use super::tool::Tool;

pub fn all() -> Vec<Tool> {
    vec![request_checkpoint::tool(), check_checkpoint::tool()]
}

/// What to do about something that is not there.
fn not_found(error: checkrein_engine::EngineError, hint: &str) -> crate::error::Problem {
    let problem = crate::error::Problem::from(error);
    match problem.kind {
        crate::error::Kind::NotFound => problem.hint(hint),
        _ => problem,
    }
}
