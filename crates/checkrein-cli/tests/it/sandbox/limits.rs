//! How much memory and how many processes a command may have.

use std::fs;
use std::path::Path;

use checkrein_engine::process::{Limits, ProcessLimit, Sandbox, sandbox_available};

use super::{Ended, Room, finish, users};
use crate::place::BINARY;

fn run(room: &Room, limits: Limits, script: &str) -> Ended {
    finish(room.in_sandbox(&Sandbox { limits, ..room.sandbox() }, script).spawn().unwrap())
}

#[test]
fn memory_is_limited() {
    let limits = Limits { memory_bytes: 512 << 20, ..Limits::default() };
    for user in users() {
        let room = Room::new(*user);
        let take = |bytes: u64| format!("python3 -c 'x = b\"x\" * {bytes}; print(len(x))'");
        assert_eq!(run(&room, limits, &take(64 << 20)).good(), format!("{}\n", 64 << 20));
        let refused = run(&room, limits, &take(1 << 30));
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{}", refused.seen());
        run(&room, Limits::default(), &take(1 << 30)).good();
        // A limit that is lower already stays.
        let argv = Sandbox { limits, ..room.sandbox() }
            .wrap(&room.path("bin/checkrein"), &["sh".into(), "-c".into(), "ulimit -H -d".into()]);
        let lower = ["sh", "-c", "ulimit -d 262144; exec \"$@\"", "sh"].map(Into::into);
        let lowered: Vec<std::ffi::OsString> = lower.into_iter().chain(argv).collect();
        let lowered = finish(room.command(&lowered).spawn().unwrap());
        assert_eq!(lowered.good(), "262144\n", "{user:?}");
        // Nobody raises it again.
        let raised = run(&room, limits, "ulimit -d unlimited");
        assert!(raised.code != Some(0), "{}", raised.seen());
    }
}

#[test]
fn what_is_kept_in_memory_is_limited() {
    let total = fs::read_to_string("/proc/meminfo").unwrap();
    let total: u64 = total.split_whitespace().nth(1).unwrap().parse().unwrap();
    for user in users() {
        let room = Room::new(*user);
        for path in ["/tmp", "/var/tmp", "/dev/shm"] {
            let seen = room.run(&format!("df -k --output=size {path} | tail -n 1"));
            let size: u64 = seen.good().trim().parse().unwrap();
            // Give or take a page.
            assert!(size <= total / 4 + 64, "{path}: {size} of {total}");
        }
    }
}

#[test]
fn processes_are_limited_and_the_machine_is_left_alone() {
    let setting = Path::new("/proc/sys/kernel/pid_max");
    let before = fs::read_to_string(setting).unwrap();
    let limits = Limits { processes: 320, ..Limits::default() };
    let limited = sandbox_available(Path::new(BINARY)).unwrap().limits.processes;
    for user in users() {
        let room = Room::new(*user);
        let many = "i=0; while [ $i -lt 500 ]; do sleep 60 & i=$((i + 1)); done 2>&1; echo all";
        let ended = run(&room, limits, many);
        // What is not limited is said to be so.
        let expected = *user == super::User::Own && limited == ProcessLimit::None;
        assert_eq!(ended.stdout.ends_with("all\n"), expected, "{user:?} {limited:?}: {}", ended.seen());
        run(&room, limits, "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; wait").good();
    }
    assert_eq!(fs::read_to_string(setting).unwrap(), before);
}
