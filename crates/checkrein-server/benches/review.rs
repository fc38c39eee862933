//! How long the page of a review with a large diff takes, from the request to its last byte. Run by `scripts/bench`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../checkrein-engine/benches/shared/mod.rs"]
mod shared;

use shared::{Table, verdict};

const LINES: usize = 5_000;
const TURNS: usize = 21;
const GOAL: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?;
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let run = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let done = Command::new(&binary)
            .args(arguments)
            .args(["--store", "store.db"])
            .current_dir(place.path())
            .output()?;
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    };
    prepare(place.path())?;
    let token = run(&["token", "create", "--role", "admin", "--name", "bench"])?;
    let job = run(&["job", "Write much", "--agent", "cmd:./agent.sh", "--queue"])?;
    run(&["resume", &job])?;
    let mut server = Server::start(&binary, place.path())?;
    let cookie = server.signed_in(&token)?;
    let mut table = Table::default();
    for (name, query) in [("unified", "file=large.rs"), ("side by side", "file=large.rs&view=split")] {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..TURNS {
            let begun = Instant::now();
            let answer =
                server.ask(&format!("GET /reviews/{job}.1?{query}"), &format!("Cookie: {cookie}\r\n"), "")?;
            times.push(begun.elapsed());
            let lines = answer.matches("data-line=").count();
            if lines < LINES {
                return Err(
                    format!("the page has {lines} lines: {}", answer.get(..600).unwrap_or(&answer)).into()
                );
            }
            bytes = answer.len();
        }
        times.sort_unstable();
        let middle = times.get(TURNS / 2).copied().unwrap_or_default();
        table.row(
            &format!("the page of a diff of 5,000 lines, {name}"),
            format!("{:.0} ms", middle.as_secs_f64() * 1e3),
            &verdict(middle < GOAL, "< 200 ms"),
            format!(
                "{:.1} MB, in the worst case {:.0} ms",
                bytes as f64 / 1e6,
                times.last().copied().unwrap_or_default().as_secs_f64() * 1e3
            ),
        );
    }
    table.print();
    Ok(())
}

/// An agent that leaves one large file of code.
fn prepare(place: &Path) -> Result<(), Box<dyn Error>> {
    let code: String = (0..LINES / 5)
        .map(|n| format!("/// Counts {n}.\npub fn count_{n}(value: u64) -> Option<u64> {{\n    let name = \"the {n}th\"; // {n}\n    value.checked_add({n}).filter(|sum| *sum > {n} && !name.is_empty())\n}}\n"))
        .collect();
    std::fs::write(place.join("code.rs"), code)?;
    let from = place.join("code.rs");
    let agent = format!(
        "#!/bin/sh\ncp '{}' large.rs\necho '{{\"next_todos\": [\"nothing\"]}}' > \"$CHECKREIN_RESULT\"\n",
        from.display()
    );
    std::fs::write(place.join("agent.sh"), agent)?;
    Command::new("chmod").arg("+x").arg(place.join("agent.sh")).status()?;
    Ok(())
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &str, place: &Path) -> Result<Server, Box<dyn Error>> {
        let log = place.join("server.log");
        let child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "0", "--no-worker", "--store", "store.db"])
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        let mut server = Server { child, address: String::new() };
        let begun = Instant::now();
        while server.address.is_empty() {
            if begun.elapsed() > Duration::from_secs(20) {
                return Err("the server did not start".into());
            }
            std::thread::sleep(Duration::from_millis(20));
            let said = std::fs::read_to_string(&log)?;
            if let Some((_, rest)) = said.split_once("listens on http://") {
                server.address = rest.lines().next().unwrap_or_default().trim().to_owned();
            }
        }
        Ok(server)
    }

    fn signed_in(&mut self, token: &str) -> Result<String, Box<dyn Error>> {
        let body = format!("{{\"token\": \"{token}\"}}");
        let answer = self.ask("POST /v1/session", "Content-Type: application/json\r\n", &body)?;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next()).ok_or("nobody is signed in")?;
        Ok(cookie.to_owned())
    }

    fn ask(&mut self, what: &str, headers: &str, body: &str) -> Result<String, Box<dyn Error>> {
        let mut stream = TcpStream::connect(&self.address)?;
        let (address, length) = (&self.address, body.len());
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
