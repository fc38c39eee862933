//! A language model for tests: a server on loopback that says what a script says, in every dialect the agents
//! speak: Anthropic messages, OpenAI chat completions and responses, and Gemini.
//!
//! A test in Rust starts [`ScriptedModel::start`]; one in another language starts the binary `scripted-model`,
//! whose first line on standard output is its address. The script is the same for all dialects, see [`Script`].

mod conversation;
mod dialect;
mod embeddings;
mod http;
mod script;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

pub use dialect::Dialect;
pub use script::{Answer, Call, Embeddings, Fault, Script, Turn, Usage};

/// A model that answers until it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What a model was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    /// The key it came with, from whichever header its dialect uses.
    pub key: Option<String>,
    pub body: Value,
    /// The status it was answered with.
    pub status: u16,
}

#[derive(Debug)]
struct Shared {
    script: Mutex<Script>,
    /// How often each fault happened already, by answer and turn.
    faults: Mutex<Vec<((usize, usize), u32)>>,
    asked: Mutex<Vec<Asked>>,
    ended: AtomicBool,
}

impl ScriptedModel {
    /// Listens on a port of loopback that is free.
    pub fn start(script: Script) -> std::io::Result<ScriptedModel> {
        ScriptedModel::listen(script, "127.0.0.1:0")
    }

    pub fn listen(script: Script, address: &str) -> std::io::Result<ScriptedModel> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            faults: Mutex::default(),
            asked: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let for_threads = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if for_threads.ended.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&for_threads);
                std::thread::spawn(move || http::converse(&stream, &shared));
            }
        });
        Ok(ScriptedModel { address, shared })
    }

    /// `http://127.0.0.1:PORT`; what Anthropic's and Gemini's clients are pointed at.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/v1`; what OpenAI's clients are pointed at.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything it was asked for so far.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.shared.asked).clone()
    }

    /// From now on it says something else.
    pub fn say(&self, script: Script) {
        *locked(&self.shared.script) = script;
        locked(&self.shared.faults).clear();
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that listens, which then ends.
        let _ = std::net::TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Whether a fault of a turn is still due; counts it.
    fn is_due(&self, turn: (usize, usize), times: u32) -> bool {
        let mut faults = locked(&self.faults);
        match faults.iter_mut().find(|(known, _)| *known == turn) {
            Some((_, happened)) if *happened >= times => false,
            Some((_, happened)) => {
                *happened += 1;
                true
            }
            None => {
                faults.push((turn, 1));
                times > 0
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
