//! One stream of an attempt: from the pipe, without its secrets, into its file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::attempt::Captured;
use super::capture::Capture;
use super::redact::Redactor;

pub(super) const PIECE_BYTES: usize = 64 << 10;

pub(super) struct Stream {
    /// None once everybody who could write to it has closed it.
    pipe: Option<OwnedFd>,
    redactor: Redactor,
    capture: Capture,
    bytes: u64,
}

impl Stream {
    pub fn new(pipe: OwnedFd, redactor: Redactor, capture: Capture) -> rustix::io::Result<Stream> {
        // Somebody else may be faster than the poll that said there is something.
        rustix::fs::fcntl_setfl(&pipe, rustix::fs::fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok(Stream { pipe: Some(pipe), redactor, capture, bytes: 0 })
    }

    pub fn open(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is there, in so many pieces at most; whether there was anything.
    pub fn drain(&mut self, buffer: &mut [u8], pieces_max: usize) -> bool {
        let mut any = false;
        for _ in 0..pieces_max {
            let Some(pipe) = &self.pipe else { break };
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => self.pipe = None,
                Ok(bytes) => {
                    any = true;
                    self.bytes += bytes as u64;
                    let piece = buffer.get(..bytes).unwrap_or_default();
                    let capture = &mut self.capture;
                    self.redactor.push(piece, &mut |bytes| capture.push(bytes));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        any
    }

    pub fn finish(mut self) -> Captured {
        self.redactor.finish(&mut |bytes| self.capture.push(bytes));
        let kept = self.capture.finish();
        let failed = kept.failed.map(|error| error.to_string());
        Captured { bytes: self.bytes, truncated: kept.truncated, failed }
    }
}
