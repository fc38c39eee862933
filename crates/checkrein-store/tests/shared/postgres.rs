//! A PostgreSQL of the tests' own: made when the first test asks, gone with the last.

use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

static RUNNING: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());

pub const USER: &str = "checkrein";

/// A server on a data directory of its own.
pub struct PostgresServer {
    directory: tempfile::TempDir,
    pub port: u16,
    settings: Vec<String>,
    keeper: Mutex<Option<Keeper>>,
    databases: Mutex<u32>,
}

/// The thread that started the server, which dies with it.
struct Keeper {
    stop: mpsc::Sender<&'static str>,
    thread: JoinHandle<()>,
}

impl PostgresServer {
    /// The one that tests share. It is fast and would lose what it holds with the machine's power.
    pub fn shared() -> Arc<PostgresServer> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return server;
        }
        let server = Arc::new(PostgresServer::start(&["fsync=off"]));
        *running = Arc::downgrade(&server);
        server
    }

    /// One of a test's own.
    pub fn start(settings: &[&str]) -> PostgresServer {
        let directory = tempfile::Builder::new().prefix("checkrein-pg-").tempdir().unwrap();
        // Not root: PostgreSQL refuses to run as that.
        if is_root() {
            run(Command::new("chown").arg("-R").arg("nobody:nogroup").arg(directory.path()));
        }
        let data = directory.path().join("data");
        let mut initdb = as_nobody(&tool("initdb"));
        initdb.args([
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--username",
            USER,
            "--pgdata",
        ]);
        run(initdb.arg(&data));
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let server = PostgresServer {
            port,
            settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
            directory,
            keeper: Mutex::default(),
            databases: Mutex::new(0),
        };
        server.go();
        server
    }

    /// Starts the process, and waits until it takes connections.
    pub fn go(&self) {
        let (stop, stopped) = mpsc::channel();
        let log = File::options().create(true).append(true).open(self.log()).unwrap();
        let mut command = as_nobody(&tool("postgres"));
        command.arg("-D").arg(self.directory.path().join("data")).arg("-k").arg(self.directory.path());
        command.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        for setting in ["max_connections=400", "log_min_messages=warning"] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        // The server ends when the thread that started it does, however the tests end.
        let thread = thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            let signal = stopped.recv().unwrap_or("INT");
            let _ = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
            let _ = child.wait();
        });
        *self.keeper.lock().unwrap() = Some(Keeper { stop, thread });
        let began = Instant::now();
        while !self.psql("postgres", "SELECT 1") {
            assert!(began.elapsed() < Duration::from_secs(60), "PostgreSQL does not start: {}", self.said());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// `fast` ends connections and writes what is to be written, `immediate` is like a crash.
    pub fn stop(&self, how: &str) {
        let Some(keeper) = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let signal = if how == "immediate" { "QUIT" } else { "INT" };
        let _ = keeper.stop.send(signal);
        let _ = keeper.thread.join();
    }

    /// A new database, and its address.
    pub fn database(&self) -> String {
        let mut databases = self.databases.lock().unwrap_or_else(PoisonError::into_inner);
        *databases += 1;
        let name = format!("test{databases}");
        assert!(self.psql("postgres", &format!("CREATE DATABASE {name}")), "{}", self.said());
        self.address(&name)
    }

    pub fn address(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Whether a statement was done.
    pub fn psql(&self, database: &str, sql: &str) -> bool {
        self.ask(database, sql).is_some()
    }

    /// What a statement answers, without ornaments.
    pub fn ask(&self, database: &str, sql: &str) -> Option<String> {
        let mut psql = Command::new(tool("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-h"])
            .arg(self.directory.path());
        psql.args(["-p", &self.port.to_string(), "-d", database, "-c", sql]).stdin(Stdio::null());
        let output = psql.env("PGCONNECT_TIMEOUT", "5").output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop("immediate");
    }
}

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).trim() == "0"
}

/// A command that is run by nobody where we are root, and dies with the thread that started it.
fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "SIGQUIT"]);
    if is_root() {
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    }
    command.arg(program).env("LC_ALL", "C").current_dir("/");
    command
}

fn tool(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = versions.map(|version| version.path().join("bin").join(name)).collect();
    places.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    places.extend(std::env::split_paths(&path).map(|directory| directory.join(name)));
    places.into_iter().rfind(|place| place.is_file()).unwrap_or_else(|| {
        panic!("there is no `{name}`: install PostgreSQL 15 or later (apt-get install postgresql), or run scripts/test")
    })
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {words}");
    let _ = std::io::stderr().flush();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
