//! A command that cannot be protected is not run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use checkrein_engine::process::{Landlock, NOT_PROTECTED, Sandbox};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use super::{Ended, Room, User, finish, landlock, users};

/// What a kernel says that does not do something.
#[derive(Clone, Copy)]
pub enum Answer {
    NotThere,
    Forbidden,
}

/// Does the work in a thread of its own, in which the kernel refuses one call, to it and all it starts.
pub fn without<T: Send + 'static>(call: i64, answer: Answer, work: impl FnOnce() -> T + Send + 'static) -> T {
    let error = match answer {
        Answer::NotThere => libc::ENOSYS,
        Answer::Forbidden => libc::EPERM,
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(call, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(error.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    let thread = std::thread::spawn(move || {
        apply_filter(&program).unwrap();
        work()
    });
    thread.join().unwrap()
}

const SCRIPT: &str = "touch ran; echo ran";

fn not_run(room: &Room, ended: &Ended, expected: &str) {
    assert_eq!(ended.code, Some(NOT_PROTECTED.into()), "{}", ended.seen());
    assert_eq!(ended.stdout, "", "{}", ended.seen());
    assert!(ended.stderr.starts_with(expected), "expected {expected}: {}", ended.seen());
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.seen());
    assert!(!room.path("store/jobs/1/clone/ran").exists(), "{}", ended.seen());
}

#[test]
fn where_the_kernel_forbids_a_part_of_it() {
    for user in users() {
        let room = Room::new(*user);
        for (call, expected) in [
            (libc::SYS_unshare, "error: not run: the system allows no namespaces: Operation not permitted"),
            (libc::SYS_mount, "error: not run: the system allows no namespaces: Operation not permitted"),
            (libc::SYS_open_tree, "error: not run: `/dev/null` cannot be used: Operation not permitted"),
            (libc::SYS_move_mount, "error: not run: `/dev/null` cannot be put in its place: Operation not"),
            (libc::SYS_openat2, "error: not run: `"),
            (libc::SYS_capset, "error: not run: capabilities cannot be kept: Operation not permitted"),
            (libc::SYS_keyctl, "error: not run: the session keyring cannot be left: Operation not permitted"),
            (libc::SYS_prlimit64, "error: not run: memory and processes cannot be limited: Operation not"),
            (libc::SYS_seccomp, "error: not run: system calls cannot be filtered: "),
            (libc::SYS_landlock_add_rule, "error: not run: Landlock: "),
            (libc::SYS_landlock_restrict_self, "error: not run: Landlock: "),
        ] {
            if expected.ends_with("Landlock: ") && matches!(landlock(), Landlock::Absent | Landlock::TooOld) {
                continue;
            }
            let mut command = room.in_sandbox(&room.sandbox(), SCRIPT);
            let ended = without(call, Answer::Forbidden, move || finish(command.spawn().unwrap()));
            not_run(&room, &ended, expected);
        }
        // All of these were run up to where they were refused: with none of them it works.
        assert_eq!(room.run(SCRIPT).good(), "ran\n");
    }
}

#[test]
fn where_there_may_be_no_more_namespaces() {
    for user in users() {
        let room = Room::new(*user);
        let argv =
            room.sandbox().wrap(&room.path("bin/checkrein"), &["sh".into(), "-c".into(), SCRIPT.into()]);
        for (limited, keep) in [("mnt", ""), ("user", "setpriv --bounding-set=-all --inh-caps=-all")] {
            let limit = format!("echo 0 > /proc/sys/user/max_{limited}_namespaces && exec {keep} \"$@\"");
            let outer = ["unshare", "-Ur", "sh", "-c", &limit, "sh"].map(OsString::from);
            let argv: Vec<OsString> = outer.into_iter().chain(argv.iter().cloned()).collect();
            let ended = finish(room.command(&argv).spawn().unwrap());
            not_run(
                &room,
                &ended,
                "error: not run: the system allows no namespaces: No space left on device",
            );
            assert!(ended.stderr.ends_with("raise the limits in `/proc/sys/user`\n"), "{}", ended.seen());
        }
    }
}

#[test]
fn where_what_is_asked_for_cannot_be() {
    let room = Room::new(User::Own);
    let clone = room.path("store/jobs/1/clone");
    symlink(room.path("home"), clone.join("way-out")).unwrap();
    let sandbox = |writable: &[PathBuf], masked: &[PathBuf]| Sandbox {
        writable: writable.to_vec(),
        masked: [&room.sandbox().masked, masked].concat(),
        ..room.sandbox()
    };
    let hidden = Sandbox { masked: vec![room.path("")], ..Sandbox::default() };
    let shown = |path: PathBuf| path.display().to_string();
    for (sandbox, expected) in [
        (
            sandbox(&[clone.join("way-out")], &[]),
            format!("`{}` has a symbolic link in it", shown(clone.join("way-out"))),
        ),
        (
            sandbox(&[clone.join("way-out/.ssh")], &[]),
            format!("`{}` has a symbolic link in it", shown(clone.join("way-out/.ssh"))),
        ),
        (
            sandbox(&[room.path("none")], &[]),
            format!("`{}` cannot be used: No such file", shown(room.path("none"))),
        ),
        (sandbox(&[room.path("store")], &[]), format!("`{}` is to be two of", shown(room.path("store")))),
        (sandbox(&["relative".into()], &[]), "`relative` cannot be covered".to_owned()),
        (sandbox(&["/".into()], &[]), "`/` cannot be covered".to_owned()),
        (sandbox(&[], &["/".into()]), "`/` cannot be covered".to_owned()),
        (sandbox(&[], &["/tmp/../etc".into()]), "`/tmp/../etc` cannot be covered".to_owned()),
        (hidden, format!("`{}` cannot be the working directory", shown(clone.clone()))),
    ] {
        let ended = finish(room.in_sandbox(&sandbox, SCRIPT).spawn().unwrap());
        not_run(&room, &ended, &format!("error: not run: {expected}"));
    }
}

#[test]
fn where_it_was_called_wrongly() {
    // If it were not refused, who has the right to would lose the mounts of the machine.
    let room = Room::new(*users().last().unwrap());
    for arguments in [
        &["__sandbox"][..],
        &["__sandbox", "sh", "-c", SCRIPT],
        &["__sandbox", "{}", "sh", "-c", SCRIPT],
        &["__sandbox", "{}", "--"],
        &["__sandbox", "", "--", "sh", "-c", SCRIPT],
        &["__sandboxed", "{}", "--", "sh", "-c", SCRIPT],
        &["__sandboxed", r#"{"sandbox":{},"namespaces":"user","status":-1}"#, "--", "sh", "-c", SCRIPT],
        &["__sandboxed", r#"{"sandbox":{},"namespaces":"user","status":0}"#, "--", "sh", "-c", SCRIPT],
    ] {
        let binary = room.path("bin/checkrein");
        let argv: Vec<OsString> =
            std::iter::once(binary.into()).chain(arguments.iter().map(OsString::from)).collect();
        let mut command: Command = room.command(&argv);
        not_run(&room, &finish(command.spawn().unwrap()), "error: not run: ");
    }
}
