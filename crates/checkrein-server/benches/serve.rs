//! What the way over HTTP costs, and what a server needs that nobody asks anything. Run by `scripts/bench`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, VerdictRequest};
use checkrein_store::{Store, StoreAddress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[path = "../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "shared with tests")]
mod postgres;
#[path = "../../checkrein-engine/benches/shared/mod.rs"]
mod shared;

mod served;

use postgres::PostgresServer;
use served::Server;
use shared::{Table, rate, verdict};

const CLIENTS: usize = 64;
/// Checkpoints that each of them has made and decided: some seconds of work, so that what a store does from time to time
/// is part of it.
const ROUNDS: usize = 600;
/// The same in a moment, at a store that is empty.
const ROUNDS_OF_A_BURST: usize = 60;
const TURNS: usize = 3;
const SUBSCRIBERS: usize = 5_000;
const MB: f64 = 1_000_000.0;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    served::binary()?;
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let mut table = Table::default();

    let (own, over) = in_turns(place.path(), ROUNDS)?;
    table.row("64 tasks on the store, changes", rate(own), "", "the floor".into());
    let share = over / own;
    table.row(
        "64 clients over HTTP, changes",
        rate(over),
        &verdict(share >= 0.5, "≥ 50 % of the store"),
        format!("{:.0} % of it", 100.0 * share),
    );
    let (own, over) = in_turns(place.path(), ROUNDS_OF_A_BURST)?;
    table.row("64 tasks on an empty store, the first 7,680 changes", rate(own), "", String::new());
    let share = format!("{:.0} % of it", 100.0 * over / own);
    table.row("64 clients over HTTP, the first 7,680 changes", rate(over), "", share);

    let database = PostgresServer::start(&[]);
    let (mut own, mut over) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let address = StoreAddress::parse(&database.database())?;
        own.push(store_alone(Store::open_at(&address, place.path())?, ROUNDS_OF_A_BURST)?);
        over.push(Asked::start(place.path(), &database.database())?.changes(ROUNDS_OF_A_BURST)?);
    }
    let (own, over) = (middle(own), middle(over));
    table.row("64 tasks on a PostgreSQL, changes", rate(own), "", "its floor".into());
    let share = format!("{:.0} % of it", 100.0 * over / own);
    table.row("64 clients over HTTP on a PostgreSQL, changes", rate(over), "", share);
    drop(database);

    let server = Asked::start(place.path(), "idle.db")?;
    let idle = server.server.memory()?;
    table.row("a server nobody asks", mb(idle), &verdict(idle <= 30.0 * MB, "≤ 30 MB"), String::new());
    let listening = server.subscribe(SUBSCRIBERS)?;
    let heard = server.server.memory()?;
    table.row(
        "the same with 5,000 streams of events",
        mb(heard),
        &verdict(heard <= 200.0 * MB, "≤ 200 MB"),
        format!("{:.1} kB for each", (heard - idle) / SUBSCRIBERS as f64 / 1e3),
    );
    drop(listening);
    table.print();
    Ok(())
}

/// Changes per second on a store, and over HTTP.
fn in_turns(place: &Path, rounds: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let (mut own, mut over) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        own.push(store_alone(Store::open(&place.join(format!("own-{rounds}-{turn}.db")))?, rounds)?);
        over.push(Asked::start(place, &format!("served-{rounds}-{turn}.db"))?.changes(rounds)?);
    }
    Ok((middle(own), middle(over)))
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

fn mb(bytes: f64) -> String {
    format!("{:.1} MB", bytes / MB)
}

/// Changes per second without a server in between.
fn store_alone(store: Store, rounds: usize) -> Result<f64, Box<dyn Error>> {
    let engine = Arc::new(Engine::new(store, Settings::new(None, None, None, Vec::new())?));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let by = Principal::new("bench", PrincipalKind::Person, Role::Admin);
    let begun = Instant::now();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for client in 0..CLIENTS {
            let (engine, by) = (Arc::clone(&engine), by.clone());
            tasks.push(tokio::spawn(async move {
                for round in 0..rounds {
                    let id = format!("c-{client}-{round}");
                    let new = NewCheckpoint {
                        id: Some(id.clone()),
                        worker: "bench".to_owned(),
                        phase: "draft".to_owned(),
                        kind: "deliverable".to_owned(),
                        deliverable: Deliverable::Text(format!("text {id}")),
                    };
                    engine.create_checkpoint(&by, new).await?;
                    let approve = VerdictRequest::new(Verdict::Approve, None);
                    engine.give_verdict(&by, &id, &approve).await?;
                }
                Ok::<(), checkrein_engine::EngineError>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok::<(), Box<dyn Error>>(())
    })?;
    Ok((CLIENTS * rounds * 2) as f64 / begun.elapsed().as_secs_f64())
}

/// A server, and by whose word it is asked.
struct Asked {
    server: Server,
    token: String,
}

impl Asked {
    fn start(place: &Path, store: &str) -> Result<Asked, Box<dyn Error>> {
        let token = served::token(place, store)?;
        Ok(Asked { server: Server::start(place, store, &[])?, token })
    }

    /// Changes per second of clients that each wait for their answers. They share one thread and have
    /// their requests at hand, so that what is measured is the server's work and not theirs.
    fn changes(&self, rounds: usize) -> Result<f64, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut clients = Vec::new();
            for client in 0..CLIENTS {
                let connection = Connection::open(self.server.address).await?;
                let requests: Vec<Vec<u8>> =
                    (0..rounds).flat_map(|round| self.requests(&format!("c-{client}-{round}"))).collect();
                clients.push((connection, requests));
            }
            let begun = Instant::now();
            let mut asking = Vec::new();
            for (mut connection, requests) in clients {
                asking.push(tokio::spawn(async move {
                    for request in &requests {
                        connection.ask(request).await?;
                    }
                    Ok::<(), String>(())
                }));
            }
            for client in asking {
                client.await??;
            }
            Ok((CLIENTS * rounds * 2) as f64 / begun.elapsed().as_secs_f64())
        })
    }

    /// A checkpoint is asked for, and approved.
    fn requests(&self, id: &str) -> [Vec<u8>; 2] {
        let post = |path: &str, body: &str| {
            let (address, token, length) = (self.server.address, &self.token, body.len());
            format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .into_bytes()
        };
        let asked = format!(
            r#"{{"id":"{id}","worker":"bench","phase":"draft","type":"deliverable","deliverable":"text {id}"}}"#
        );
        let verdict = format!("/v1/checkpoints/{id}/verdict");
        [post("/v1/checkpoints", &asked), post(&verdict, r#"{"verdict":"approve"}"#)]
    }

    /// Streams that are open and have nothing to tell.
    fn subscribe(&self, count: usize) -> Result<Vec<TcpStream>, Box<dyn Error>> {
        let mut open = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(self.server.address)?;
            let request = format!(
                "GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\naccept: text/event-stream\r\n\r\n",
                self.server.address, self.token
            );
            stream.write_all(request.as_bytes())?;
            let mut start = [0; 15];
            stream.read_exact(&mut start)?;
            if !start.starts_with(b"HTTP/1.1 200") {
                return Err(format!("a stream was refused: {}", String::from_utf8_lossy(&start)).into());
            }
            open.push(stream);
        }
        Ok(open)
    }
}

/// A connection that is kept, with as little between the measure and the server as can be.
struct Connection {
    stream: tokio::net::TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Connection, Box<dyn Error>> {
        let stream = tokio::net::TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, answer: Vec::with_capacity(4096) })
    }

    async fn ask(&mut self, request: &[u8]) -> Result<(), String> {
        self.stream.write_all(request).await.map_err(|error| error.to_string())?;
        self.answer.clear();
        while !is_whole(&self.answer)? {
            let read = self.stream.read_buf(&mut self.answer).await.map_err(|error| error.to_string())?;
            if read == 0 {
                return Err("the server hung up".to_owned());
            }
        }
        if self.answer.starts_with(b"HTTP/1.1 20") {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&self.answer).into_owned())
    }
}

/// Whether an answer is there to its end.
fn is_whole(answer: &[u8]) -> Result<bool, String> {
    const LENGTH: &[u8] = b"content-length: ";
    let Some(head) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(false) };
    let at = answer.windows(LENGTH.len()).position(|window| window == LENGTH).ok_or("no length")?;
    let digits = answer.iter().skip(at + LENGTH.len()).take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length: usize, digit| length * 10 + usize::from(digit - b'0'));
    Ok(answer.len() >= head + 4 + length)
}
