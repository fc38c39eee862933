use super::{Move, RunEvent, job};

/// Goes on at the first unfinished step; a question that was answered with no is asked again (X2).
pub(super) fn resume(moved: &mut Move<'_>, by: String) {
    moved.record(RunEvent::RunResumed { by });
    match moved.run.state.hold.clone() {
        Some(hold) => moved.record(RunEvent::RunHeld {
            hold: hold.number,
            kind: hold.kind,
            boundary: hold.boundary,
            round: hold.round.saturating_add(1),
            reason: hold.reason,
            check_in: hold.check_in,
        }),
        None if moved.run.definition.job.is_some() => job::resume(moved),
        None => moved.advance(),
    }
}
