//! Somebody who is told: a small HTTP server that answers as it is told to and keeps what it got.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub struct Receiver {
    pub address: SocketAddr,
    got: Arc<(Mutex<Vec<Request>>, Condvar)>,
}

/// What is answered to the request of this number, counted from 0; none never answers.
type Answer = dyn Fn(usize, &Request) -> Option<String> + Send + Sync;

impl Receiver {
    pub fn start(answer: impl Fn(usize, &Request) -> Option<String> + Send + Sync + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let (own, answer): (_, Arc<Answer>) = (Arc::clone(&got), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (got, answer) = (Arc::clone(&own), Arc::clone(&answer));
                std::thread::spawn(
                    move || while serve(stream.as_ref().unwrap(), &got, &*answer).is_some() {},
                );
            }
        });
        Receiver { address, got }
    }

    /// Always the same.
    pub fn answering(status: &'static str) -> Receiver {
        Receiver::start(move |_, _| Some(answer(status, "")))
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook/secret-path", self.address)
    }

    pub fn got(&self) -> Vec<Request> {
        self.got.0.lock().unwrap().clone()
    }

    /// Waits until so many requests came.
    pub fn until(&self, count: usize) -> Vec<Request> {
        let got = self.got.0.lock().unwrap();
        self.got.1.wait_while(got, |got| got.len() < count).unwrap().clone()
    }
}

pub fn answer(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{headers}\r\n")
}

fn serve(
    mut stream: &TcpStream,
    (got, came): &(Mutex<Vec<Request>>, Condvar),
    answer: &Answer,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    let request = Request { path, headers, body: String::from_utf8(body).unwrap() };
    let number = {
        let mut got = got.lock().unwrap();
        got.push(request.clone());
        came.notify_all();
        got.len() - 1
    };
    match answer(number, &request) {
        Some(text) => stream.write_all(text.as_bytes()).ok(),
        // The connection stays open, and says nothing.
        None => {
            std::thread::park();
            None
        }
    }
}
