//! A verdict on a review (X2).

use super::super::{Hold, Move, RunEvent};
use crate::checkpoint::Verdict;

/// How a request for changes goes on.
pub(in crate::run) fn answer(
    moved: &mut Move<'_>,
    hold: &Hold,
    verdict: Verdict,
    by: String,
    reason: Option<String>,
    start_over: bool,
) {
    let number = hold.number;
    match verdict {
        Verdict::Approve => moved.record(RunEvent::HoldReleased { hold: number, by }),
        Verdict::RequestChanges => {
            moved.record(RunEvent::ChangesRequested { hold: number, by, reason, start_over });
        }
        Verdict::Reject => {
            moved.record(RunEvent::HoldRejected { hold: number, by: by.clone(), reason: reason.clone() });
            moved.record(RunEvent::RunCancelled { by, reason });
        }
    }
}
