use super::job::retry_after;
use super::{Interruption, Move, Refusal, RunEvent};

pub(super) fn pause(moved: &mut Move<'_>, by: String) {
    moved.interrupt(Interruption::Paused);
    moved.record(RunEvent::RunPaused { by, reason: None, retry_at: None });
}

/// An agent that cannot work has no result to judge.
pub(super) fn stall(moved: &mut Move<'_>, start: u64, reason: String, outage: bool) -> Result<(), Refusal> {
    if moved.run.state.under_way.as_ref().is_none_or(|under_way| under_way.start != start) {
        return Err(Refusal::StaleAttempt { id: moved.run.id.clone(), start });
    }
    moved.interrupt(Interruption::Paused);
    let wait = retry_after(moved.run.state.outages.saturating_add(1)).filter(|_| outage);
    let retry_at = wait.and_then(|wait| moved.now.checked_add(wait).ok());
    let reason = Some(format!("The agent cannot go on: {reason}"));
    moved.record(RunEvent::RunPaused { by: "the agent".to_owned(), reason, retry_at });
    Ok(())
}
