//! What happens, as it happens.

use std::time::Duration;

use checkrein_server::wire::event::Event;
use reqwest::header::ACCEPT;
use reqwest::{Method, Response};

use super::Remote;
use crate::error::CliError;

/// The events of a run, from the first on. A connection that breaks is taken up after the last event.
pub struct Events<'r> {
    remote: &'r Remote,
    run: String,
    last: i64,
    open: Option<Response>,
    buffer: Vec<u8>,
    away: u64,
}

/// How often in a row a server that cannot be reached is asked again: about a minute.
const AWAY_MAX: u64 = 10;
/// No event is longer.
const EVENT_BYTES_MAX: usize = 64 << 20;

impl Remote {
    pub fn events(&self, run: &str) -> Events<'_> {
        Events { remote: self, run: run.to_owned(), last: 0, open: None, buffer: Vec::new(), away: 0 }
    }
}

impl Events<'_> {
    /// The next one; waits for it.
    pub async fn next(&mut self) -> Result<Event, CliError> {
        loop {
            if let Some(event) = self.buffered()? {
                self.last = event.position;
                return Ok(event);
            }
            if let Err(error) = self.read().await {
                self.open = None;
                self.buffer.clear();
                if !error.is_unreachable() || self.away >= AWAY_MAX {
                    return Err(error);
                }
                self.away += 1;
                tokio::time::sleep(Duration::from_secs(self.away)).await;
            }
        }
    }

    async fn read(&mut self) -> Result<(), CliError> {
        let response = match &mut self.open {
            Some(response) => response,
            none => {
                let request = self.remote.request(Method::GET, &["runs", &self.run, "events"], &[]);
                let request = request.header(ACCEPT, "text/event-stream");
                none.insert(self.remote.sent(request.header("last-event-id", self.last.to_string())).await?)
            }
        };
        match response.chunk().await {
            Ok(Some(bytes)) if self.buffer.len() + bytes.len() <= EVENT_BYTES_MAX => {
                self.away = 0;
                self.buffer.extend_from_slice(&bytes);
                Ok(())
            }
            Ok(Some(_)) => Err(CliError::failed("an event is too long to be read")),
            Ok(None) => {
                self.open = None;
                Err(CliError::unreachable("the server ended the stream of events"))
            }
            Err(error) => Err(self.remote.unreachable(&error)),
        }
    }

    /// An event that has arrived whole: its lines end with an empty one. What has no data is a sign of life.
    fn buffered(&mut self) -> Result<Option<Event>, CliError> {
        while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
            let rest = self.buffer.split_off(end + 2);
            let whole = std::mem::replace(&mut self.buffer, rest);
            let whole = String::from_utf8_lossy(&whole);
            let data: Vec<&str> = whole
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .map(|data| data.strip_prefix(' ').unwrap_or(data))
                .collect();
            if !data.is_empty() {
                let event = serde_json::from_str(&data.join("\n"));
                return event
                    .map(Some)
                    .map_err(|error| CliError::failed(format!("an event cannot be read: {error}")));
            }
        }
        Ok(None)
    }
}
