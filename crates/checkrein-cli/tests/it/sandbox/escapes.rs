//! What a hostile command tries to see what is masked: with all walls, and with the mounts alone.

use checkrein_engine::process::{Landlock, Sandbox};

use super::refused::{Answer, without};
use super::{Ended, Room, SECRET, finish, landlock, users};

/// Which walls there are.
#[derive(Clone, Copy, Debug)]
enum Walls {
    All,
    /// As on a kernel that has no Landlock.
    Mounts,
}

/// What is shown at the end of each attempt, wherever it may have got it: the store of the room, below `m` too.
const LOOK: &str = "cat $STORE/store.db $STORE/runs/1/stdout ~/.netrc ~/.ssh/id m/store.db m/store/store.db \
                    m$STORE/store.db m${ROOM#/tmp}/store/store.db m/home/.netrc m/home/.ssh/id";

fn run(room: &Room, sandbox: &Sandbox, walls: Walls, script: &str) -> Ended {
    let mut command = room.in_sandbox(sandbox, script);
    match walls {
        Walls::All => finish(command.spawn().unwrap()),
        Walls::Mounts => without(libc::SYS_landlock_create_ruleset, Answer::NotThere, move || {
            finish(command.spawn().unwrap())
        }),
    }
}

#[test]
fn nothing_takes_a_mask_away() {
    for user in users() {
        for walls in [Walls::All, Walls::Mounts] {
            let room = Room::new(*user);
            let inside = |script: &str| {
                let ended = run(&room, &room.sandbox(), walls, &format!("mkdir -p m u w; {script}"));
                assert!(!ended.seen().contains(SECRET), "{user:?} {walls:?} {script}: {}", ended.seen());
                ended
            };
            for attempt in [
                "umount $STORE; umount -l $STORE; umount ~",
                "mount -t tmpfs none m; mount --bind $ROOM m; mount -o remount,rw,bind $STORE",
                "mount -t proc none /proc; mount -o remount,rw /",
                "nsenter -t 1 -a sh -c 'cat $STORE/store.db'; nsenter --mount=/proc/1/ns/mnt cat $STORE/store.db",
                "chroot /proc/1/root cat $STORE/store.db; chroot . /bin/cat $STORE/store.db",
                "mknod d b 254 0 && cat d; mknod d b 8 0 && cat d; cat /dev/vda /dev/sda /dev/nvme0n1 /dev/mem",
                "sudo -n cat $STORE/store.db; su -c 'cat $STORE/store.db' < /dev/null",
                "unshare -m umount $STORE; unshare -p -f --mount-proc true",
            ] {
                inside(&format!("{attempt}; {LOOK}"));
            }
            // Who could make a user namespace might mount in it, and all that was mounted before would be locked.
            for attempt in [
                "umount $STORE; umount -l $STORE; umount -l ~; umount -l $ROOM; umount -l /tmp; umount -R /tmp",
                "mount --bind $ROOM m; mount --bind /tmp m; mount --bind / m",
                "mount --rbind $ROOM m; umount -l m/store; umount -l m/home; umount m/store",
                "mount --rbind / m; umount -R m$ROOM; umount -l m/tmp",
                "mount --move $STORE m; mount --move $ROOM m",
                "mount -t overlay -o lowerdir=$ROOM,upperdir=u,workdir=w,userxattr none m",
                "mount -t overlay -o lowerdir=/tmp:/usr,userxattr none m",
                "mount -t proc none m; cat m/1/root$STORE/store.db",
                "mount -t sysfs none m; mount -t tmpfs none m; cd m; pivot_root . .",
                "mount -o remount,bind,rw $STORE; mount -o remount,bind,rw /; : > /etc/written-inside",
                "mount --make-rshared /; umount $STORE",
            ] {
                inside(&format!(
                    "unshare -U --keep-caps -mpf --propagation unchanged sh -c '{attempt}; {LOOK}'"
                ));
                inside(&format!("unshare -Ur -mpf --propagation unchanged sh -c '{attempt}; {LOOK}'"));
            }
            assert!(!std::path::Path::new("/etc/written-inside").exists());
            // There is no such namespace to begin with.
            let refused = inside("unshare -U --keep-caps -mpf --propagation unchanged mount -t tmpfs none m");
            assert!(refused.code != Some(0), "{walls:?}: {}", refused.seen());
            assert!(refused.stderr.contains("Operation not permitted"), "{walls:?}: {}", refused.seen());
        }
    }
}

#[test]
fn sockets_outside_are_as_far_away_as_it_says() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    for user in users() {
        let room = Room::new(*user);
        let name = format!("checkrein-test-{}", room.mark);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let connect = format!(
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
                               connect(S, pack(\"Sa*\", AF_UNIX, \"\\0{name}\")) or die $!; print \"connected\"'"
        );
        let seen = room.run(&connect);
        if matches!(landlock(), Landlock::Scoped { .. }) {
            assert_eq!(seen.stdout, "", "{}", seen.seen());
            assert!(seen.stderr.contains("Operation not permitted"), "{}", seen.seen());
            listener.accept().unwrap_err();
        } else {
            // Then nobody claims that it cannot be.
            assert_eq!(seen.good(), "connected");
            listener.accept().unwrap();
        }
        // It is the sandbox that keeps it away.
        let reached = finish(room.command(&["sh".into(), "-c".into(), connect.into()]).spawn().unwrap());
        assert_eq!(reached.good(), "connected");
        listener.accept().unwrap();
    }
}

#[test]
fn a_socket_below_the_home_leads_nowhere() {
    use std::os::unix::net::UnixListener;

    for user in users() {
        let room = Room::new(*user);
        room.write("home/.cache/deep/down/x", "");
        let path = room.path("home/.cache/deep/down/agent.sock");
        let listener = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let connect = "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
                       connect(S, sockaddr_un(\"$ENV{HOME}/.cache/deep/down/agent.sock\")) or die $!; print \"connected\"'";
        let open = room.sandbox();
        let masked = Sandbox { socketless: vec![room.path("home")], ..open };
        let seen = finish(room.in_sandbox(&masked, connect).spawn().unwrap());
        assert_eq!(seen.stdout, "", "{}", seen.seen());
        assert!(seen.stderr.contains("No such file"), "{}", seen.seen());
        listener.accept().unwrap_err();
        // It is the mask that keeps it away, and the file beside it is there.
        assert_eq!(room.run(connect).good(), "connected");
        listener.accept().unwrap();
        finish(room.in_sandbox(&masked, "cat ~/.cache/deep/down/x").spawn().unwrap()).good();
    }
}

#[test]
fn without_landlock_it_says_so_and_still_protects() {
    for user in users() {
        let room = Room::new(*user);
        let mut probe = room.command(&[room.path("bin/checkrein").into(), "__sandbox".into(), "{}".into()]);
        probe.current_dir("/");
        let ended = without(libc::SYS_landlock_create_ruleset, Answer::NotThere, move || {
            finish(probe.spawn().unwrap())
        });
        assert!(ended.good().contains(r#""landlock":"absent""#), "{}", ended.seen());
        let sandbox = room.sandbox();
        let ended =
            run(&room, &sandbox, Walls::Mounts, "echo x > file; echo x > $REPO/x; cat $STORE/store.db");
        assert_ne!(ended.code, Some(0), "{}", ended.seen());
        assert!(!ended.seen().contains(SECRET) && !room.path("repo/x").exists(), "{}", ended.seen());
        assert_eq!(room.read("store/jobs/1/clone/file"), "x\n");
    }
}
