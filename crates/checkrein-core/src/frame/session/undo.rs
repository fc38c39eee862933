//! Taking moves back.

use serde::{Deserialize, Serialize};

use super::{By, FrameError, FrameSession};
use crate::frame::status::FrameStatus;
use crate::frame::tree::Frame;

/// A move, and what it takes to take it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What was done, in words.
    pub what: String,
    pub by: By,
    pub at_ms: u64,
    /// The current frame before.
    pub current: Option<String>,
    /// Frames that were made.
    pub made: Vec<String>,
    /// Frames that were changed, as they were.
    pub before: Vec<Frame>,
    /// The suggestion that was acted upon.
    pub suggestion: Option<String>,
}

/// So many moves can be taken back.
const STEPS_MAX: usize = 20;
/// A move that changed more than this is too large to be kept.
const FRAMES_KEPT_MAX: usize = 500;

impl FrameSession {
    /// Makes a move, and remembers how it was before.
    pub(super) fn undoable<T>(
        &mut self,
        by: By,
        now_ms: u64,
        work: impl FnOnce(&mut FrameSession) -> Result<(T, String, Option<String>), FrameError>,
    ) -> Result<T, FrameError> {
        let before = self.tree.clone();
        let (done, what, suggestion) = work(self)?;
        let made: Vec<String> = self.tree.frames().skip(before.len()).map(|frame| frame.id.clone()).collect();
        let changed = before.frames().zip(self.tree.frames()).filter(|(old, new)| old != new);
        let changed: Vec<Frame> = changed.map(|(old, _)| old.clone()).collect();
        let current = before.current().map(|frame| frame.id.clone());
        if changed.len() > FRAMES_KEPT_MAX {
            self.state.undo.clear();
            return Ok(done);
        }
        if self.state.undo.len() >= STEPS_MAX {
            self.state.undo.remove(0);
        }
        self.state.undo.push(Step { what, by, at_ms: now_ms, current, made, before: changed, suggestion });
        Ok(done)
    }

    /// Takes the latest move back. A frame that it made stays in the record as invalidated: its log
    /// may be pointed at already.
    pub(super) fn undo(&mut self, now_ms: u64) -> Result<Step, FrameError> {
        let step = self.state.undo.pop().ok_or(FrameError::NothingToUndo)?;
        for id in &step.made {
            if let Some(frame) = self.tree.frame_mut(id) {
                frame.status = FrameStatus::Invalidated;
                frame.invalidation_reason = Some("Undone".to_owned());
                frame.ended_at_ms = Some(now_ms);
            }
        }
        self.tree.put_back(&step.before, step.current.as_deref());
        if let Some(suggestion) = &step.suggestion {
            self.suggestions.undo(suggestion, self.state.turns);
        }
        let frames: Vec<String> =
            step.made.iter().chain(step.before.iter().map(|frame| &frame.id)).cloned().collect();
        for frame in frames {
            self.note(&frame, format!("undone: {}", step.what));
        }
        Ok(step)
    }
}
