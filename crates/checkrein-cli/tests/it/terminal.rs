//! A pseudo-terminal with a person at it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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
    pub fn start(command: Command) -> Terminal {
        Terminal::sized(command, 0, 0)
    }

    /// The same on a terminal of so many columns and rows.
    pub fn sized(mut command: Command, columns: u16, rows: u16) -> Terminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        resize(&keyboard, columns, rows);
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

    /// Waits until `text` stands on a line of the screen, however it came there.
    pub fn shows(&mut self, text: &str) -> &mut Terminal {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = picture(&self.seen);
            if screen.iter().any(|line| line.contains(text)) {
                self.read = self.seen.len();
                return self;
            }
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(more) => self.seen.push_str(&String::from_utf8_lossy(&more)),
                Err(_) => panic!("`{text}` never stood there:\n{}", screen.join("\n")),
            }
        }
    }

    /// Another size while it runs; the kernel tells whoever looks.
    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Terminal {
        resize(&self.keyboard, columns, rows);
        self
    }

    pub fn signal(&mut self, signal: Signal) -> &mut Terminal {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
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

fn resize(terminal: impl std::os::fd::AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// What a full-screen program has drawn: text, and where the cursor was sent.
fn picture(seen: &str) -> Vec<String> {
    let mut grid: Vec<Vec<char>> = Vec::new();
    let (mut row, mut column) = (0, 0);
    let mut chars = seen.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                if chars.next() != Some('[') {
                    continue;
                }
                let mut arguments = String::new();
                let command = chars.by_ref().find(|c| {
                    let ends = c.is_ascii_alphabetic();
                    if !ends {
                        arguments.push(*c);
                    }
                    ends
                });
                match command {
                    Some('H') => {
                        let mut numbers = arguments.split(';').map(|number| number.parse::<usize>().unwrap());
                        (row, column) = (numbers.next().unwrap() - 1, numbers.next().unwrap() - 1);
                    }
                    Some('J') => grid.clear(),
                    _ => {}
                }
            }
            '\n' => row += 1,
            '\r' => column = 0,
            c => {
                grid.resize(grid.len().max(row + 1), Vec::new());
                let line = &mut grid[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
    }
    grid.into_iter().map(|line| line.into_iter().collect()).collect()
}
