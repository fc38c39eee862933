//! Which processes a command sees, how it ends, and what ends with it.

use std::future::pending;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::time::Duration;

use checkrein_engine::process::{Attempt, Exit, Stdin, Supervisor, Why, is_supervised};
use rustix::process::{Pid, Signal, kill_process};

use super::{Room, User, finish, until, users};

/// Waits for the first line that the command says.
fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn sleeper(room: &Room) -> Child {
    let mut command: Command = room.command(&["sleep".into(), "1000".into()]);
    command.env("OUTSIDE", "a-process-outside").spawn().unwrap()
}

#[test]
fn it_sees_its_own_processes_and_reaches_no_others() {
    for user in users() {
        let room = Room::new(*user);
        let mut outside = sleeper(&room);
        let pid = outside.id();
        let seen = room.run(&format!(
            "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>&1 | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l; \
             kill -KILL {pid}; kill -TERM {pid}; nsenter -t {pid} -a true; gdb -p {pid} -batch; \
             trap '' TERM; kill -TERM -1; echo still here"
        ));
        assert!(!seen.seen().contains("a-process-outside"), "{}", seen.seen());
        assert!(seen.stdout.contains("still here"), "{}", seen.seen());
        let count: usize = seen.stdout.lines().rev().find_map(|line| line.parse().ok()).unwrap();
        assert!(count < 10, "{count} processes: {}", seen.seen());
        room.run("kill -KILL -1");
        assert!(outside.try_wait().unwrap().is_none(), "it was ended: {}", seen.seen());
        outside.kill().unwrap();
        outside.wait().unwrap();
    }
}

#[test]
fn the_first_process_cannot_be_looked_into_or_ended() {
    for user in users() {
        let room = Room::new(*user);
        for path in ["environ", "mem", "maps", "fd/3", "exe", "root/etc/passwd", "cwd/.", "fdinfo/0"] {
            let seen = room.run(&format!("cat /proc/1/{path} > /dev/null"));
            assert_eq!(seen.code, Some(1), "{path}: {}", seen.seen());
        }
        let seen = room
            .run("kill -KILL 1; kill -STOP 1; kill -SEGV 1; gdb -p 1 -batch -ex 'call (int)exit(0)'; exit 9");
        assert_eq!(seen.code, Some(9), "{}", seen.seen());
    }
}

#[test]
fn it_ends_as_its_command_does() {
    for user in users() {
        let room = Room::new(*user);
        for (script, code, signal) in [
            ("true", Some(0), None),
            ("exit 3", Some(3), None),
            ("exit 137", Some(137), None),
            ("exit 255", Some(255), None),
            ("kill -TERM $$", None, Some(15)),
            ("kill -KILL $$", None, Some(9)),
            ("kill -SEGV $$", None, Some(11)),
            ("kill -PIPE $$", None, Some(13)),
        ] {
            let ended = room.run(script);
            assert_eq!((ended.code, ended.signal), (code, signal), "{script}: {}", ended.seen());
        }
        for (argv, code, said) in [
            (["/no/such/program"], 127, "error: not run: `/no/such/program` cannot be run: No such file"),
            (["/etc/passwd"], 126, "error: not run: `/etc/passwd` cannot be run: Permission denied"),
        ] {
            let argv = room.sandbox().wrap(&room.path("bin/checkrein"), &argv.map(Into::into));
            let ended = finish(room.command(&argv).spawn().unwrap());
            assert_eq!(ended.code, Some(code), "{}", ended.seen());
            assert!(ended.stderr.starts_with(said), "{}", ended.seen());
        }
    }
}

#[test]
fn signals_are_passed_on() {
    for user in users() {
        let room = Room::new(*user);
        for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::USR1, "USR1")] {
            let script = format!("trap 'echo told; exit 7' {name}; echo ready; while :; do sleep 0.01; done");
            let mut child = room.in_sandbox(&room.sandbox(), &script).spawn().unwrap();
            assert_eq!(first_line(&mut child), "ready\n");
            kill_process(Pid::from_child(&child), signal).unwrap();
            let ended = finish(child);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(7), "told\n"), "{}", ended.seen());
        }
        let mut child = room.in_sandbox(&room.sandbox(), "echo ready; exec sleep 1000").spawn().unwrap();
        first_line(&mut child);
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(finish(child).signal, Some(15));
    }
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    for user in users() {
        let room = Room::new(*user);
        let script = "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000' & sleep 1000 & echo ready; read x < /dev/zero & exit 4";
        let ended = room.run(script);
        assert_eq!(ended.code, Some(4), "{}", ended.seen());
        assert_eq!(room.alive(), [0; 0]);
    }
}

#[test]
fn killing_the_sandbox_kills_everything_in_it() {
    for user in users() {
        let room = Room::new(*user);
        let script =
            "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & echo ready; sleep 1000' & wait";
        let mut child = room.in_sandbox(&room.sandbox(), script).spawn().unwrap();
        first_line(&mut child);
        assert!(room.alive().len() >= 4, "{:?}", room.alive());
        child.kill().unwrap();
        child.wait().unwrap();
        until("their end", || room.alive().is_empty());
    }
}

#[test]
fn orphans_are_collected() {
    let room = Room::new(User::Own);
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.01 &) ; done; \
                  while grep -q -e 'State:.Z' -e 'Name:.sleep' /proc/[0-9]*/status 2> /dev/null; do :; done";
    room.run(script).good();
}

#[test]
fn a_supervisor_runs_it_like_any_attempt() {
    assert!(!is_supervised());
    let room = Room::new(User::Own);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let binary = room.path("bin/checkrein");
    let attempt = |script: &str| Attempt {
        key: format!("{}-{}", room.mark, script.len()),
        argv: room.sandbox().wrap(&binary, &["sh".into(), "-c".into(), script.into()]),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("ROOM_MARK".into(), room.mark.clone().into())],
        cwd: room.path("store/jobs/1/clone"),
        stdin: Stdin::Text("to be read\n".to_owned()),
        wall: Some(Duration::from_secs(60)),
        idle: None,
        grace: Duration::from_secs(30),
        stdout: room.path("stdout"),
        stderr: room.path("stderr"),
        bytes_max: 1 << 20,
        secrets: Vec::new(),
    };
    let mut supervisor = runtime.block_on(Supervisor::start(&binary, &room.path("lock"))).unwrap();
    let ended = runtime.block_on(supervisor.run(&attempt("cat; echo done >&2; exit 5"), pending())).unwrap();
    assert_eq!((ended.why, ended.exit), (Why::Exited, Some(Exit::Code(5))));
    assert_eq!((room.read("stdout").as_str(), room.read("stderr").as_str()), ("to be read\n", "done\n"));

    let script = "trap 'echo told >> heard; exit 6' TERM; touch ready; while :; do sleep 0.01; done";
    let ready = room.path("store/jobs/1/clone/ready");
    let stop = async {
        while !ready.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = runtime.block_on(supervisor.run(&attempt(script), stop)).unwrap();
    assert_eq!((ended.why, ended.exit), (Why::Stopped, Some(Exit::Code(6))));
    assert_eq!(room.read("store/jobs/1/clone/heard"), "told\n");
    assert_eq!(room.alive(), [0; 0]);
    drop(supervisor);
}
