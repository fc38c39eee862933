//! A pseudo-terminal with a person at it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Nobody looks at a screen that long.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// How much of it was waited for already.
    read: usize,
}

impl Terminal {
    /// Starts a command whose input and output are a terminal.
    pub fn start(mut command: Command) -> Terminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let other_end = || OpenOptions::new().read(true).write(true).open(name).unwrap();
        command.stdin(other_end()).stdout(other_end()).stderr(other_end());
        let child = command.spawn().unwrap();
        // The screen goes dark when the last process has left it, so this one must not keep it lit.
        drop(command);
        let keyboard = File::from(keyboard);
        let mut shown = keyboard.try_clone().unwrap();
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = shown.read(&mut buffer) {
                let _ = sender.send(buffer[..length].to_vec());
            }
        });
        Terminal { child, keyboard, screen, seen: String::new(), read: 0 }
    }

    /// Waits until `text` appears behind what was waited for before.
    pub fn until(&mut self, text: &str) -> &mut Terminal {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.get(self.read..).unwrap_or_default().find(text) {
                self.read += at + text.len();
                return self;
            }
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(more) => self.seen.push_str(&String::from_utf8_lossy(&more)),
                Err(_) => panic!("`{text}` never appeared:\n{}", self.seen),
            }
        }
    }

    pub fn press(&mut self, keys: &str) -> &mut Terminal {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits for the end: everything that was on the screen, and the exit code.
    pub fn end(mut self) -> (String, i32) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(more) => self.seen.push_str(&String::from_utf8_lossy(&more)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("it does not end:\n{}", self.seen);
                }
            }
        }
        let code = self.child.wait().unwrap().code().unwrap();
        (self.seen.replace("\r\n", "\n"), code)
    }
}
