//! A database, a directory that all machines see, and the machines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::postgres::PostgresServer;

pub const BINARY: &str = env!("CARGO_BIN_EXE_checkrein");

pub struct World {
    // Machines end before the server does.
    pub root: TempDir,
    pub server: Arc<PostgresServer>,
    pub address: String,
}

/// A process on a machine of its own.
pub struct Machine {
    pub name: String,
    child: Child,
    log: PathBuf,
    frozen: bool,
}

impl World {
    /// `settings` are those of whoever runs the machines.
    pub fn new(settings: &str) -> World {
        let server = PostgresServer::shared();
        let address = server.database();
        let root = TempDir::new().unwrap();
        let world = World { root, server, address };
        std::fs::create_dir_all(world.work()).unwrap();
        let home = world.root.path().join("home/.config/checkrein");
        std::fs::create_dir_all(&home).unwrap();
        let settings = settings.replace("WORK", world.work().to_str().unwrap());
        std::fs::write(home.join("checkrein.yaml"), settings).unwrap();
        world.run("desk", &["store", "stats"], 0);
        world
    }

    /// What all machines see under one path.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The binary on a machine.
    pub fn command(&self, machine: &str, arguments: &[&str]) -> Command {
        self.command_at(&self.address, machine, arguments)
    }

    pub fn command_at(&self, address: &str, machine: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        self.prepare(&mut command, address, machine);
        command.args(arguments);
        command
    }

    pub fn prepare(&self, command: &mut Command, address: &str, machine: &str) {
        let binaries = Path::new(BINARY).parent().unwrap();
        let path = format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/bin", binaries.display());
        command.env_clear().env("PATH", path).env("HOME", self.root.path().join("home"));
        command.env("CHECKREIN_STORE", address);
        command.env("CHECKREIN_FILES", self.root.path().join("files").join(machine));
        command.env("WITNESS", self.witness()).env("FORGE_TOKEN", crate::forge::TOKEN);
        command.current_dir(self.work()).stdin(Stdio::null());
    }

    fn witness(&self) -> PathBuf {
        let witness = self.root.path().join("witness");
        std::fs::create_dir_all(&witness).unwrap();
        witness
    }

    /// Starts a machine that goes on with runs.
    pub fn start(&self, name: &str, arguments: &[&str]) -> Machine {
        self.spawn(name, self.command(name, arguments))
    }

    pub fn spawn(&self, name: &str, mut command: Command) -> Machine {
        let log = self.root.path().join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Machine { name: name.to_owned(), child, log, frozen: false }
    }

    /// What a command answers, which must end with this code.
    pub fn run(&self, machine: &str, arguments: &[&str], code: i32) -> String {
        let output = self.command(machine, arguments).output().unwrap();
        let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}{told}");
        format!("{said}{told}")
    }

    pub fn json(&self, machine: &str, arguments: &[&str]) -> Value {
        let output = self.command(machine, arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
        })
    }

    /// A workflow among what all see.
    pub fn flow(&self, name: &str, text: &str) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    /// Records a run that somebody else takes up.
    pub fn queue(&self, machine: &str, flow: &str) -> String {
        let output = self.command(machine, &["run", flow, "--queue"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn status(&self, run: &str) -> String {
        let database = self.address.rsplit('/').next().unwrap();
        self.server.ask(database, &format!("SELECT status FROM runs WHERE id = '{run}'")).unwrap()
    }

    /// What happened in a run, as it is kept for ever.
    pub fn events(&self, run: &str) -> Vec<Value> {
        let database = self.address.rsplit('/').next().unwrap();
        let sql = format!("SELECT body FROM events WHERE stream = '{run}' ORDER BY position");
        let bodies = self.server.ask(database, &sql).unwrap();
        bodies.lines().map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    pub fn sql(&self, sql: &str) -> String {
        self.server.ask(self.address.rsplit('/').next().unwrap(), sql).unwrap()
    }

    /// What the steps of `WITNESSED` saw.
    pub fn collisions(&self) -> String {
        std::fs::read_to_string(self.witness().join("collisions")).unwrap_or_default()
    }

    /// Checks a run that is over: each of its steps was finished once, and no attempt began before the one
    /// before it had ended.
    pub fn assert_done_once(&self, run: &str, steps: usize) {
        let events = self.events(run);
        let seen = || events.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let mut under_way: Option<(String, u64)> = None;
        let (mut finished, mut last, mut ended) = (Vec::new(), 0, 0);
        for event in &events {
            let task = || event["task"].as_str().unwrap().to_owned();
            match event["event"].as_str().unwrap() {
                "attempt_started" => {
                    let start = event["start"].as_u64().unwrap();
                    assert!(under_way.is_none(), "two at once:\n{}", seen());
                    assert_eq!(start, last + 1, "{}", seen());
                    (under_way, last) = (Some((task(), start)), start);
                }
                "attempt_finished" => {
                    assert_eq!(under_way.take().map(|(task, _)| task), Some(task()), "{}", seen());
                    finished.push(task());
                }
                "attempt_interrupted" => {
                    assert_eq!(under_way.take().map(|(task, _)| task), Some(task()), "{}", seen());
                }
                "run_ended" => ended += 1,
                _ => {}
            }
        }
        assert_eq!((ended, under_way), (1, None), "{}", seen());
        let mut once = finished.clone();
        once.dedup();
        assert_eq!((finished.len(), once.len()), (steps, steps), "{}", seen());
    }
}

/// A step that nobody else may be at: the kernel knows whether somebody is, and forgets whoever dies.
pub fn witnessed(id: &str, seconds: &str) -> String {
    let script = format!(
        "exec 9>\"$WITNESS/{{run_id}}\"; flock -n 9 || {{{{ echo {{run_id}} {id} >> \"$WITNESS/collisions\"; }}}}; \
         sleep {seconds}"
    );
    format!("      - {{id: {id}, run: {}}}\n", serde_json::to_string(&script).unwrap())
}

impl Machine {
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn signal(&mut self, signal: Signal) {
        self.frozen = signal == Signal::STOP;
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.frozen {
            let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("-- {}\n{}", self.name, self.log());
        }
    }
}

/// Waits for something that comes.
pub fn until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(180), "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}
