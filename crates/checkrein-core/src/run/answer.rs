use super::{HoldKind, Move, Refusal, RunEvent, RunStatus, job};
use crate::checkpoint::Verdict;

pub(super) fn answer(
    moved: &mut Move<'_>,
    number: u32,
    verdict: Verdict,
    by: String,
    reason: Option<String>,
    start_over: bool,
) -> Result<(), Refusal> {
    let state = &moved.run.state;
    let hold = state.hold.as_ref().filter(|hold| hold.number == number && state.status == RunStatus::Held);
    let Some(hold) = hold else {
        return Err(Refusal::StaleAnswer { id: moved.run.id.clone(), hold: number });
    };
    if hold.kind == HoldKind::Review {
        let hold = hold.clone();
        job::answer(moved, &hold, verdict, by, reason, start_over);
        return Ok(());
    }
    match verdict {
        Verdict::Approve => {
            moved.record(RunEvent::HoldReleased { hold: number, by });
            moved.advance();
        }
        Verdict::Reject => {
            moved.record(RunEvent::HoldRejected { hold: number, by: by.clone(), reason });
            moved.record(RunEvent::RunPaused { by, reason: None, retry_at: None });
        }
        Verdict::RequestChanges => return Err(Refusal::NothingToChange { kind: hold.kind }),
    }
    Ok(())
}
