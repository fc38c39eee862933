use super::{Move, Refusal, RunEvent, RunStatus};
use crate::checkpoint::Verdict;

pub(super) fn answer(
    moved: &mut Move<'_>,
    number: u32,
    verdict: Verdict,
    by: String,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let state = &moved.run.state;
    let hold = state.hold.as_ref().filter(|hold| hold.number == number && state.status == RunStatus::Held);
    let Some(hold) = hold else {
        return Err(Refusal::StaleAnswer { id: moved.run.id.clone(), hold: number });
    };
    match verdict {
        Verdict::Approve => {
            moved.record(RunEvent::HoldReleased { hold: number, by });
            moved.advance();
        }
        Verdict::Reject => {
            moved.record(RunEvent::HoldRejected { hold: number, by: by.clone(), reason });
            moved.record(RunEvent::RunPaused { by });
        }
        Verdict::RequestChanges => return Err(Refusal::NothingToChange { kind: hold.kind }),
    }
    Ok(())
}
