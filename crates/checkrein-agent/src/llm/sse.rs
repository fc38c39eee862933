//! Server-sent events out of bytes that come in any pieces.

/// Puts pieces together; gives the data of every event that is whole.
#[derive(Debug, Default)]
pub struct Events {
    buffer: Vec<u8>,
    data: String,
}

/// No event is longer.
const EVENT_BYTES_MAX: usize = 32 << 20;

impl Events {
    /// The data of events that end in this piece; an error where one never does.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, &'static str> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                if !self.data.is_empty() {
                    events.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        if self.buffer.len() + self.data.len() > EVENT_BYTES_MAX {
            return Err("an event of the stream is too long");
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_same_events() {
        let stream =
            "event: a\ndata: {\"x\": \"ä\"}\n\n: comment\n\ndata: one\r\ndata: two\r\n\r\ndata: left";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let heard: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|piece| events.push(piece).unwrap()).collect();
            assert_eq!(heard, ["{\"x\": \"ä\"}", "one\ntwo"], "{size}");
        }
    }
}
