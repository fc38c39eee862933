use super::{Effect, Interruption, Move, RunEvent, RunStatus};

pub(super) fn cancel(moved: &mut Move<'_>, by: String, reason: Option<String>) {
    moved.interrupt(Interruption::Cancelled);
    if moved.run.state.status == RunStatus::Held
        && let Some(hold) = &moved.run.state.hold
    {
        let hold = hold.number;
        moved.effects.push(Effect::Withdraw { hold });
    }
    moved.record(RunEvent::RunCancelled { by, reason });
}
