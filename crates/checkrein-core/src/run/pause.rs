use super::{Interruption, Move, RunEvent};

pub(super) fn pause(moved: &mut Move<'_>, by: String) {
    moved.interrupt(Interruption::Paused);
    moved.record(RunEvent::RunPaused { by, reason: None, retry_at: None });
}
