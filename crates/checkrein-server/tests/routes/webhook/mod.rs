mod create;
mod deliveries;
mod enable;
mod list;
mod remove;
mod retry;
mod rotate;
mod show;
mod test;

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::place::{Client, Place, read_head};

/// What was received: headers and body.
pub type Got = (Vec<(String, String)>, String);

/// Somebody who is told: its address, and what it got. The first answers are these, the last one for ever.
pub fn receiver(answers: &'static [&'static str]) -> (String, Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let (tell, got) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut reader = BufReader::new(stream.unwrap());
            // The first line of a request has its path where an answer has its status.
            let mut line = Vec::new();
            while !line.ends_with(b"\n") {
                let mut byte = [0];
                reader.read_exact(&mut byte).unwrap();
                line.push(byte[0]);
            }
            let mut head = std::io::Cursor::new(b"HTTP/1.1 200 OK\r\n").chain(&mut reader);
            let (_, headers) = read_head(&mut head);
            let length =
                headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = answers.get(number).or(answers.last()).unwrap();
            let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            reader.get_mut().write_all(text.as_bytes()).unwrap();
            if tell.send((headers, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, got)
}

/// A webhook at an address of this machine, as it was answered.
pub fn add(admin: &Client, url: &str) -> Value {
    admin.post("/v1/webhooks", &json!({"url": url, "allow_private": true})).expect(201).json()
}

pub fn path(webhook: &Value, rest: &str) -> String {
    format!("/v1/webhooks/{}{rest}", webhook["id"].as_str().unwrap())
}

/// Somebody's address where nobody is.
pub const NOBODY: &str = "http://127.0.0.1:1/secret-path";

/// A place whose administrator has a webhook nobody answers at.
pub fn with_webhook() -> (Place, Client, Value) {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let webhook = add(&admin, NOBODY);
    (place, admin, webhook)
}
