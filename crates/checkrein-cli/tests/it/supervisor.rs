//! Attempts as real processes under the supervisor of the binary, through the engine's client.

use std::fs;
use std::future::pending;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use checkrein_engine::process::{
    Attempt, Ended, Exit, ProcessError, Stdin, Supervisor, Why, end_leftovers, last_line, wait_for_lock,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::BINARY;

/// A directory for one supervisor and its attempts.
struct Scene {
    directory: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new() -> Scene {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Scene { directory: TempDir::new().unwrap(), runtime }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Like an engine, once the one before has let go of its lock.
    fn supervisor(&self) -> Supervisor {
        drop(wait_for_lock(&self.path("lock"), Duration::from_secs(30)).unwrap());
        self.runtime.block_on(Supervisor::start(Path::new(BINARY), &self.path("lock"))).unwrap()
    }

    fn attempt(&self, argv: &[&str]) -> Attempt {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Attempt {
            key: format!("test-{}-{count}", std::process::id()),
            argv: argv.iter().map(Into::into).collect(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            cwd: self.directory.path().to_owned(),
            stdin: Stdin::Nothing,
            wall: Some(Duration::from_secs(60)),
            idle: None,
            grace: Duration::from_secs(5),
            stdout: self.path("stdout"),
            stderr: self.path("stderr"),
            bytes_max: 1 << 20,
            secrets: Vec::new(),
        }
    }

    fn shell(&self, script: &str) -> Attempt {
        self.attempt(&["sh", "-c", script])
    }

    fn run(&self, supervisor: &mut Supervisor, attempt: &Attempt) -> Ended {
        self.runtime.block_on(supervisor.run(attempt, pending())).unwrap()
    }

    fn stop_after(&self, time: Duration, supervisor: &mut Supervisor, attempt: &Attempt) -> Ended {
        let run = async { supervisor.run(attempt, tokio::time::sleep(time)).await };
        self.runtime.block_on(run).unwrap()
    }

    /// Runs one attempt under a supervisor of its own.
    fn once(&self, attempt: &Attempt) -> Ended {
        self.run(&mut self.supervisor(), attempt)
    }
}

/// Whether the process whose number a script wrote into the file is alive.
fn alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else { return false };
    !stat.rsplit_once(") ").unwrap().1.starts_with('Z')
}

fn until(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

#[test]
fn an_attempt_ends_as_its_process_did() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    for (script, expected) in [
        ("true", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("exit 255", Exit::Code(255)),
        ("kill -TERM $$", Exit::Signal(15)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -SEGV $$", Exit::Signal(11)),
    ] {
        let ended = scene.run(&mut supervisor, &scene.shell(script));
        assert_eq!((ended.why, ended.exit), (Why::Exited, Some(expected)), "{script}");
        assert_eq!(ended.survivors, [0; 0], "{script}");
    }
}

#[test]
fn output_comes_in_order_and_each_stream_by_itself() {
    let scene = Scene::new();
    let ended = scene.once(&scene.shell("for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf end"));
    assert_eq!(scene.read("stdout"), "out 1\nout 2\nout 3\nend");
    assert_eq!(scene.read("stderr"), "err 1\nerr 2\nerr 3\n");
    assert_eq!((ended.stdout.bytes, ended.stderr.bytes), (21, 18));
    assert!(!ended.stdout.truncated && ended.stdout.failed.is_none());
    let mode = fs::metadata(scene.path("stdout")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others may read it");
}

#[test]
fn an_attempt_has_just_what_it_was_given() {
    let scene = Scene::new();
    let mut attempt = scene.attempt(&["/usr/bin/env"]);
    attempt.env = vec![("A".into(), "b\nc".into()), ("CHECKREIN_ATTEMPT".into(), "forged".into())];
    scene.once(&attempt);
    assert_eq!(scene.read("stdout"), format!("A=b\nc\nCHECKREIN_ATTEMPT={}\n", attempt.key));

    scene.once(&scene.shell("pwd -P; ps -o tpgid= $$; readlink /proc/$$/fd/*; true </dev/tty"));
    let printed = scene.read("stdout");
    let mut lines = printed.lines();
    let here = fs::canonicalize(scene.directory.path()).unwrap();
    assert_eq!(lines.next(), here.to_str());
    assert_eq!(lines.next().map(str::trim), Some("-1"), "it has a terminal");
    let lock = here.join("lock");
    assert!(!lines.any(|opened| Path::new(opened) == lock), "it keeps the lock: {printed}");
    assert!(scene.read("stderr").contains("/dev/tty"), "{}", scene.read("stderr"));
}

#[test]
fn input_comes_from_a_text_or_a_file_or_is_empty() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    let long = "0123456789".repeat(300_000);
    fs::write(scene.path("input"), "from a file").unwrap();
    for (stdin, expected) in [
        (Stdin::Nothing, ""),
        (Stdin::Text("two\nlines".to_owned()), "two\nlines"),
        (Stdin::Text(long.clone()), &long),
        (Stdin::File(scene.path("input")), "from a file"),
    ] {
        let attempt = Attempt { stdin, bytes_max: 8 << 20, ..scene.attempt(&["cat"]) };
        scene.run(&mut supervisor, &attempt);
        assert!(scene.read("stdout") == expected);
        // Nobody has to read it.
        let attempt = Attempt { argv: vec!["true".into()], ..attempt };
        assert_eq!(scene.run(&mut supervisor, &attempt).exit, Some(Exit::Code(0)));
    }
}

#[test]
fn what_cannot_be_started_says_why_and_the_next_one_can() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    fs::write(scene.path("plain"), "no program").unwrap();
    let reasons = [
        (scene.attempt(&["no-such-program"]), "`no-such-program` cannot be run: No such file"),
        (scene.attempt(&["./plain"]), "`./plain` cannot be run: Permission denied"),
        (scene.attempt(&[]), "there is no program to run"),
        (scene.attempt(&["a\0b"]), "cannot be run: nul byte"),
        (
            Attempt { cwd: scene.path("gone"), ..scene.attempt(&["true"]) },
            "/gone` cannot be used: No such file",
        ),
        (Attempt { cwd: scene.path("plain"), ..scene.attempt(&["true"]) }, "/plain` is none"),
        (
            Attempt { stdin: Stdin::File(scene.path("gone")), ..scene.attempt(&["true"]) },
            "/gone` cannot be read: No such file",
        ),
        (
            Attempt { stdout: scene.path("gone/stdout"), ..scene.attempt(&["true"]) },
            "/gone/stdout` cannot be written: No such file",
        ),
    ];
    for (attempt, expected) in reasons {
        let ended = scene.run(&mut supervisor, &attempt);
        let Why::SpawnFailed { reason } = &ended.why else { panic!("{expected}: {ended:?}") };
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(ended.exit, None);
    }
    assert_eq!(scene.run(&mut supervisor, &scene.attempt(&["true"])).exit, Some(Exit::Code(0)));
}

#[test]
fn a_hundred_megabytes_are_quick_and_stay_small() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    // The supervisor is the parent of the attempt, which looks at its peak.
    let script = "echo begin; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end; \
                  grep VmHWM /proc/$PPID/status >&2";
    let began = Instant::now();
    let secrets = vec!["hunter2".to_owned(), "xylophone".to_owned()];
    let attempt = Attempt { bytes_max: 16 << 20, secrets, ..scene.shell(script) };
    let ended = scene.run(&mut supervisor, &attempt);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!((ended.exit, ended.stdout.bytes), (Some(Exit::Code(0)), 100_000_011));
    assert!(ended.stdout.truncated && !ended.stderr.truncated);
    let kept = scene.read("stdout");
    let left_out = 100_000_011 - (16 << 20);
    let (head, tail) = kept.split_once(&format!("\n… {left_out} bytes left out …\n")).unwrap();
    assert_eq!((head.len(), tail.len()), (8 << 20, 8 << 20));
    assert!(head.starts_with("begin\nxx") && tail.ends_with("xx\nend\n"));
    let peak = scene.read("stderr");
    let peak_kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak_kib < 64 << 10, "{peak}");
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let scene = Scene::new();
    scene.once(&scene.shell(r"printf 'a\377\376\n\000b\200'"));
    assert_eq!(fs::read(scene.path("stdout")).unwrap(), b"a\xff\xfe\n\0b\x80");
    assert_eq!(last_line(&scene.path("stdout")).unwrap(), "\0b\u{fffd}");
}

#[test]
fn secrets_do_not_show_however_they_are_cut() {
    let scene = Scene::new();
    let secrets = vec!["hunter2".to_owned(), "hunter2-and-more".to_owned(), "abc".to_owned()];
    let script = "printf 'x hun'; sleep 0.05; printf 'ter2'; sleep 0.05; printf -- '-and-more y abc\n'; \
                  printf hunte; printf 'hunter2' >&2";
    scene.once(&Attempt { secrets, ..scene.shell(script) });
    assert_eq!(scene.read("stdout"), "x *** y abc\nhunte");
    assert_eq!(scene.read("stderr"), "***");
}

#[test]
fn time_is_up() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    let limit = |ms| Some(Duration::from_millis(ms));
    for (script, wall, idle, grace_ms, why, exit, at_least_ms) in [
        ("sleep 60", limit(100), None, 5_000, Why::WallTimeout, Exit::Signal(15), 100),
        ("sleep 60", None, limit(100), 5_000, Why::IdleTimeout, Exit::Signal(15), 100),
        (
            "while :; do echo .; sleep 0.02; done",
            limit(300),
            limit(150),
            5_000,
            Why::WallTimeout,
            Exit::Signal(15),
            300,
        ),
        (
            "while :; do echo . >&2; sleep 0.02; done",
            limit(300),
            limit(150),
            5_000,
            Why::WallTimeout,
            Exit::Signal(15),
            300,
        ),
        (
            "echo a; sleep 0.1; echo b; sleep 60",
            limit(9_000),
            limit(250),
            5_000,
            Why::IdleTimeout,
            Exit::Signal(15),
            350,
        ),
        (
            "trap 'exit 3' TERM; sleep 60 & wait",
            limit(100),
            None,
            5_000,
            Why::WallTimeout,
            Exit::Code(3),
            100,
        ),
        (
            "trap '' TERM; while :; do sleep 60; done",
            limit(100),
            None,
            200,
            Why::WallTimeout,
            Exit::Signal(9),
            300,
        ),
        ("yes", limit(200), None, 5_000, Why::WallTimeout, Exit::Signal(15), 200),
        ("exec >&- 2>&-; sleep 0.3; exit 4", limit(9_000), None, 5_000, Why::Exited, Exit::Code(4), 300),
    ] {
        let grace = Duration::from_millis(grace_ms);
        let attempt = Attempt { wall, idle, grace, bytes_max: 4096, ..scene.shell(script) };
        let began = Instant::now();
        let ended = scene.run(&mut supervisor, &attempt);
        let took = began.elapsed();
        assert_eq!((ended.why, ended.exit), (why, Some(exit)), "{script}");
        assert!(took >= Duration::from_millis(at_least_ms), "{script}: {took:?}");
        assert!(took < Duration::from_millis(at_least_ms) + Duration::from_secs(10), "{script}: {took:?}");
    }
}

#[test]
fn a_stop_ends_it() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    for (script, grace_ms, exit) in [
        ("sleep 60", 5_000, Exit::Signal(15)),
        ("trap 'echo bye; exit 0' TERM; sleep 60 & wait", 5_000, Exit::Code(0)),
        ("trap '' TERM; while :; do sleep 60; done", 100, Exit::Signal(9)),
    ] {
        let attempt = Attempt { grace: Duration::from_millis(grace_ms), ..scene.shell(script) };
        let ended = scene.stop_after(Duration::from_millis(100), &mut supervisor, &attempt);
        assert_eq!((ended.why, ended.exit), (Why::Stopped, Some(exit)), "{script}");
    }
    // One that comes too late stops nothing that begins after it.
    let attempt = scene.shell("sleep 0.05");
    for _ in 0..20 {
        scene.stop_after(Duration::from_millis(50), &mut supervisor, &attempt);
        assert_eq!(scene.run(&mut supervisor, &attempt).why, Why::Exited);
    }
}

#[test]
fn an_attempt_nobody_waits_for_ends_before_the_next() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    scene.runtime.block_on(async {
        let attempt = scene.shell("echo $$ >pid; sleep 60");
        let short = Duration::from_millis(200);
        assert!(tokio::time::timeout(short, supervisor.run(&attempt, pending())).await.is_err());
    });
    assert!(alive(&scene.path("pid")));
    let ended = scene.run(&mut supervisor, &scene.shell("kill -0 $(cat pid)"));
    assert_eq!(ended.exit, Some(Exit::Code(1)), "the one before is still there");
}

#[test]
fn nothing_stays_behind() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    for script in [
        "sleep 60 & echo $! >pid",
        "(trap '' TERM; echo >ready; exec sleep 60) & echo $! >pid; until [ -s ready ]; do sleep 0.01; done",
        "setsid sh -c 'echo $$ >pid; exec sleep 60' & until [ -s pid ]; do sleep 0.01; done",
        // Twice away from its parents, in a session of its own, with all streams closed.
        "(setsid sh -c 'sh -c \"echo \\$\\$ >pid; exec sleep 60\" & exit' >&- 2>&- &); \
         until [ -s pid ]; do sleep 0.01; done",
        // In another group without a session of its own.
        "set -m; sleep 60 & echo $! >pid",
        // Stopped, so that it cannot hear.
        "sleep 60 & echo $! >pid; kill -STOP $!",
        "nohup env -i sleep 60 >/dev/null 2>&1 & echo $! >pid",
    ] {
        let _ = fs::remove_file(scene.path("pid"));
        let began = Instant::now();
        let ended = scene.run(&mut supervisor, &scene.shell(script));
        assert!(!alive(&scene.path("pid")), "{script}");
        assert_eq!((ended.why, ended.exit), (Why::Exited, Some(Exit::Code(0))), "{script}");
        assert_eq!(ended.survivors, [0; 0]);
        assert!(began.elapsed() < Duration::from_secs(10), "{script}: {:?}", began.elapsed());
    }
    // It forks faster than one can look.
    let script = "run() { (sleep 0.001; run) & }; trap '' TERM; run; sleep 0.2";
    assert_eq!(scene.run(&mut supervisor, &scene.shell(script)).survivors, [0; 0]);
}

#[test]
fn a_thousand_in_a_row_leave_nothing_and_cost_little() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    let look = scene.shell("echo $PPID; ls /proc/$PPID/fd | wc -l; grep VmRSS /proc/$PPID/status");
    let seen = |supervisor: &mut Supervisor| {
        scene.run(supervisor, &look);
        let text = scene.read("stdout");
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (numbers[0], numbers[1], numbers[2])
    };
    let (pid, descriptors, memory) = seen(&mut supervisor);
    let own = fs::read_dir("/proc/self/fd").unwrap().count();
    let attempt = scene.attempt(&["true"]);
    let began = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(scene.run(&mut supervisor, &attempt).exit, Some(Exit::Code(0)));
    }
    let under_supervisor = began.elapsed();
    let began = Instant::now();
    for _ in 0..1_000 {
        assert!(Command::new("true").stdin(Stdio::null()).status().unwrap().success());
    }
    println!("1,000 x true: {under_supervisor:?}, bare {:?}", began.elapsed());
    let (same, descriptors_after, memory_after) = seen(&mut supervisor);
    assert_eq!(same, pid);
    // At the moment of a look one or the other may be about to be closed.
    assert!(descriptors_after < descriptors + 10, "{descriptors} became {descriptors_after}");
    assert!(memory_after < memory + 1024, "{memory} kB became {memory_after} kB");
    let tasks = format!("/proc/{pid}/task/{pid}/children");
    assert_eq!(fs::read_to_string(tasks).unwrap().trim(), "", "zombies");
    // Other tests of this process open and close theirs.
    let own_after = fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(own_after < own + 200, "{own} descriptors became {own_after}");
}

/// A supervisor at the end of a wire, for an engine that dies.
struct Wire {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Wire {
    fn new(lock: &Path) -> Wire {
        let mut command = Command::new(BINARY);
        command.arg("__supervise").arg(lock).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let requests = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Wire { child, requests, replies }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.requests.as_ref().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

/// A run request as it goes over the wire.
fn request(scene: &Scene, script: &str) -> String {
    let attempt = scene.shell(script);
    json!({"run": {
        "key": attempt.key,
        "argv": ["sh", "-c", script],
        "env": [["PATH", "/usr/bin:/bin"]],
        "cwd": attempt.cwd,
        "stdin": "nothing",
        "wall_ms": null,
        "idle_ms": null,
        "grace_ms": 60_000,
        "stdout": attempt.stdout,
        "stderr": attempt.stderr,
        "bytes_max": 4096,
        "secrets": [],
    }})
    .to_string()
}

#[test]
fn the_protocol_is_lines_of_json() {
    let scene = Scene::new();
    let mut wire = Wire::new(&scene.path("lock"));
    assert_eq!(wire.hear(), json!("ready"));
    wire.say(&request(&scene, "echo $$; exit 3"));
    let started = wire.hear();
    let mut ended = wire.hear();
    assert!(ended["ended"]["duration_ms"].take().is_u64());
    let bytes = scene.read("stdout").len();
    assert_eq!(
        ended,
        json!({"ended": {
            "why": "exited",
            "exit": {"code": 3},
            "duration_ms": null,
            "stdout": {"bytes": bytes, "truncated": false, "failed": null},
            "stderr": {"bytes": 0, "truncated": false, "failed": null},
            "survivors": [],
        }})
    );
    assert_eq!(started, json!({"started": {"pid": scene.read("stdout").trim().parse::<i32>().unwrap()}}));
    wire.requests = None;
    assert!(wire.child.wait().unwrap().success());
}

#[test]
fn when_the_engine_dies_everything_ends_and_the_lock_is_free() {
    let scene = Scene::new();
    let lock = scene.path("lock");
    let script = "trap '' TERM; echo $$ >main; setsid sh -c 'trap \"\" TERM; echo $$ >away; sleep 60; sleep 60' & \
                  echo before; while :; do sleep 60; done";
    // It closes its end as a process that is killed does, or it is no engine at all.
    for nonsense in [None, Some("{\"run\": 7}"), Some(request(&scene, "true").as_str())] {
        for file in ["main", "away"] {
            let _ = fs::remove_file(scene.path(file));
        }
        let mut wire = Wire::new(&lock);
        assert_eq!(wire.hear(), json!("ready"));
        wire.say(&request(&scene, script));
        let there = |name: &str| fs::read_to_string(scene.path(name)).is_ok_and(|pid| pid.ends_with('\n'));
        until("the start", || there("main") && there("away"));
        let refused = wait_for_lock(&lock, Duration::ZERO).unwrap_err();
        assert!(matches!(refused, ProcessError::Locked { .. }), "{refused}");
        let second = scene.runtime.block_on(Supervisor::start(Path::new(BINARY), &lock));
        assert!(matches!(second, Err(ProcessError::Locked { .. })));

        match nonsense {
            Some(nonsense) => wire.say(nonsense),
            None => wire.requests = None,
        }
        let died = Instant::now();
        wait_for_lock(&lock, Duration::from_secs(2)).unwrap();
        assert!(!alive(&scene.path("main")) && !alive(&scene.path("away")), "{:?}", died.elapsed());
        assert!(wire.child.wait().unwrap().success());
        assert_eq!(scene.read("stdout"), "before\n");
    }
}

#[test]
fn an_engine_that_is_killed_takes_its_attempt_along() {
    let scene = Scene::new();
    // The shell is the engine: it holds the other end of the wire.
    fs::write(scene.path("request"), request(&scene, "echo $$ >main; exec sleep 60") + "\n").unwrap();
    let script = format!("(cat request; exec sleep 60) | {BINARY} __supervise lock");
    let mut engine = Command::new("sh");
    engine.args(["-c", &script]).current_dir(scene.directory.path()).stdout(Stdio::null());
    let mut engine = std::os::unix::process::CommandExt::process_group(&mut engine, 0).spawn().unwrap();
    until("the start", || fs::read_to_string(scene.path("main")).is_ok_and(|pid| pid.ends_with('\n')));
    // As the terminal does it: the whole group. The supervisor is in another one.
    let group = rustix::process::Pid::from_child(&engine);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    engine.wait().unwrap();
    wait_for_lock(&scene.path("lock"), Duration::from_secs(2)).unwrap();
    assert!(!alive(&scene.path("main")));
}

#[test]
fn when_the_supervisor_dies_the_client_cleans_up() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    let script = "echo $$ >main; setsid sh -c 'trap \"\" TERM; echo $$ >away; sleep 60; sleep 60' & \
                  until [ -s away ]; do sleep 0.01; done; kill -KILL $PPID; sleep 60";
    let attempt = scene.shell(script);
    let gone = scene.runtime.block_on(supervisor.run(&attempt, pending())).unwrap_err();
    assert!(matches!(gone, ProcessError::SupervisorGone { ended } if ended >= 3), "{gone}");
    assert!(!alive(&scene.path("main")) && !alive(&scene.path("away")));
    assert_eq!(end_leftovers(&attempt.key, Duration::ZERO).unwrap(), 0);
    let again = scene.runtime.block_on(supervisor.run(&attempt, pending())).unwrap_err();
    assert!(matches!(again, ProcessError::SupervisorGone { ended: 0 }), "{again}");
    // A new one can begin at once.
    assert_eq!(scene.once(&scene.shell("true")).exit, Some(Exit::Code(0)));
}

#[test]
fn a_supervisor_that_cannot_start_says_why() {
    let scene = Scene::new();
    for (program, lock, expected) in [
        ("/no/such/program", "lock", "`/no/such/program` cannot be started as a supervisor: No such file"),
        ("/bin/true", "lock", "`/bin/true` cannot be started as a supervisor: unexpected end of file"),
        (BINARY, "no/such/lock", "the supervisor refused: `"),
    ] {
        let lock = scene.path(lock);
        let started = scene.runtime.block_on(Supervisor::start(Path::new(program), &lock));
        let error = started.err().unwrap().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_supervisor_that_is_dropped_goes_away() {
    let scene = Scene::new();
    let mut supervisor = scene.supervisor();
    scene.run(&mut supervisor, &scene.shell("echo $PPID >pid"));
    drop(supervisor);
    wait_for_lock(&scene.path("lock"), Duration::from_secs(2)).unwrap();
    let pid = scene.read("pid");
    let gone = format!("/proc/{}", pid.trim());
    until("its end", || !Path::new(&gone).exists());
}

#[test]
fn an_engine_that_stands_still_is_taken_for_dead() {
    let scene = Scene::new();
    let lock = scene.path("lock");
    let start = |silent: Duration| {
        let started = Supervisor::start_for(Path::new(BINARY), &lock, Some(silent));
        scene.runtime.block_on(started).unwrap()
    };
    // It says nothing, and asks for nothing.
    let idle = start(Duration::from_millis(300));
    drop(wait_for_lock(&lock, Duration::from_secs(60)).unwrap());
    drop(idle);
    // It has something done, and says nothing.
    let mut busy = start(Duration::from_secs(1));
    let ended = scene.runtime.block_on(busy.run(&scene.shell("sleep 600"), pending()));
    drop(wait_for_lock(&lock, Duration::from_secs(60)).unwrap());
    assert!(!matches!(&ended, Ok(ended) if ended.why == Why::Exited), "{ended:?}");
    // It says that it is there.
    let mut alive = start(Duration::from_secs(4));
    let pulse = alive.pulse();
    let beating = thread::spawn(move || {
        while pulse.is_heard() {
            pulse.beat(Duration::from_secs(60));
            thread::sleep(Duration::from_millis(50));
        }
    });
    let ended = scene.run(&mut alive, &scene.shell("sleep 5"));
    assert_eq!(ended.why, Why::Exited);
    drop(alive);
    beating.join().unwrap();
}
