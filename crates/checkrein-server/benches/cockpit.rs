//! How long pages take that have much to show, and what they weigh. Run by `scripts/bench`.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, NewToken};
use checkrein_store::Store;

#[path = "../../checkrein-engine/benches/shared/mod.rs"]
mod shared;

use shared::{Table, verdict};

const PENDING: usize = 10_000;
/// Each leaves three events.
const STEPS: usize = 335;
const LOOKS: usize = 300;
const GOAL: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?;
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let token = fill(&place.path().join("store.db"))?;
    let run = run_of_many_steps(&binary, place.path())?;
    let server = Server::start(&binary, place.path())?;
    let mut browser = Browser::signed_in(server.address, &token)?;

    let mut table = Table::default();
    let inbox = browser.look("/inbox")?;
    let bytes = inbox.bytes;
    table.row(
        &format!("inbox with {PENDING} pending, p99 of {LOOKS}"),
        ms(inbox.p99),
        &verdict(inbox.p99 < GOAL, "< 50 ms"),
        format!("middle {}, {bytes} B", ms(inbox.middle)),
    );
    let shown = browser.look(&format!("/runs/{run}"))?;
    let events = browser.get(&format!("/runs/{run}/audit.jsonl"))?.lines().count();
    table.row(
        &format!("page of a run with {events} events, p99"),
        ms(shown.p99),
        &verdict(shown.p99 < GOAL && events >= 1_000, "< 50 ms"),
        format!("middle {}, {} B", ms(shown.middle), shown.bytes),
    );
    let weight = browser.weight()?;
    table.row(
        "a page with its files, without content",
        format!("{:.1} KB", weight as f64 / 1e3),
        &verdict(weight <= 100_000, "≤ 100 KB"),
        "nothing is compressed".into(),
    );
    table.print();
    Ok(())
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Ten thousand that wait, and a token.
fn fill(path: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::new(Store::open(path)?, Settings::new(None, None, None, Vec::new())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let by = Principal::new("bench", PrincipalKind::Person, Role::Admin);
    runtime.block_on(async {
        for number in 0..PENDING {
            let new = NewCheckpoint {
                id: Some(format!("c-{number}")),
                worker: format!("worker-{}", number % 20),
                phase: "draft".to_owned(),
                kind: "deliverable".to_owned(),
                deliverable: Deliverable::Text(format!("draft {number} ").repeat(100)),
            };
            engine.create_checkpoint(&by, new).await?;
        }
        let new = NewToken {
            name: "bench".to_owned(),
            kind: PrincipalKind::Person,
            role: Role::Admin,
            expires_at: None,
            worker: None,
        };
        Ok(engine.create_token(&by, new).await?.secret)
    })
}

fn run_of_many_steps(binary: &str, place: &Path) -> Result<String, Box<dyn Error>> {
    let mut flow = String::from("id: many\nphases:\n  build:\n    steps:\n");
    for step in 0..STEPS {
        flow.push_str(&format!(
            "      - {{ id: s{step}, run: \"printf '{{\\\"status\\\":\\\"warning\\\",\\\"warnings\\\":[{{\\\"text\\\":\\\"slow {step}\\\",\\\"severity\\\":\\\"low\\\"}}]}}' > $CHECKREIN_RESPONSE\" }}\n"
        ));
    }
    flow.push_str("autonomy: { check_in_frequency: per-step, warning_tolerance: high, limits: { max_total_warnings: 100000 } }\n");
    std::fs::write(place.join("flow.yaml"), flow)?;
    let ran = Command::new(binary)
        .args(["run", "flow.yaml", "--yes", "--json", "--store", "store.db"])
        .current_dir(place)
        .stdin(Stdio::null())
        .output()?;
    let listed =
        Command::new(binary).args(["runs", "--json", "--store", "store.db"]).current_dir(place).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let id = listed.split("\"run_id\":").nth(1).and_then(|rest| rest.split('"').nth(1));
    let id = id.ok_or_else(|| format!("no run: {listed}{}", String::from_utf8_lossy(&ran.stderr)))?;
    Ok(id.to_owned())
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(binary: &str, place: &Path) -> Result<Server, Box<dyn Error>> {
        let child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "0", "--store", "store.db", "--no-worker"])
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut server = Server { child, address: ([127, 0, 0, 1], 0).into() };
        let said = server.child.stderr.take().ok_or("the server says nothing")?;
        let mut line = String::new();
        let mut said = BufReader::new(said);
        while said.read_line(&mut line)? > 0 {
            if let Some((_, rest)) = line.split_once("127.0.0.1:") {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                server.address.set_port(port.parse()?);
                // It goes on talking; nobody listens, and nothing waits for that.
                std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
                return Ok(server);
            }
            line.clear();
        }
        Err("the server does not say where it listens".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection that is kept, and its cookie.
struct Browser {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    cookie: String,
}

struct Looked {
    p99: Duration,
    middle: Duration,
    bytes: usize,
}

impl Browser {
    fn signed_in(address: SocketAddr, token: &str) -> Result<Browser, Box<dyn Error>> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut browser = Browser { stream: BufReader::new(stream), address, cookie: String::new() };
        let body = format!("token={token}&next=%2F");
        let head = "content-type: application/x-www-form-urlencoded\r\nsec-fetch-site: same-origin\r\n";
        browser.send("POST", "/sign-in", head, &body)?;
        Ok(browser)
    }

    fn get(&mut self, path: &str) -> Result<String, Box<dyn Error>> {
        self.send("GET", path, "", "")
    }

    /// Looks at a page again and again.
    fn look(&mut self, path: &str) -> Result<Looked, Box<dyn Error>> {
        let mut times = Vec::new();
        let mut bytes = 0;
        for look in 0..LOOKS + 10 {
            let begun = Instant::now();
            bytes = self.get(path)?.len();
            // The first ones find nothing prepared.
            if look >= 10 {
                times.push(begun.elapsed());
            }
        }
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        Ok(Looked { p99: at(99), middle: at(50), bytes })
    }

    /// A page with nothing to show, and every file it loads.
    fn weight(&mut self) -> Result<usize, Box<dyn Error>> {
        let page = self.get("/inbox?worker=nobody")?;
        let mut weight = page.len();
        for part in page.split("\"/assets/").skip(1) {
            let path = format!("/assets/{}", part.split('"').next().unwrap_or_default());
            weight += self.get(&path)?.len();
        }
        Ok(weight)
    }

    fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<String, Box<dyn Error>> {
        let (address, cookie, length) = (self.address, &self.cookie, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n{more}content-length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.trim().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
            if name.eq_ignore_ascii_case("set-cookie") && value.starts_with("checkrein_session") {
                self.cookie = value.split(';').next().unwrap_or_default().to_owned();
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8(answer)?;
        if status.starts_with("HTTP/1.1 200") { Ok(answer) } else { Err(format!("{path}: {status}").into()) }
    }
}
