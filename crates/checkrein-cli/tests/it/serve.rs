//! The server as a process: it starts, works, is stopped and killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::{BINARY, Place};

pub struct Served {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    address: String,
    /// What it said until it listened.
    said: String,
}

impl Served {
    pub fn start(place: &Place, arguments: &[&str]) -> Served {
        Served::listen(place, "127.0.0.1:0", arguments)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// As the machine does it when memory runs out.
    pub fn kill(self) {
        drop(self);
    }

    fn listen(place: &Place, address: &str, arguments: &[&str]) -> Served {
        let mut command = place.command(BINARY);
        command.args(["serve", "--listen", address]).args(arguments);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("listens on http://") {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let address = said.trim_end().rsplit("http://").next().unwrap().to_owned();
        Served { child, stderr, address, said }
    }

    /// Ends it, and gives its exit code and everything it said.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.stderr.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap().code(), self.said.clone())
    }

    pub fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        ask(&self.address, token, method, path, body).unwrap()
    }

    /// Sends a message of MCP in its newest revision; what it is answered with.
    pub fn mcp(&self, token: &str, method: &str, name: &str, message: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (address, body) = (&self.address, message.to_string());
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let found = answer.lines().find_map(|line| {
            let data = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str::<Value>(data).ok().filter(|value| value["jsonrpc"] == "2.0")
        });
        found.unwrap_or_else(|| panic!("{answer}"))
    }

    /// Waits until something is so.
    fn until(&self, token: &str, path: &str, so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (status, answer) = self.ask(token, "GET", path, &Value::Null);
            assert_eq!(status, 200, "{answer}");
            if so(&answer) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// None where the server is gone before it answered.
fn ask(address: &str, token: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    (body.len() == length.parse::<usize>().unwrap())
        .then(|| (status, serde_json::from_str(body).unwrap_or_default()))
}

fn workflow(command: &str) -> Value {
    json!({"workflow": {"id": "w", "phases": {"build": {"steps": [{"id": "a", "run": command}]}}}})
}

#[test]
fn the_first_start_prints_a_link_and_a_signal_ends_it() {
    let place = Place::new().env("USER", "sam");
    for signal in [Signal::TERM, Signal::INT] {
        let served = Served::start(&place, &[]);
        let (code, said) = served.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("/#sign-in=") && said.contains("within the hour"), "{said}");
        assert!(said.trim_end().ends_with("note: ended"), "{said}");
    }
    place.token("admin", "ann");
    let (_, said) = Served::start(&place, &[]).end(Signal::TERM);
    assert!(!said.contains("sign-in"), "{said}");
}

#[test]
fn a_link_signs_a_browser_in() {
    let place = Place::new().env("USER", "sam");
    let mut served = Served::start(&place, &[]);
    while !served.said.contains("#sign-in=") {
        assert!(served.stderr.read_line(&mut served.said).unwrap() > 0);
    }
    let secret = served.said.rsplit("#sign-in=").next().unwrap().trim().to_owned();
    let (status, who) = served.ask("none", "POST", "/v1/session", &json!({"link": secret}));
    assert_eq!((status, &who["name"], &who["role"]), (200, &json!("sam"), &json!("admin")));
    assert_eq!(served.ask("none", "POST", "/v1/session", &json!({"link": secret})).0, 401);
}

#[test]
fn what_others_could_reach_has_to_be_said() {
    let place = Place::new();
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2, "{}", refused.seen());
    assert!(refused.stderr.contains("--allow-remote"), "{}", refused.seen());
    let inside = place.run_env(&[("CHECKREIN_BRIEF", "brief.md")], &["serve"]);
    assert_eq!(inside.code, 1, "{}", inside.seen());
    let served = Served::start(&place, &["--no-worker"]);
    let taken = place.run(&["serve", "--listen", &served.address]);
    assert!(taken.code == 1 && taken.stderr.contains("cannot be listened on"), "{}", taken.seen());
}

#[test]
fn runs_go_on_by_themselves_whoever_answers() {
    let place = Place::new();
    let admin = place.token("admin", "ann");
    let served = Served::start(&place, &[]);
    let mut sent = workflow("true");
    sent["workflow"]["autonomy"] = json!({"require_approval_for": ["build"]});
    let (status, made) = served.ask(&admin, "POST", "/v1/runs", &sent);
    assert_eq!(status, 201, "{made}");
    let path = format!("/v1/runs/{}", made["run_id"].as_str().unwrap());
    let held = served.until(&admin, &path, |run| run["status"] == "held");
    // The answer comes from the command line, another process on the same store.
    let approved = place.run_as(&admin, &["approve", held["checkpoint"].as_str().unwrap()]);
    assert_eq!(approved.code, 0, "{}", approved.seen());
    served.until(&admin, &path, |run| run["status"] == "completed");
}

#[test]
fn a_run_under_way_is_paused_and_can_be_resumed() {
    let place = Place::new();
    let admin = place.token("admin", "ann");
    let served = Served::start(&place, &[]);
    let (_, made) =
        served.ask(&admin, "POST", "/v1/runs", &workflow("test -f go || { touch go; sleep 1000; }"));
    let id = made["run_id"].as_str().unwrap().to_owned();
    while !place.path().join("go").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (code, said) = served.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(place.run(&["show", &id, "--json"]).json()["status"], "paused", "{said}");
    let served = Served::start(&place, &[]);
    let (status, resumed) = served.ask(&admin, "POST", &format!("/v1/runs/{id}/resume"), &Value::Null);
    assert_eq!(status, 202, "{resumed}");
    served.until(&admin, &format!("/v1/runs/{id}"), |run| run["status"] == "completed");
}

/// Decided from afar, a review names what was looked at (X10).
#[test]
fn a_verdict_on_a_review_names_what_was_looked_at() {
    let agent = "#!/bin/sh\ncat > /dev/null\necho plan > plan.md\necho '{\"next_todos\": [\"work\"]}' > \"$CHECKREIN_RESULT\"\n";
    let place = Place::new().file("agent.sh", agent);
    let command = format!("sh {}/agent.sh", place.path().display());
    let held = place.run(&["job", "Write a letter", "--agent", &command]);
    assert_eq!(held.code, 3, "{}", held.seen());
    let reviewer = place.token("reviewer", "ann");
    let served = Served::start(&place, &["--no-worker"]);
    let (_, inbox) = served.ask(&reviewer, "GET", "/v1/checkpoints?status=pending", &Value::Null);
    let id = inbox["items"][0]["id"].as_str().unwrap();
    let path = format!("/v1/checkpoints/{id}/verdict");
    let (status, refused) = served.ask(&reviewer, "POST", &path, &json!({"verdict": "approve"}));
    assert_eq!(
        (status, refused["type"].as_str()),
        (409, Some("urn:checkrein:problem:digest-needed")),
        "{refused}"
    );
    let (_, shown) = served.ask(&reviewer, "GET", &format!("/v1/checkpoints/{id}"), &Value::Null);
    let head = shown["deliverable"]["head"].clone();
    let (status, decided) =
        served.ask(&reviewer, "POST", &path, &json!({"verdict": "approve", "digest": head}));
    assert_eq!((status, decided["status"].as_str()), (200, Some("approved")), "{decided}");
}

/// Whatever was answered is there afterwards, however the server ended.
#[test]
fn killed_under_load_it_loses_nothing_that_was_acknowledged() {
    let place = Place::new();
    let reviewer = place.token("reviewer", "ann");
    let mut acknowledged: Vec<(String, &str)> = Vec::new();
    for kill in 0..3 {
        let served = Served::start(&place, &["--no-worker"]);
        let (done, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for client in 0..8 {
                let (address, reviewer, done, over) = (&served.address, &reviewer, &done, &over);
                scope.spawn(move || {
                    for number in 0.. {
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        let id = format!("{kill}-{client}-{number}");
                        let asked = json!({"id": id, "worker": "w", "deliverable": "x"});
                        let Some((201, _)) = ask(address, reviewer, "POST", "/v1/checkpoints", &asked) else {
                            return;
                        };
                        done.lock().unwrap().push((id.clone(), "pending"));
                        let path = format!("/v1/checkpoints/{id}/verdict");
                        let verdict = json!({"verdict": "approve"});
                        let Some((200, _)) = ask(address, reviewer, "POST", &path, &verdict) else { return };
                        done.lock().unwrap().push((id, "approved"));
                    }
                });
            }
            while done.lock().unwrap().len() < 150 {
                std::thread::sleep(Duration::from_millis(1));
            }
            kill_process(Pid::from_child(&served.child), Signal::KILL).unwrap();
            over.store(true, Ordering::Relaxed);
        });
        acknowledged.extend(done.into_inner().unwrap());
    }
    let served = Served::start(&place, &["--no-worker"]);
    for (id, status) in acknowledged {
        let (found, checkpoint) =
            served.ask(&reviewer, "GET", &format!("/v1/checkpoints/{id}"), &Value::Null);
        assert_eq!(found, 200, "{id} was acknowledged and is gone");
        assert!(status == "pending" || checkpoint["status"] == status, "{id}: {checkpoint}");
    }
    let checked = place.run(&["store", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.seen());
}

/// Takes what is sent to a collector until nobody is there any more.
fn collector() -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let take = move || {
        let mut taken = Vec::new();
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            loop {
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap_or(0) > 0 {}
                if head.starts_with("END") {
                    return taken;
                }
                let head = head.to_ascii_lowercase();
                let Some(length) = head.split("content-length: ").nth(1) else { break };
                assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
                assert!(head.contains("content-type: application/x-protobuf"), "{head}");
                let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                taken.extend(body);
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
        taken
    };
    (address, std::thread::spawn(take))
}

#[test]
fn requests_and_runs_are_traced_where_a_collector_is_named() {
    let (collector, taking) = collector();
    let place = Place::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{collector}"));
    let token = place.token("admin", "ann");
    let served = Served::start(&place, &[]);
    let (status, run) = served.ask(&token, "POST", "/v1/runs", &workflow("exit 3"));
    assert_eq!(status, 201, "{run}");
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    served.until(&token, &path, |run| run["status"] == "failed");
    let (code, said) = served.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    TcpStream::connect(&collector).unwrap().write_all(b"END\r\n\r\n").unwrap();
    let taken = String::from_utf8_lossy(&taking.join().unwrap()).into_owned();
    for expected in [
        "service.name",
        "checkrein",
        "POST /v1/runs",
        "GET /v1/runs/{id}",
        "http.response.status_code",
        "attempt build:",
        "process.exit.code",
        "checkrein.run.status",
    ] {
        assert!(taken.contains(expected), "{expected}: {taken}");
    }
    assert!(!taken.contains(&token), "no secret is sent");
}

#[test]
fn traces_that_cannot_be_sent_are_refused_at_the_start() {
    let place = Place::new().env("OTEL_TRACES_EXPORTER", "zipkin");
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, 2, "{}", refused.seen());
    assert!(refused.stderr.contains("OTEL_TRACES_EXPORTER is `zipkin`"), "{}", refused.seen());
}
