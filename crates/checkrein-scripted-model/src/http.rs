//! As much HTTP as the clients of models need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::conversation::{Conversation, Said};
use crate::dialect::{Dialect, Speech};
use crate::embeddings;
use crate::script::{Script, Turn};
use crate::{Asked, Shared, locked};

/// No test asks for more.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Answers one request; the connection ends with it.
pub fn converse(stream: &TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let Some(request) = Request::read(stream) else { return };
    let _ = answer(stream, shared, &request);
    let _ = stream.shutdown(Shutdown::Write);
    // What the client still sends is taken, so that it can read what it was told.
    let _ = std::io::copy(&mut stream.take(1 << 16), &mut std::io::sink());
}

struct Request {
    method: String,
    path: String,
    key: Option<String>,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Request> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (mut length, mut chunked, mut waits, mut key) = (0, false, false, None);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "expect" => waits = true,
                "authorization" => key = value.strip_prefix("Bearer ").map(str::to_owned),
                "x-api-key" | "x-goog-api-key" => key = Some(value.to_owned()),
                _ => {}
            }
        }
        if waits {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok()?;
                let size = usize::from_str_radix(line.trim(), 16).ok()?;
                let kept = body.len();
                (&mut reader).take(size as u64).read_to_end(&mut body).ok()?;
                reader.read_line(&mut line).ok()?;
                if size == 0 || kept > BODY_BYTES_MAX {
                    break;
                }
            }
        } else {
            reader.take(length.min(BODY_BYTES_MAX as u64)).read_to_end(&mut body).ok()?;
        }
        Some(Request { method, path, key, body })
    }
}

fn answer(stream: &TcpStream, shared: &Shared, request: &Request) -> std::io::Result<()> {
    if request.method == "POST" && request.path.ends_with("/embeddings") {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let script = locked(&shared.script).clone();
        let refused = script.key.is_some() && script.key != request.key;
        let status = if refused { 401 } else { script.embeddings.status.unwrap_or(200) };
        let answer = match status {
            200 => embeddings::answer(&script.embeddings, &body),
            _ => Dialect::Chat.refusal(status, false),
        };
        locked(&shared.asked).push(Asked {
            path: request.path.clone(),
            key: request.key.clone(),
            body,
            status,
        });
        return send(stream, status, &[], &answer);
    }
    let dialect = Dialect::of(&request.path).filter(|_| request.method == "POST");
    let Some(dialect) = dialect else {
        // Lists of models, and tokens that are counted.
        let body = json!({"data": [], "models": [], "object": "list", "input_tokens": request.body.len() / 4,
            "totalTokens": request.body.len() / 4});
        return send(stream, 200, &[], &body);
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let asked = Conversation::of(dialect, &request.path, &body);
    let script = locked(&shared.script).clone();
    let said = say(&script, shared, &asked, request);
    let status = match &said {
        Reply::Refused { status, .. } => *status,
        Reply::Spoken { .. } | Reply::Dropped | Reply::Empty => 200,
    };
    locked(&shared.asked).push(Asked { path: request.path.clone(), key: request.key.clone(), body, status });
    match said {
        Reply::Dropped => Ok(()),
        Reply::Empty => {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        Reply::Refused { status, retry_after, overflow } => {
            let after = retry_after.map(|seconds| format!("retry-after: {seconds}"));
            send(stream, status, &after.into_iter().collect::<Vec<_>>(), &dialect.refusal(status, overflow))
        }
        Reply::Spoken { speech, cut, delay } => {
            std::thread::sleep(delay);
            if !asked.streamed && !cut {
                return send(stream, 200, &[], &dialect.whole(&asked, &speech));
            }
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")?;
            let pieces = dialect.stream(&asked, &speech);
            let sent = if cut { pieces.len() / 2 } else { pieces.len() };
            for piece in pieces.iter().take(sent) {
                stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())?;
                stream.flush()?;
            }
            // A stream that is cut has no end.
            if cut { Ok(()) } else { stream.write_all(b"0\r\n\r\n") }
        }
    }
}

enum Reply {
    Refused { status: u16, retry_after: Option<u64>, overflow: bool },
    Spoken { speech: Box<Speech>, cut: bool, delay: Duration },
    Dropped,
    Empty,
}

fn say(script: &Script, shared: &Shared, asked: &Conversation, request: &Request) -> Reply {
    if script.key.is_some() && script.key != request.key {
        return Reply::Refused { status: 401, retry_after: None, overflow: false };
    }
    if script.context_bytes_max.is_some_and(|most| request.body.len() > most) {
        return Reply::Refused { status: 400, retry_after: None, overflow: true };
    }
    let whole = String::from_utf8_lossy(&request.body);
    let found = asked.said.iter().enumerate().rev().find_map(|(at, said)| {
        let Said::Person(message) = said else { return None };
        let number = script.answers.iter().position(|answer| answer.fits(message, &whole))?;
        let answer = script.answers.get(number)?;
        let (turn_number, turn) = answer.turn(asked.turns_after(at))?;
        Some(((number, turn_number), turn))
    });
    let id = |(answer, turn): (usize, usize)| format!("{answer}_{turn}_{}", asked.said.len());
    let spoken = found.and_then(|(place, turn)| {
        let speech = Speech::of(turn, asked, id(place), request.body.len())?;
        Some((place, turn, speech))
    });
    let Some((place, turn, speech)) = spoken else {
        let text = script.otherwise.clone().unwrap_or_else(|| "ok".to_owned());
        let turn = Turn { text: Some(text), ..Turn::default() };
        let speech = Speech::of(&turn, asked, format!("x_{}", asked.said.len()), request.body.len());
        return Reply::Spoken {
            speech: Box::new(speech.unwrap_or_default()),
            cut: false,
            delay: Duration::ZERO,
        };
    };
    let fault = turn.fault.as_ref().filter(|fault| shared.is_due(place, fault.times.unwrap_or(u32::MAX)));
    if let Some(status) = fault.and_then(|fault| fault.status) {
        let retry_after = fault.and_then(|fault| fault.retry_after);
        return Reply::Refused { status, retry_after, overflow: false };
    }
    match fault {
        Some(fault) if fault.drop => return Reply::Dropped,
        Some(fault) if fault.empty => return Reply::Empty,
        _ => {}
    }
    let cut = fault.is_some_and(|fault| fault.cut);
    Reply::Spoken { speech: Box::new(speech), cut, delay: Duration::from_millis(turn.delay_ms) }
}

fn send(mut stream: &TcpStream, status: u16, headers: &[String], body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}
