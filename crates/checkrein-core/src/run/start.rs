use super::{Move, RunEvent};

pub(super) fn start(moved: &mut Move<'_>) {
    moved.record(RunEvent::RunStarted);
    moved.advance();
}
