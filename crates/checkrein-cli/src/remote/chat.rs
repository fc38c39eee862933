//! An answer of the companion, as it comes.

use std::time::Duration;

use checkrein_server::wire::chat::{Message, Piece};
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderName};
use serde::Serialize;

use super::Remote;
use crate::error::CliError;

/// How long an answer may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// No piece is longer.
const PIECE_BYTES_MAX: usize = 64 << 20;

impl Remote {
    /// Asks, and hears every piece until the answer has ended.
    pub fn pieces(
        &self,
        path: &[&str],
        body: &impl Serialize,
        mut hear: impl FnMut(&Piece),
    ) -> Result<Message, CliError> {
        self.wait(async {
            let key = uuid::Uuid::new_v4().to_string();
            let request = self.request(Method::POST, path, &[]).json(body);
            let request = request.header(ACCEPT, "text/event-stream");
            let request = request.header(HeaderName::from_static("idempotency-key"), key);
            let mut response = self.sent(request).await?;
            let mut buffer: Vec<u8> = Vec::new();
            loop {
                while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                    let rest = buffer.split_off(end + 2);
                    let whole = std::mem::replace(&mut buffer, rest);
                    let whole = String::from_utf8_lossy(&whole);
                    let data: Vec<&str> =
                        whole.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                    if data.is_empty() {
                        continue;
                    }
                    let piece: Piece = serde_json::from_str(&data.join("\n"))
                        .map_err(|error| CliError::failed(format!("a piece cannot be read: {error}")))?;
                    hear(&piece);
                    if let Piece::Answered { message } = piece {
                        return Ok(message);
                    }
                }
                match tokio::time::timeout(SILENCE_MAX, response.chunk()).await {
                    Ok(Ok(Some(bytes))) if buffer.len() + bytes.len() <= PIECE_BYTES_MAX => {
                        buffer.extend_from_slice(&bytes);
                    }
                    Ok(Ok(Some(_))) => return Err(CliError::failed("a piece is too long to be read")),
                    Ok(Ok(None)) => {
                        return Err(CliError::failed("the server ended before the answer did")
                            .hint("`checkrein chat RUN --history` shows what there is of it"));
                    }
                    Ok(Err(error)) => return Err(self.unreachable(&error)),
                    Err(_) => return Err(CliError::unreachable("the server says nothing any more")),
                }
            }
        })
    }
}
