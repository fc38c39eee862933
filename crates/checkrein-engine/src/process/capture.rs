//! Keeps the beginning and the end of an output that may be endless.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::agent_dir::WITHOUT_WAITING;

/// An output on its way into a file of bounded size.
pub(super) struct Capture<W = File> {
    file: W,
    /// How much of the beginning still goes straight into the file.
    head_left: usize,
    /// What the file ends with so far.
    head_end: Option<u8>,
    /// The end of the output as far as it is kept, if there is more than the beginning.
    tail: VecDeque<u8>,
    tail_max: usize,
    left_out: u64,
    failed: Option<io::Error>,
}

/// What became of it.
pub(super) struct Kept {
    pub truncated: bool,
    pub failed: Option<io::Error>,
}

impl Capture {
    pub fn create(path: &Path, bytes_max: usize) -> io::Result<Capture> {
        // What an attempt prints is for its owner.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(WITHOUT_WAITING)
            .open(path)?;
        Ok(Capture::new(file, bytes_max))
    }
}

impl<W: Write> Capture<W> {
    fn new(file: W, bytes_max: usize) -> Capture<W> {
        let head_left = bytes_max / 2;
        Capture {
            file,
            head_left,
            head_end: None,
            tail: VecDeque::new(),
            tail_max: bytes_max - head_left,
            left_out: 0,
            failed: None,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        if !head.is_empty() {
            self.head_left -= head.len();
            self.head_end = head.last().copied();
            self.write(|file| file.write_all(head));
        }
        if rest.is_empty() {
            return;
        }
        if self.tail.capacity() == 0 {
            // At once, so that it never has to be copied into a larger one; memory counts when it is used.
            self.tail.reserve_exact(self.tail_max);
        }
        let kept = rest.get(rest.len().saturating_sub(self.tail_max)..).unwrap_or_default();
        let over = (self.tail.len() + kept.len()).saturating_sub(self.tail_max);
        self.tail.drain(..over);
        self.tail.extend(kept);
        self.left_out += (over + rest.len() - kept.len()) as u64;
    }

    /// Writes the end, and in front of it how much is missing.
    pub fn finish(mut self) -> Kept {
        let truncated = self.left_out > 0;
        if truncated {
            let open = self.head_end.is_some_and(|byte| byte != b'\n');
            let note = format!("{}… {} bytes left out …\n", if open { "\n" } else { "" }, self.left_out);
            self.write(|file| file.write_all(note.as_bytes()));
        }
        let tail = std::mem::take(&mut self.tail);
        let (older, newer) = tail.as_slices();
        self.write(|file| file.write_all(older).and_then(|()| file.write_all(newer)));
        Kept { truncated, failed: self.failed }
    }

    /// A disk that is full must not stop the attempt; what was lost is told at the end.
    fn write(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.file).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn captured(bytes_max: usize, pieces: &[Vec<u8>]) -> (Vec<u8>, bool) {
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, bytes_max);
        pieces.iter().for_each(|piece| capture.push(piece));
        let kept = capture.finish();
        assert!(kept.failed.is_none());
        (file, kept.truncated)
    }

    fn reference(bytes_max: usize, all: &[u8]) -> (Vec<u8>, bool) {
        if all.len() <= bytes_max {
            return (all.to_vec(), false);
        }
        let (head, rest) = all.split_at(bytes_max / 2);
        let (left_out, tail) = rest.split_at(rest.len() - (bytes_max - head.len()));
        let line_end = if head.is_empty() || head.ends_with(b"\n") { "" } else { "\n" };
        let note = format!("{line_end}… {} bytes left out …\n", left_out.len());
        ([head, note.as_bytes(), tail].concat(), true)
    }

    #[test]
    fn the_middle_is_left_out() {
        for (bytes_max, pieces, expected) in [
            (8, &["12345678"][..], "12345678"),
            (8, &["123456789"], "1234\n… 1 bytes left out …\n6789"),
            (8, &["123\n", "5", "6", "7", "8", "9"], "123\n… 1 bytes left out …\n6789"),
            (0, &["123"], "… 3 bytes left out …\n"),
            (1, &["123"], "… 2 bytes left out …\n3"),
            (8, &[], ""),
        ] {
            let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
            let (file, _) = captured(bytes_max, &pieces);
            assert_eq!(String::from_utf8_lossy(&file), expected, "{bytes_max}");
        }
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let mut capture = Capture::create(Path::new("/dev/full"), 8).unwrap();
        (0..100).for_each(|_| capture.push(b"more"));
        let kept = capture.finish();
        assert_eq!(kept.failed.unwrap().kind(), io::ErrorKind::StorageFull);
    }

    proptest! {
        #[test]
        fn pieces_are_as_good_as_the_whole(
            bytes_max in 0..64_usize,
            pieces in vec(vec(any::<u8>(), 0..40), 0..12),
        ) {
            prop_assert_eq!(captured(bytes_max, &pieces), reference(bytes_max, &pieces.concat()));
        }
    }
}
