//! Calls of the kernel that are refused inside, and those that are not.

use super::{Room, finish, users};

/// Makes calls and says what came of each, as `RESULT ERROR`.
fn calls(room: &Room, numbers: &[(i64, &[i64])]) -> Vec<String> {
    let listed: Vec<String> = numbers
        .iter()
        .map(|(number, arguments)| {
            let words: Vec<String> = arguments.iter().map(i64::to_string).collect();
            format!("({number}, [{}])", words.join(", "))
        })
        .collect();
    let script = format!(
        "python3 -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
c.syscall.restype = ctypes.c_long
for number, words in [{}]:
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) for word in words + [0] * (6 - len(words))]
    print(c.syscall(ctypes.c_long(number), *words), ctypes.get_errno(), flush=True)
'",
        listed.join(", ")
    );
    room.run(&script).good().lines().map(str::to_owned).collect()
}

#[test]
fn what_reaches_past_the_sandbox_is_refused() {
    const NEW_USER: i64 = libc::CLONE_NEWUSER as i64;
    let refused: &[(i64, &[i64])] = &[
        (libc::SYS_keyctl, &[0, -3, 0]),
        (libc::SYS_add_key, &[]),
        (libc::SYS_request_key, &[]),
        (libc::SYS_io_uring_setup, &[1]),
        (libc::SYS_io_uring_enter, &[]),
        (libc::SYS_io_uring_register, &[]),
        (libc::SYS_bpf, &[]),
        (libc::SYS_perf_event_open, &[]),
        (libc::SYS_userfaultfd, &[1]),
        (libc::SYS_ptrace, &[0]),
        (libc::SYS_process_vm_readv, &[1]),
        (libc::SYS_process_vm_writev, &[1]),
        (libc::SYS_kcmp, &[1, 1]),
        (libc::SYS_pidfd_getfd, &[-1]),
        (libc::SYS_mount, &[]),
        (libc::SYS_umount2, &[]),
        (libc::SYS_pivot_root, &[]),
        (libc::SYS_open_tree, &[-1]),
        (467, &[-1]),
        (libc::SYS_move_mount, &[-1]),
        (libc::SYS_fsopen, &[]),
        (libc::SYS_fsconfig, &[-1]),
        (libc::SYS_fsmount, &[-1]),
        (libc::SYS_fspick, &[-1]),
        (libc::SYS_mount_setattr, &[-1]),
        (libc::SYS_open_by_handle_at, &[-1]),
        (libc::SYS_setns, &[-1]),
        (libc::SYS_unshare, &[NEW_USER]),
        (libc::SYS_unshare, &[NEW_USER | 0x0002_0000]),
        (libc::SYS_clone, &[NEW_USER | 17]),
        (libc::SYS_clone, &[(1 << 40) | NEW_USER | 17]),
        (libc::SYS_ioctl, &[0, 0x5412]),
        (libc::SYS_ioctl, &[0, (1 << 32) | 0x541c]),
        (libc::SYS_socket, &[40, 1]),
        (libc::SYS_socket, &[38, 5]),
        // By the calls of x32, which a kernel that lacks them says it lacks.
        (0x4000_0000 + libc::SYS_getpid, &[]),
        (0x4000_0000 + libc::SYS_keyctl, &[0, -3, 0]),
    ];
    for user in users() {
        let room = Room::new(*user);
        for (seen, (number, arguments)) in calls(&room, refused).iter().zip(refused) {
            assert_eq!(seen, "-1 1", "{user:?} {number} {arguments:?}");
        }
        let allowed: &[(i64, &[i64])] =
            &[(libc::SYS_unshare, &[0x400]), (libc::SYS_socket, &[1, 1]), (libc::SYS_getppid, &[])];
        for (seen, (number, _)) in calls(&room, allowed).iter().zip(allowed) {
            assert!(seen.ends_with(" 0") && !seen.starts_with('-'), "{user:?} {number}: {seen}");
        }
        // Whoever finds it missing does without.
        assert_eq!(calls(&room, &[(libc::SYS_clone3, &[])]), ["-1 38"]);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_another_architecture_end_the_process() {
    for user in users() {
        let room = Room::new(*user);
        let ended = room.run(
            "exec python3 -c '
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex(\"b814000000cd80c3\"))
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(\"called\", ctypes.CFUNCTYPE(ctypes.c_int)(at)())
'",
        );
        // A kernel that has no such calls ends it by itself.
        assert!(matches!(ended.signal, Some(libc::SIGSYS | libc::SIGSEGV)), "{}", ended.seen());
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn programs_start_threads_and_children_as_ever() {
    for user in users() {
        let room = Room::new(*user);
        let seen = room.run(
            "python3 -c '
import subprocess, threading
threads = [threading.Thread(target=subprocess.check_call, args=([\"true\"],)) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(\"done\")
'",
        );
        assert_eq!(seen.good(), "done\n");
    }
}

/// A key of the session that only those in the session can see.
const WITH_KEY: &str = r#"exec python3 -c '
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
call = lambda *words: c.syscall(*words)
assert call(int(sys.argv[1]), 1, None) >= 0
key = call(int(sys.argv[2]), b"user", b"checkrein-key-of-the-session", b"secret", 6, -3)
assert key >= 0 and call(int(sys.argv[1]), 5, key, 0x3f000000) == 0
os.execvp(sys.argv[3], sys.argv[3:])
' "$@""#;

#[test]
fn keys_of_the_session_stay_outside() {
    for user in users() {
        let room = Room::new(*user);
        let look = |argv: Vec<std::ffi::OsString>| {
            let calls = [libc::SYS_keyctl.to_string().into(), libc::SYS_add_key.to_string().into()];
            let outer = ["sh".into(), "-c".into(), WITH_KEY.into(), "sh".into()].into_iter().chain(calls);
            let all: Vec<std::ffi::OsString> = outer.chain(argv).collect();
            finish(room.command(&all).spawn().unwrap())
        };
        let script = ["sh", "-c", "cat /proc/keys"].map(Into::into);
        let outside = look(script.to_vec());
        assert!(outside.good().contains("checkrein-key-of-the-session"), "{}", outside.seen());
        let inside = look(room.sandbox().wrap(&room.path("bin/checkrein"), &script));
        assert!(!inside.good().contains("checkrein-key-of-the-session"), "{}", inside.seen());
    }
}
