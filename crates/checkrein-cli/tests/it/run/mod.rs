//! Workflow runs, one file per area. `docs/requirements.md` says which test holds which requirement.

mod cancel;
mod capture;
mod check_in;
mod derived;
mod files;
mod gate;
mod handling;
mod inherit;
mod inside;
pub mod kill;
mod limits;
mod log;
mod older;
mod requirements;
mod resume;
mod secrets;
mod step;
mod sweep;
mod terminal;
mod tolerance;
mod worker;

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::{Place, Ran};

/// `sh found warnings low 3` answers with three low warnings.
const FOUND: &str = r#"kind=$1 severity=$2 count=${3:-1} items= n=1
while [ $n -le $count ]; do
  items="$items${items:+,}{\"text\":\"$severity $kind $n\",\"severity\":\"$severity\",\"category\":\"style\"}"
  n=$((n + 1))
done
echo "{\"$kind\":[$items]}"
"#;

/// A place with a workflow in it.
pub fn scene(flow: &str) -> Place {
    Place::new().file("found", FOUND).file("flow.yaml", flow)
}

/// A workflow whose only phase is `build`, with these steps.
pub fn steps(steps: &[(&str, &str)]) -> String {
    let lines = steps.iter().map(|(id, run)| format!("      - {{id: {id}, run: {}}}\n", quoted(run)));
    format!("phases:\n  build:\n    steps:\n{}", lines.collect::<String>())
}

/// A text as YAML reads it back, whatever is in it.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

pub fn start(place: &Place, more: &[&str]) -> (Ran, String) {
    let ran = place.run(&[&["run", "flow.yaml"], more].concat());
    let id = id_of(&ran);
    (ran, id)
}

/// The run a command spoke of.
pub fn id_of(ran: &Ran) -> String {
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix("note: run "));
    let line = line.unwrap_or_else(|| panic!("no run: {}", ran.seen()));
    line.split([':', ' ']).next().unwrap().to_owned()
}

/// Expects an exit code, and shows everything where it is another one.
pub fn expect(ran: &Ran, code: i32) {
    assert_eq!(ran.code, code, "{}", ran.seen());
}

/// A run that ends with this exit code.
pub fn ran(place: &Place, more: &[&str], code: i32) -> (Ran, String) {
    let (ran, id) = start(place, more);
    expect(&ran, code);
    (ran, id)
}

pub fn show(place: &Place, id: &str) -> Value {
    place.run(&["show", id, "--json"]).json()
}

pub fn status(place: &Place, id: &str) -> String {
    show(place, id)["status"].as_str().unwrap().to_owned()
}

pub fn resume(place: &Place, id: &str, code: i32) -> Ran {
    let ran = place.run(&["resume", id]);
    expect(&ran, code);
    ran
}

/// Where the store and what belongs to it are.
pub fn data(place: &Place, name: &str) -> std::path::PathBuf {
    place.path().join("home/.local/share/checkrein").join(name)
}

/// The log in its file, line by line.
pub fn logged(place: &Place, id: &str) -> Vec<Value> {
    lines(&fs::read_to_string(data(place, &format!("logs/{id}.jsonl"))).unwrap())
}

pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of one type.
pub fn of_type(records: &[Value], log_type: &str) -> Vec<Value> {
    records.iter().filter(|record| record["log_type"] == log_type).cloned().collect()
}

/// `step_id status` of every response, in order.
pub fn responses(place: &Place, id: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let records = of_type(&logged(place, id), "step-response");
    records.iter().map(|one| format!("{} {}", text(&one["step_id"]), text(&one["status"]))).collect()
}

/// The checkpoint a run waits at.
pub fn waits_at(place: &Place, id: &str) -> String {
    show(place, id)["checkpoint"].as_str().unwrap_or_else(|| panic!("{id} waits for nobody")).to_owned()
}

/// What a person is asked at the checkpoint a run waits at.
pub fn asked(place: &Place, id: &str) -> Value {
    let checkpoint = place.run(&["checkpoint", "show", &waits_at(place, id), "--json"]).json();
    checkpoint["deliverable"].clone()
}

/// Somebody who may answer.
pub struct Ann(String);

impl Ann {
    pub fn of(place: &Place) -> Ann {
        Ann(place.token("reviewer", "ann"))
    }

    pub fn says(&self, place: &Place, arguments: &[&str]) -> Ran {
        place.run_as(&self.0, arguments)
    }

    /// Approves what the run waits for, and takes the run up again.
    pub fn lets_go_on(&self, place: &Place, id: &str, code: i32) -> Ran {
        expect(&self.says(place, &["approve", &waits_at(place, id)]), 0);
        resume(place, id, code)
    }
}

/// The strings of a JSON list, by the key of each item.
pub fn texts(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// Whether the process whose number is in a file is still there.
pub fn alive(place: &Place, pid_file: &str) -> bool {
    // A file that is not written yet names nobody.
    let Ok(pid) = place.read(pid_file).trim().parse::<u32>() else { return false };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits for something.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never happened");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The only run there is, once there is one.
pub fn only_run(place: &Place) -> Option<String> {
    let runs = place.run(&["runs", "--json"]).json();
    Some(runs["items"].get(0)?["run_id"].as_str()?.to_owned())
}

/// A command that goes on while the test does.
pub struct Background {
    pub child: Child,
    stdout: Heard,
    stderr: Heard,
}

/// What came on a stream so far, and who listens to it.
struct Heard {
    text: Arc<Mutex<String>>,
    ear: Option<JoinHandle<()>>,
}

pub fn background(place: &Place, arguments: &[&str]) -> Background {
    let mut command = place.command(place.binary());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    Background { child, stdout: hear(stdout), stderr: hear(stderr) }
}

fn hear(mut stream: impl Read + Send + 'static) -> Heard {
    let text = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&text);
    let listen = move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    };
    Heard { text, ear: Some(thread::spawn(listen)) }
}

impl Background {
    /// What it has written on standard output so far.
    pub fn said(&self) -> String {
        self.stdout.text.lock().unwrap().clone()
    }

    /// What it has written on standard error so far.
    pub fn noted(&self) -> String {
        self.stderr.text.lock().unwrap().clone()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub fn end(&mut self) -> Ran {
        let status = until(|| self.child.try_wait().unwrap());
        [&mut self.stdout, &mut self.stderr]
            .into_iter()
            .filter_map(|heard| heard.ear.take())
            .for_each(|ear| ear.join().unwrap());
        Ran { stdout: self.said(), stderr: self.noted(), code: status.code().unwrap_or(-1) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
