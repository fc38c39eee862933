use super::{Move, RunEvent};

pub(super) fn start(moved: &mut Move<'_>) {
    moved.record(RunEvent::RunStarted);
    match moved.run.definition.job {
        Some(_) => moved.go_on(),
        None => moved.advance(),
    }
}
