//! A server to be measured, and somebody at a browser who asks it.

#![allow(dead_code, reason = "no measure needs all of it")]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A release of the program, as `scripts/bench` built it.
pub fn binary() -> Result<String, Box<dyn Error>> {
    Ok(std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?)
}

/// What a command answers.
pub fn run(place: &Path, store: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let mut command = Command::new(binary()?);
    let done = command.args(arguments).args(["--store", store]).current_dir(place).stdin(Stdio::null());
    let done = done.output()?;
    match done.stdout.is_empty() {
        true => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&done.stderr)).into()),
        false => Ok(String::from_utf8(done.stdout)?.trim().to_owned()),
    }
}

/// An administrator's token.
pub fn token(place: &Path, store: &str) -> Result<String, Box<dyn Error>> {
    run(place, store, &["token", "create", "--role", "admin", "--name", "bench"])
}

pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(place: &Path, store: &str, more: &[&str]) -> Result<Server, Box<dyn Error>> {
        let child = Command::new(binary()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "0", "--store", store])
            .args(more)
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut server = Server { child, address: ([127, 0, 0, 1], 0).into() };
        let mut said = BufReader::new(server.child.stderr.take().ok_or("the server says nothing")?);
        let mut line = String::new();
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

    /// What it has in memory once it has settled, in bytes.
    pub fn memory(&self) -> Result<f64, Box<dyn Error>> {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(kib * 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection that is kept, and its cookie.
pub struct Browser {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    cookie: String,
}

impl Browser {
    pub fn signed_in(address: SocketAddr, token: &str) -> Result<Browser, Box<dyn Error>> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut browser = Browser { stream: BufReader::new(stream), address, cookie: String::new() };
        let body = format!("token={token}&next=%2F");
        let head = "content-type: application/x-www-form-urlencoded\r\nsec-fetch-site: same-origin\r\n";
        browser.send("POST", "/sign-in", head, &body)?;
        Ok(browser)
    }

    pub fn get(&mut self, path: &str) -> Result<String, Box<dyn Error>> {
        self.send("GET", path, "", "")
    }

    /// What the files that a page loads weigh.
    pub fn weight_of_files(&mut self, page: &str) -> Result<usize, Box<dyn Error>> {
        let mut weight = 0;
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
