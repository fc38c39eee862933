mod ask;
mod begin;
mod draft;
mod list;
mod show;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use checkrein_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

use crate::place::{Client, Making, read_head};

/// A model that says what a script says.
pub fn model(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::of(script).unwrap()).unwrap()
}

/// A server with an agent and a companion.
pub fn making(model: &ScriptedModel) -> Making {
    let settings = json!({"sandbox": "off", "companion": {"model": {
        "api": "anthropic", "model": "scripted", "url": model.url(), "key_env": "SCRIPTED_KEY",
    }}});
    crate::job::making().user_settings(&settings.to_string()).env("SCRIPTED_KEY", "k-1234567")
}

/// An answer as it comes.
pub struct Pieces(BufReader<TcpStream>);

/// The pieces of a stream that was opened.
pub fn pieces(stream: BufReader<TcpStream>) -> Pieces {
    Pieces(stream)
}

/// Asks for an answer in pieces.
pub fn stream(client: &Client, path: &str, text: &str) -> Pieces {
    let client = client.clone().header("Accept", "text/event-stream");
    let mut stream = BufReader::new(client.open("POST", path, Some(&json!({"text": text}).to_string())));
    let (status, headers) = read_head(&mut stream);
    assert_eq!(status, 201, "{headers:?}");
    Pieces(stream)
}

impl Iterator for Pieces {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            // What stands between is how long each chunk is.
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}
