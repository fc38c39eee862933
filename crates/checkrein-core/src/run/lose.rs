use super::{Interruption, Move, Refusal};

/// The attempt is made again: at most the one that was under way is repeated.
pub(super) fn lose(moved: &mut Move<'_>, start: u64) -> Result<(), Refusal> {
    if moved.run.state.under_way.as_ref().is_none_or(|under_way| under_way.start != start) {
        return Err(Refusal::StaleAttempt { id: moved.run.id.clone(), start });
    }
    moved.interrupt(Interruption::Lost);
    match moved.run.definition.job {
        Some(_) => moved.go_on(),
        None => moved.advance(),
    }
    Ok(())
}
