use super::{Effect, Interruption, Move, RunEvent, RunStatus};

pub(super) fn cancel(moved: &mut Move<'_>, by: String, reason: Option<String>) {
    moved.interrupt(Interruption::Cancelled);
    if moved.run.state.status == RunStatus::Held
        && let Some(hold) = &moved.run.state.hold
    {
        let checkpoint = moved.run.id.checkpoint(hold);
        moved.effects.push(Effect::Withdraw { checkpoint });
    }
    moved.record(RunEvent::RunCancelled { by, reason });
}
