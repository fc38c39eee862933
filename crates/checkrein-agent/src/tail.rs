//! The lines of a file as it grows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::regular::WITHOUT_WAITING;

/// So much is read at once.
const BYTES_MAX: u64 = 256 << 20;

/// An agent may have put something else in its place: a pipe is not waited for, a link not followed.
pub struct LineTail {
    path: PathBuf,
    offset: u64,
    /// A line that is not whole yet.
    open: Vec<u8>,
}

impl LineTail {
    pub fn of(path: &Path) -> LineTail {
        LineTail { path: path.to_owned(), offset: 0, open: Vec::new() }
    }

    /// The whole lines that came since the last time; none where there is no such file.
    pub fn new_lines(&mut self) -> Vec<String> {
        let mut new = Vec::new();
        let opened = File::options().read(true).custom_flags(WITHOUT_WAITING).open(&self.path);
        let read = opened.and_then(|mut file| {
            if !file.metadata()?.is_file() {
                return Ok(0);
            }
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(BYTES_MAX).read_to_end(&mut new)
        });
        let Ok(read) = read else { return Vec::new() };
        self.offset = self.offset.saturating_add(read as u64);
        self.open.extend_from_slice(&new);
        let Some(end) = self.open.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.open.drain(..=end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_line_is_read_once_and_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lines");
        let mut tail = LineTail::of(&path);
        assert!(tail.new_lines().is_empty(), "there is no file yet");
        let mut file = File::create(&path).unwrap();
        for (written, expected) in [("a\nb", vec!["a"]), ("", vec![]), ("c\nd\n", vec!["bc", "d"])] {
            file.write_all(written.as_bytes()).unwrap();
            assert_eq!(tail.new_lines(), expected, "{written}");
        }
    }
}
