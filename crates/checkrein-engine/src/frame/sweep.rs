//! Forgets sessions nobody has touched for long, with their logs.

use checkrein_core::config::Kept;

use crate::store::Sweep;
use crate::{Engine, EngineError, now};

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptFrames {
    pub sessions: u64,
}

impl Engine {
    pub(crate) async fn sweep_frames(&self, how: Sweep) -> Result<SweptFrames, EngineError> {
        let Some(before) = self.settings.keep(Kept::FrameSessions).old_before(now()) else {
            return Ok(SweptFrames::default());
        };
        let mut swept = SweptFrames::default();
        for id in self.store.old_frame_sessions(before).await? {
            let gone = match how {
                Sweep::Rehearse => true,
                Sweep::Remove => self.store.remove_frame_session(id.clone(), before).await?,
            };
            swept.sessions += u64::from(gone);
            if gone && how == Sweep::Remove && super::check_id(&id).is_ok() {
                // A log that stays is a file too many, nothing worse.
                let _ = std::fs::remove_dir_all(self.frames_directory().join(&id));
            }
        }
        Ok(swept)
    }
}
