//! A server of its own, over a real store, and a client that sends just what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use checkrein_core::config::{CheckreinFile, Owner, Settings};
use checkrein_core::document::{Document, Format};
use checkrein_core::policy::Reading;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, EngineError, NewToken, Rest, Watch, WatchWork};
use checkrein_server::{Config, Limits, Server, Work};
use checkrein_store::Store;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;

pub struct Place {
    pub address: SocketAddr,
    pub engine: Arc<Engine>,
    /// Of the link that signs a browser in.
    pub link: String,
    directory: TempDir,
    runtime: tokio::runtime::Runtime,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
}

/// How a server is made.
pub struct Making {
    settings: String,
    user: String,
    environment: Vec<(String, String)>,
    limits: Limits,
    names: Vec<String>,
    experts: Vec<(String, String)>,
    works: bool,
}

impl Making {
    pub fn settings(mut self, yaml: &str) -> Making {
        self.settings = yaml.to_owned();
        self
    }

    /// Of whoever runs the server.
    pub fn user_settings(mut self, yaml: &str) -> Making {
        self.user = yaml.to_owned();
        self
    }

    /// With the sandbox as a server has it where nobody says anything.
    pub fn sandboxed(mut self) -> Making {
        self.user.clear();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Making {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Making {
        change(&mut self.limits);
        self
    }

    pub fn name(mut self, name: &str) -> Making {
        self.names.push(name.to_owned());
        self
    }

    /// With an expert that has a file.
    pub fn expert(mut self, name: &str, yaml: &str) -> Making {
        self.experts.push((name.to_owned(), yaml.to_owned()));
        self
    }

    /// With somebody who goes on with runs.
    pub fn working(mut self) -> Making {
        self.works = true;
        self
    }

    pub fn start(self) -> Place {
        checkrein_engine::process::supervise_with(Path::new(env!("CARGO_BIN_EXE_checkrein-supervisor")));
        let directory = TempDir::new().unwrap();
        self.start_in(directory)
    }

    fn start_in(self, directory: TempDir) -> Place {
        let store = Store::open(&directory.path().join("store.db")).unwrap();
        let parsed =
            |text: &str| Document::parse("checkrein.yaml", text, Format::Yaml).unwrap().root.to_json();
        let (mut project, mut user) = (parsed(&self.settings), parsed(&self.user));
        // Which program runs is the user's to say.
        for key in ["agent", "agents", "models"] {
            let said = project.as_object_mut().and_then(|project| project.remove(key));
            if let Some(said) = said {
                if user.is_null() {
                    user = serde_json::json!({});
                }
                user.as_object_mut().unwrap().insert(key.to_owned(), said);
            }
        }
        let read = |value: &serde_json::Value, owner: Owner| {
            let document = Document::parse("checkrein.yaml", &value.to_string(), Format::Yaml).unwrap();
            CheckreinFile::read(&Arc::new(document), owner, Reading::Strict).unwrap().0
        };
        let project = (!project.is_null()).then(|| read(&project, Owner::Project));
        let user = (!user.is_null()).then(|| read(&user, Owner::User));
        let settings = Settings::new(user, project, None, self.environment).unwrap();
        let engine = Arc::new(Engine::new(store, settings));
        let (stop, stopped) = watch::channel(false);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let work = Work { runs: 2, by: admin(), watcher: Arc::new(|| Box::new(Unwatched)) };
        let experts: Vec<(String, PathBuf)> = self
            .experts
            .iter()
            .map(|(name, yaml)| {
                let path = directory.path().join(format!("{name}.yaml"));
                std::fs::write(&path, yaml).unwrap();
                (name.clone(), path)
            })
            .collect();
        let config = Config {
            experts: Arc::new(move || experts.clone()),
            names: self.names,
            limits: self.limits,
            work: self.works.then_some(work),
            ..Config::new("127.0.0.1:0".parse().unwrap())
        };
        let server = runtime.block_on(Server::bind(Arc::clone(&engine), config, stopped)).unwrap();
        let address = server.address().unwrap();
        let link = server.sign_in_link("sam");
        let handle = runtime.handle().clone();
        let server = Some(std::thread::spawn(move || handle.block_on(server.run())));
        Place { address, engine, link, directory, runtime, stop, server }
    }
}

impl Place {
    pub fn new() -> Place {
        Place::making().start()
    }

    pub fn making() -> Making {
        let limits = Limits { requests_every: Duration::ZERO, ..Limits::default() };
        Making {
            settings: String::new(),
            // Most agents of these tests are written for no sandbox.
            user: "sandbox: off\n".to_owned(),
            environment: Vec::new(),
            limits,
            names: Vec::new(),
            experts: Vec::new(),
            works: false,
        }
    }

    /// Ends the server as a signal does; it must end.
    pub fn stop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(server) = self.server.take() {
            server.join().unwrap();
        }
    }

    /// Says that it is to end, and does not wait for it.
    pub fn begin_stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Leaves a server that would end later than anybody waits.
    pub fn abandon(mut self) {
        self.server.take();
    }

    /// The same store with a new server.
    pub fn restarted(mut self) -> Place {
        self.stop();
        let directory = std::mem::replace(&mut self.directory, TempDir::new().unwrap());
        drop(self);
        Place::making().start_in(directory)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Waits for work of the engine.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The secret of a new token.
    pub fn token(&self, role: Role, name: &str) -> String {
        self.token_of(role, name, None)
    }

    /// The same for one that speaks for one worker.
    pub fn token_of(&self, role: Role, name: &str, worker: Option<&str>) -> String {
        let (kind, worker) = (PrincipalKind::of_role(role), worker.map(str::to_owned));
        let new = NewToken { name: name.to_owned(), kind, role, expires_at: None, worker };
        self.wait(self.engine.create_token(&admin(), new)).unwrap().secret
    }

    pub fn as_role(&self, role: Role) -> Client {
        self.bearer(&self.token(role, role.name()))
    }

    pub fn bearer(&self, token: &str) -> Client {
        self.client().header("Authorization", &format!("Bearer {token}"))
    }

    pub fn client(&self) -> Client {
        Client { address: self.address, headers: Vec::new() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

pub fn admin() -> Principal {
    Principal::new("sam", PrincipalKind::Person, Role::Admin)
}

struct Unwatched;

impl Watch for Unwatched {
    fn event(
        &mut self,
        _: &checkrein_core::run::Run,
        _: u64,
        _: jiff::Timestamp,
        _: &checkrein_core::run::RunEvent,
    ) {
    }
    fn warn(&mut self, _: String) {}
}

impl WatchWork for Unwatched {
    fn goes_on(&mut self, _: &checkrein_core::run::RunId) {}
    fn rests(&mut self, _: &checkrein_core::run::Run, _: &Rest) {}
    fn failed(&mut self, _: &checkrein_core::run::RunId, _: &EngineError) {}
}

#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Client {
    /// In the place of one of the same name.
    pub fn header(mut self, name: &str, value: &str) -> Client {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What it sends under this name.
    pub fn sent(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(&body.to_string()))
    }

    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.answer(method, self.open(method, path, body))
    }

    pub fn send_bytes(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.answer(method, self.open_with(method, path, Some(body)))
    }

    fn answer(&self, method: &str, stream: TcpStream) -> Answer {
        let mut stream = BufReader::new(stream);
        let (status, headers) = read_head(&mut stream);
        let mut body = Vec::new();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        match length {
            Some(_) if method == "HEAD" => {}
            Some((_, length)) => {
                body.resize(length.parse().unwrap(), 0);
                stream.read_exact(&mut body).unwrap();
            }
            None => drop(stream.read_to_end(&mut body).unwrap()),
        }
        // What git says is not always text.
        Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// Sends a request and leaves its answer to be read.
    pub fn open(&self, method: &str, path: &str, body: Option<&str>) -> TcpStream {
        self.open_with(method, path, body.map(str::as_bytes))
    }

    fn open_with(&self, method: &str, path: &str, body: Option<&[u8]>) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut headers = self.headers.clone();
        let has = |headers: &[(String, String)], name: &str| {
            headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        if !has(&headers, "host") {
            headers.push(("Host".to_owned(), self.address.to_string()));
        }
        if body.is_some() && !has(&headers, "content-type") {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = body.unwrap_or_default();
        if !head.contains("\r\nContent-Length: ") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        // A request that is refused early is not read to its end.
        let _ = stream.write_all(&[head.as_bytes(), b"\r\n", body].concat());
        stream
    }

    /// The events of a stream, as they come.
    pub fn listen(&self, path: &str) -> Events {
        let client = self.clone().header("Accept", "text/event-stream");
        let mut stream = BufReader::new(client.open("GET", path, None));
        let (status, headers) = read_head(&mut stream);
        assert_eq!(status, 200, "{headers:?}");
        Events { stream, text: String::new() }
    }
}

pub fn read_head(stream: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The answer, if it is what was expected.
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// A refusal of this kind.
    pub fn refused(self, status: u16, kind: &str) -> Value {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem = answer.json();
        assert_eq!(problem["type"], format!("urn:checkrein:problem:{kind}"), "{problem}");
        assert_eq!(problem["status"], status);
        problem
    }
}

pub struct Events {
    stream: BufReader<TcpStream>,
    text: String,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub id: i64,
    pub data: Value,
}

impl Events {
    /// The next event; none where the stream ended.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((piece, rest)) = self.text.split_once("\n\n") {
                let field =
                    |name: &str| piece.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let (id, data) = (field("id: "), field("data: "));
                self.text = rest.to_owned();
                if let (Some(id), Some(data)) = (id, data) {
                    return Some(Event {
                        id: id.parse().unwrap(),
                        data: serde_json::from_str(&data).unwrap(),
                    });
                }
                continue;
            }
            // One chunk: its length, itself, an end of line.
            let mut size = String::new();
            if self.stream.read_line(&mut size).ok()? == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }
}
