//! A line to a server that breaks when it is told to: everything goes through, but for one piece.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The piece is lost, and the connection with it. Where the server sent it, it has done what it was asked.
    Lost,
    /// Half of it arrives.
    Torn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    Client,
    Server,
}

pub struct Line {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    pieces: u64,
    at: Option<(u64, Break)>,
    fired: Option<From>,
}

impl Line {
    pub fn to(port: u16) -> Line {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let line = Line { port: listener.local_addr().unwrap().port(), state: Arc::default() };
        let state = Arc::clone(&line.state);
        // It ends with the test.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
                for (from, to, who) in [(&client, &server, From::Client), (&server, &client, From::Server)] {
                    from.set_nodelay(true).unwrap();
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = Arc::clone(&state);
                    thread::spawn(move || pass_on(from, to, who, &state));
                }
            }
        });
        line
    }

    /// From now on, piece number `at` does not arrive.
    pub fn arm(&self, at: u64, how: Break) {
        *self.lock() = State { pieces: 0, at: Some((at, how)), fired: None };
    }

    /// All is well again; whose piece it was, if there was one.
    pub fn disarm(&self) -> Option<From> {
        std::mem::take(&mut *self.lock()).fired
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, who: From, state: &Mutex<State>) {
    let mut piece = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let broken = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.pieces += 1;
            let broken = state.at.filter(|(at, _)| *at == state.pieces).map(|(_, how)| how);
            if broken.is_some() {
                state.fired = Some(who);
            }
            broken
        };
        let arrives = match broken {
            None => length,
            Some(Break::Torn) => length / 2,
            Some(Break::Lost) => 0,
        };
        if to.write_all(&piece[..arrives]).is_err() || broken.is_some() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
