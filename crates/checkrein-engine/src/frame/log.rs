//! The full log of each frame, a file beside the store.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use checkrein_core::principal::Principal;
use jiff::Timestamp;

use crate::{Engine, EngineError, SessionWanted};

/// A log that is longer is not read by anybody.
const BYTES_MAX: u64 = 64 << 20;
/// So much of a log is shown, from its end.
const SHOWN_MAX: u64 = 1 << 20;

impl Engine {
    /// The log of a frame, or the end of it if it is long; the current frame's if none is named.
    pub async fn frame_log(
        &self,
        by: &Principal,
        wanted: &SessionWanted,
        frame: Option<&str>,
    ) -> Result<String, EngineError> {
        let stored = self.frame_session(by, wanted).await?;
        let frame = stored.session.named(frame)?;
        let text = read_end(&self.log_path(&stored.session.id, &frame.id));
        Ok(String::from_utf8_lossy(&self.redacted(&text)).into_owned())
    }

    /// INVARIANT: ids of sessions and frames are plain words, so the path stays where logs are.
    pub(super) fn log_path(&self, session: &str, frame: &str) -> PathBuf {
        self.frames_directory().join(session).join(format!("{frame}.log"))
    }

    pub(super) fn frames_directory(&self) -> PathBuf {
        self.store.directory().join("frames")
    }
}

/// Adds a line with its time; further lines of the text are indented, so that each entry can be told
/// from the next.
pub(super) fn append(path: &Path, at: Timestamp, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    if file.metadata()?.len() >= BYTES_MAX {
        return Ok(());
    }
    let text = text.trim_end().replace('\n', "\n    ");
    // In one piece, so that lines of several processes do not mix.
    file.write_all(format!("{at} {text}\n").as_bytes())
}

fn read_end(path: &Path) -> Vec<u8> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_MAX)))?;
        let mut bytes = Vec::new();
        file.take(SHOWN_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}
