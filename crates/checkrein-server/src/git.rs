//! A conversation between somebody's git and ours: what comes is passed on as it comes, and so is what is
//! answered. Nothing is gathered, however large it is.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use axum::body::{Body, Bytes};
use checkrein_core::run::RunId;
use checkrein_forge::{Bare, Part, Served, Service};
use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use crate::app::App;
use crate::error::{Kind, Problem};

pub struct Conversation {
    pub app: App,
    pub run: RunId,
    pub bare: Bare,
    pub service: Service,
    pub part: Part,
}

/// What the other side says.
pub struct Request {
    pub protocol: Option<String>,
    /// How its body is packed.
    pub packing: Option<String>,
    pub body: Body,
}

const PIECE_BYTES: usize = 64 << 10;
/// A small piece may unpack to a thousand times its size.
const PACKED_PIECE_BYTES: usize = 1 << 10;
/// How many pieces wait for a client that reads slowly.
const PIECES_WAITING: usize = 4;
/// How long somebody waits for others to be done.
const TURN_MAX: Duration = Duration::from_secs(30);

impl Conversation {
    /// Starts git; what it answers. Until its first word a refusal is still possible.
    pub async fn begin(self, request: Request) -> Result<Body, Problem> {
        let packing = Packing::of(request.packing.as_deref())?;
        let turn = tokio::time::timeout(TURN_MAX, self.app.git_turn()).await;
        let turn = turn.map_err(|_| {
            let problem = Problem::new(Kind::Unavailable, "too many others fetch and push right now");
            Problem { retry_after: Some(10), ..problem }
        })?;
        let bytes_max = self.app.limits().git_bytes_max;
        let Served { input, output, ending } = self
            .bare
            .serve(&self.service, self.part, request.protocol.as_deref(), bytes_max)
            .map_err(|error| Problem::new(Kind::Internal, format!("git cannot be started: {error}")))?;
        let (tell, mut told) = mpsc::channel::<Result<Bytes, Problem>>(PIECES_WAITING);
        let time_max = self.app.limits().git_time_max;
        tokio::spawn(async move {
            let talk = self.talk((input, output), packing, request.body, &tell);
            let talked = tokio::select! {
                talked = tokio::time::timeout(time_max, talk) => talked,
                // Nobody listens any more: git is ended with its work.
                () = tell.closed() => return,
            };
            match talked {
                Ok(Ok(())) => ending.is_done(),
                Ok(Err(problem)) => drop(tell.try_send(Err(problem))),
                Err(_) => drop(tell.try_send(Err(Problem::new(Kind::TooSlow, "it took too long")))),
            }
            drop(turn);
        });
        let first = match told.recv().await {
            None => return Ok(Body::empty()),
            Some(first) => first?,
        };
        let rest = futures_util::stream::unfold((Some(Ok(first)), told), |(first, mut told)| async move {
            let next = match first {
                Some(first) => Some(first),
                None => told.recv().await,
            };
            // An answer that breaks off in the middle is no answer.
            let next = next?.map_err(|problem: Problem| io::Error::other(problem.detail));
            Some((next, (None, told)))
        });
        Ok(Body::from_stream(rest))
    }

    /// Passes on what is said on both sides, until git has said all.
    async fn talk(
        &self,
        (input, output): (Option<OwnedFd>, OwnedFd),
        packing: Packing,
        body: Body,
        tell: &mpsc::Sender<Result<Bytes, Problem>>,
    ) -> Result<(), Problem> {
        let broken = |error: io::Error| Problem::new(Kind::Internal, format!("git broke off: {error}"));
        let mut output = pipe::Receiver::from_owned_fd(output).map_err(broken)?;
        let input = input.map(pipe::Sender::from_owned_fd).transpose().map_err(broken)?;
        let feeding = async {
            match input {
                Some(input) => self.feed(input, packing, body).await,
                None => Ok(()),
            }
        };
        let reading = async {
            loop {
                let mut piece = vec![0; PIECE_BYTES];
                let length = output.read(&mut piece).await.map_err(broken)?;
                if length == 0 {
                    return Ok::<(), Problem>(());
                }
                piece.truncate(length);
                // Whoever does not read is noticed elsewhere.
                let _ = tell.send(Ok(piece.into())).await;
            }
        };
        tokio::pin!(feeding, reading);
        let mut fed = false;
        loop {
            tokio::select! {
                read = &mut reading => {
                    read?;
                    break;
                }
                done = &mut feeding, if !fed => {
                    done?;
                    fed = true;
                }
            }
        }
        if matches!(self.service, Service::Push { .. }) && self.part == Part::Exchange {
            // Whoever pushed finds the review moved. If it cannot be noted now, the next look notes it.
            let _ = self.app.engine().branch_pushed(&self.run).await;
        }
        Ok(())
    }

    /// Hands a body to git, unpacked. Git ends by itself where it has heard enough.
    async fn feed(&self, mut input: pipe::Sender, packing: Packing, mut body: Body) -> Result<(), Problem> {
        let limits = *self.app.limits();
        let mut left = match self.service {
            Service::Fetch => limits.body_bytes_max as u64,
            Service::Push { .. } => limits.git_bytes_max,
        };
        let mut unpack = Unpack::new(packing);
        loop {
            let frame = match tokio::time::timeout(limits.body_time_max, body.frame()).await {
                Err(_) => return Err(Problem::new(Kind::TooSlow, "the body did not arrive in time")),
                Ok(None) => {
                    // What is left in the unpacker comes with its end.
                    let _ = input.write_all(&unpack.rest()?).await;
                    return Ok(());
                }
                Ok(Some(Err(error))) => {
                    return Err(Problem::new(Kind::Malformed, format!("the body broke off: {error}")));
                }
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            for packed in data.chunks(unpack.piece_bytes()) {
                let piece = unpack.piece(packed)?;
                let length = piece.len() as u64;
                left = left.checked_sub(length).ok_or_else(|| {
                    Problem::new(Kind::TooLarge, "more was sent than is taken at once")
                        .hint("push fewer commits at a time")
                })?;
                if input.write_all(&piece).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
}

impl Packing {
    fn of(said: Option<&str>) -> Result<Packing, Problem> {
        match said.map(str::trim) {
            None | Some("identity") => Ok(Packing::Plain),
            Some("gzip" | "x-gzip") => Ok(Packing::Gzip),
            Some(other) => {
                Err(Problem::new(Kind::UnsupportedMediaType, format!("`{other}` cannot be unpacked here"))
                    .hint("gzip can"))
            }
        }
    }
}

enum Unpack {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Unpack {
    fn new(packing: Packing) -> Unpack {
        match packing {
            Packing::Plain => Unpack::Plain,
            Packing::Gzip => Unpack::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
        }
    }

    fn piece_bytes(&self) -> usize {
        match self {
            Unpack::Plain => PIECE_BYTES,
            Unpack::Gzip(_) => PACKED_PIECE_BYTES,
        }
    }

    fn rest(&mut self) -> Result<Vec<u8>, Problem> {
        match self {
            Unpack::Plain => Ok(Vec::new()),
            Unpack::Gzip(decoder) => {
                let ended = decoder.try_finish();
                ended.map_err(|_| Problem::new(Kind::Malformed, "the body is not gzip, or not all of it"))?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }

    fn piece(&mut self, packed: &[u8]) -> Result<Vec<u8>, Problem> {
        match self {
            Unpack::Plain => Ok(packed.to_vec()),
            Unpack::Gzip(decoder) => {
                let unpacked = io::Write::write_all(decoder.as_mut(), packed)
                    .and_then(|()| io::Write::flush(decoder.as_mut()));
                unpacked.map_err(|_| Problem::new(Kind::Malformed, "the body is not gzip"))?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_piece_by_piece() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        io::Write::write_all(&mut encoder, &text).unwrap();
        let packed = encoder.finish().unwrap();
        let mut unpack = Unpack::new(Packing::Gzip);
        let mut out = Vec::new();
        for piece in packed.chunks(unpack.piece_bytes()) {
            out.extend(unpack.piece(piece).unwrap());
        }
        out.extend(unpack.rest().unwrap());
        assert!(out == text);
        let mut half = Unpack::new(Packing::Gzip);
        half.piece(&packed[..packed.len() / 2]).unwrap();
        assert_eq!(half.rest().unwrap_err().kind, Kind::Malformed);
        assert_eq!(
            Unpack::new(Packing::Gzip).piece(b"PACK, and never gzip").unwrap_err().kind,
            Kind::Malformed
        );
        assert!(Packing::of(Some("br")).is_err());
    }
}
