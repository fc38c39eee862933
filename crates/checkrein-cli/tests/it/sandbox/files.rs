//! What a command sees and what it can write.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use checkrein_engine::process::{Sandbox, default_masks, default_readable};

use super::{Ended, Room, SECRET, finish, until, users};

#[test]
fn what_is_masked_is_empty_and_stays_so() {
    for user in users() {
        let room = Room::new(*user);
        let seen = room
            .run("cd $STORE && ls -A; ls -A runs; cat store.db; ls -A ~/.ssh ~/.netrc ~/.config/checkrein");
        assert_eq!(
            seen.stdout,
            format!("jobs\n{0}/home/.config/checkrein:\n\n{0}/home/.ssh:\n", room.path("").display()),
            "{}",
            seen.seen()
        );
        let home = room.run("ls -A ~ ~/.config");
        for (name, there) in [(".ssh", true), (".netrc", false), (".gitconfig", true), ("other", true)] {
            assert_eq!(home.good().lines().any(|line| line == name), there, "{name}: {}", home.seen());
        }
        for name in
            ["store/x", "store/store.db", "store/jobs/x", "store/jobs/1/x", "home/.ssh/x", "home/.netrc"]
        {
            cannot_write(&room, &room.path(name).display().to_string());
        }
        assert_eq!(room.read("store/store.db"), SECRET);
    }
}

/// That it can neither be made nor opened to be changed. Nothing is written: it may be a file of the machine.
fn cannot_write(room: &Room, path: &str) {
    let tried = room.run(&format!(": >> '{path}'"));
    assert!(tried.code.is_some_and(|code| code != 0), "{path} was written: {}", tried.seen());
}

#[test]
fn what_is_writable_is_written_for_everybody() {
    for user in users() {
        let room = Room::new(*user);
        room.run("cat file; pwd; mkdir -p a/b; echo more >> file; mv file a/b/moved; ln a/b/moved a/linked")
            .good();
        assert_eq!(room.read("store/jobs/1/clone/a/b/moved"), "of the agent\nmore\n");
        assert_eq!(room.read("store/jobs/1/clone/a/linked"), "of the agent\nmore\n");
        room.run("git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm first && git gc -q").good();
    }
}

#[test]
fn nothing_else_can_be_written() {
    for user in users() {
        let room = Room::new(*user);
        for name in [
            "home/new",
            "home/.bashrc",
            "home/.gitconfig",
            "home/.config/other",
            "repo/checkrein.yaml",
            "repo/.git/config",
            "repo/.git/hooks/pre-commit",
            "bin/checkrein",
            "bin/other",
        ] {
            cannot_write(&room, &room.path(name).display().to_string());
        }
        for path in [
            "/new",
            "/etc/new",
            "/etc/passwd",
            "/usr/new",
            "/usr/bin/env",
            "/var/new",
            "/dev/new",
            "/opt/new",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
            "/proc/sysrq-trigger",
            "/sys/kernel/uevent_helper",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/fs/cgroup/new",
            "/sys/fs/cgroup/cgroup.procs",
        ] {
            cannot_write(&room, path);
        }
        for (line, what) in [
            ("rm -rf $REPO/.git ~/.gitconfig", "removed"),
            ("mv $REPO $ROOM/other", "renamed"),
            ("chmod 777 $REPO/checkrein.yaml", "made writable"),
            ("touch -d 2000-01-01 $REPO/checkrein.yaml", "dated"),
            ("ln -sf /etc/passwd $REPO/checkrein.yaml", "linked"),
            ("git -C $REPO config core.hooksPath /tmp", "configured"),
            ("git config --global core.hooksPath /tmp", "configured"),
        ] {
            let tried = room.run(line);
            assert_ne!(tried.code, Some(0), "it was {what}: {}", tried.seen());
        }
        assert_eq!(room.read("repo/.git/config"), "[user]\n");
        assert_eq!(room.read("repo/checkrein.yaml"), "autonomy: { job: guided }\n");
        assert_eq!(room.read("home/.gitconfig"), "[user]\n");
    }
}

#[test]
fn temporary_files_are_its_own() {
    for user in users() {
        let room = Room::new(*user);
        let sandbox = Sandbox { readable: Vec::new(), ..room.sandbox() };
        let script = "for d in /tmp /var/tmp /dev/shm; do echo x > $d/of-the-sandbox && ls -A $d; done";
        let seen = finish(room.in_sandbox(&sandbox, script).env("TMPDIR", "/nowhere").spawn().unwrap());
        let top = room.path("").components().nth(2).unwrap().as_os_str().to_str().unwrap().to_owned();
        let mut names: Vec<&str> = seen.good().lines().collect();
        names.sort_unstable();
        // Of the room there is the way to the clone, and the rest is not in it.
        let mut expected = vec!["of-the-sandbox", "of-the-sandbox", "of-the-sandbox"];
        if room.path("").starts_with("/tmp") {
            expected.push(&top);
            expected.sort_unstable();
        }
        assert_eq!(names, expected);
        for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
            assert!(!std::path::Path::new(directory).join("of-the-sandbox").exists());
        }
        let variable = room.in_sandbox(&sandbox, "echo [$TMPDIR]; mktemp").env("TMPDIR", "/nowhere").spawn();
        assert!(finish(variable.unwrap()).good().starts_with("[]\n/tmp/"));
    }
}

#[test]
fn links_and_paths_lead_to_nothing_that_is_masked() {
    for user in users() {
        let room = Room::new(*user);
        let clone = room.path("store/jobs/1/clone");
        symlink("../../../store.db", clone.join("relative")).unwrap();
        symlink(room.path("store"), clone.join("absolute")).unwrap();
        for path in [
            "relative",
            "absolute/store.db",
            "../../../store.db",
            "$PWD/../../../store.db",
            "/proc/self/cwd/../../../store.db",
            "/proc/self/root/$STORE/store.db",
            "/proc/1/root/$STORE/store.db",
            "/proc/1/cwd/../../../store.db",
            "/proc/self/task/self/root/$STORE/store.db",
        ] {
            hidden(&room.run(&format!(
                "cat {path}; ln -s $STORE own; cat own/store.db; rm own; ln $STORE/store.db own; cat own"
            )));
        }
        hidden(&room.run(
            "cd absolute; cat store.db; cd ..; cat store/store.db; cd /; cd $STORE; cat ../store/store.db",
        ));
    }
}

fn hidden(ended: &Ended) {
    assert!(!ended.seen().contains(SECRET), "{}", ended.seen());
    assert_ne!(ended.code, Some(0), "{}", ended.seen());
}

#[test]
fn what_a_masked_link_leads_to_is_masked() {
    for user in users() {
        let room = Room::new(*user);
        room.write("elsewhere/keys/id", SECRET);
        room.write("elsewhere/token", SECRET);
        symlink(room.path("elsewhere/keys"), room.path("home/.aws")).unwrap();
        symlink("../elsewhere/token", room.path("home/.pypirc")).unwrap();
        symlink("/nowhere", room.path("home/.kube")).unwrap();
        let mut sandbox = room.sandbox();
        sandbox.masked.extend([".aws", ".pypirc", ".kube", ".none"].map(|name| room.path("home").join(name)));
        let script =
            "ls -A $ROOM/elsewhere $ROOM/elsewhere/keys; cat ~/.aws/id ~/.pypirc $ROOM/elsewhere/token";
        let seen = finish(room.in_sandbox(&sandbox, script).spawn().unwrap());
        hidden(&seen);
        assert!(seen.stdout.contains("keys\n") && !seen.stdout.contains("token\n"), "{}", seen.seen());
    }
}

#[test]
fn a_masked_file_where_the_command_may_write_is_empty() {
    for user in users() {
        let room = Room::new(*user);
        room.write("store/jobs/1/clone/.env", SECRET);
        let mut sandbox = room.sandbox();
        sandbox.masked.push(room.path("store/jobs/1/clone/.env"));
        let script = "cat .env; ls -A; rm .env; mv .env x; mv file .env; echo x > .env";
        let seen = finish(room.in_sandbox(&sandbox, script).spawn().unwrap());
        hidden(&seen);
        assert_eq!(seen.stdout, ".env\nfile\n", "{}", seen.seen());
        assert_eq!(room.read("store/jobs/1/clone/.env"), SECRET);
    }
}

#[test]
fn a_masked_file_that_is_replaced_meanwhile_stays_masked() {
    for user in users() {
        let room = Room::new(*user);
        let script = "touch ready; until [ -e go ]; do sleep 0.01; done; ls -A ~; cat ~/.netrc ~/.ssh/id";
        let child = room.in_sandbox(&room.sandbox(), script).spawn().unwrap();
        until("the command", || room.path("store/jobs/1/clone/ready").exists());
        // As programs write such a file.
        room.write("home/.netrc.new", SECRET);
        fs::rename(room.path("home/.netrc.new"), room.path("home/.netrc")).unwrap();
        room.write("store/jobs/1/clone/go", "");
        let seen = finish(child);
        hidden(&seen);
        assert!(seen.stdout.contains(".bashrc\n") && !seen.stdout.contains(".netrc"), "{}", seen.seen());
    }
}

#[test]
fn what_is_mounted_twice_is_masked_twice() {
    for user in users() {
        let room = Room::new(*user);
        for name in ["again", "within", "above"] {
            room.write(&format!("{name}/.keep"), "");
        }
        let argv = room.sandbox().wrap(
            &room.path("bin/checkrein"),
            &[
                "sh".into(),
                "-c".into(),
                "cat $ROOM/again/store.db $ROOM/within/1/stdout $ROOM/above/store/store.db; ls $ROOM/above"
                    .into(),
            ],
        );
        let mounts = "mount --bind $STORE $ROOM/again && mount --bind $STORE/runs $ROOM/within && \
                      mount --bind $ROOM $ROOM/above && cat $ROOM/above/store/store.db >&2 && cd . && exec \"$@\"";
        let outer = ["unshare", "-Urm", "sh", "-c", mounts, "sh"].map(Into::into);
        let argv: Vec<std::ffi::OsString> = outer.into_iter().chain(argv).collect();
        let seen = finish(room.command(&argv).spawn().unwrap());
        assert!(seen.stderr.starts_with(SECRET), "the mounts were not there: {}", seen.seen());
        assert!(!seen.stdout.contains(SECRET) && seen.stderr.matches(SECRET).count() == 1, "{}", seen.seen());
        assert!(seen.stdout.contains("repo\n"), "{}", seen.seen());
    }
}

#[test]
fn the_default_masks_hide_credentials_and_sockets() {
    for user in users() {
        let room = Room::new(*user);
        for name in [
            ".git-credentials",
            ".cargo/credentials.toml",
            ".config/gh/hosts.yml",
            ".docker/config.json",
            ".npmrc",
        ] {
            room.write(&format!("home/{name}"), SECRET);
        }
        room.write("home/.cargo/env", "");
        let masked = default_masks(
            &room.path("home"),
            &room.path("store"),
            &[room.path("home/.config/checkrein")],
            &[],
        );
        let sandbox = Sandbox {
            masked,
            readable: [vec![room.path("")], default_readable()].concat(),
            ..room.sandbox()
        };
        let script = format!(
            "! grep -r {SECRET} $ROOM && find /run /var/run/ -type s && cat ~/.cargo/env ~/.gitconfig && getent hosts localhost >&2 && echo ok"
        );
        let seen = finish(room.in_sandbox(&sandbox, &script).spawn().unwrap());
        assert_eq!(seen.good(), "[user]\nok\n", "{}", seen.seen());
    }
}

#[test]
fn descriptors_and_variables_that_lead_outside_are_not_handed_down() {
    for user in users() {
        let room = Room::new(*user);
        let script = "ls /proc/self/fd; cat /proc/self/fd/9/store.db <&8; env";
        let argv =
            room.sandbox().wrap(&room.path("bin/checkrein"), &["bash".into(), "-c".into(), script.into()]);
        let outer = ["sh", "-c", "exec 9< $STORE 8< $STORE/store.db; exec \"$@\"", "sh"].map(Into::into);
        let argv: Vec<std::ffi::OsString> = outer.into_iter().chain(argv).collect();
        let mut command: Command = room.command(&argv);
        command.env("CHECKREIN_TOKEN", SECRET).env("SSH_AUTH_SOCK", SECRET).env("XDG_RUNTIME_DIR", SECRET);
        let seen = finish(command.spawn().unwrap());
        assert!(!seen.seen().contains(SECRET), "{}", seen.seen());
        assert!(seen.stdout.starts_with("0\n1\n2\n3\n"), "{}", seen.seen());
        assert!(!seen.stdout.contains("\n8\n") && !seen.stdout.contains("\n9\n"), "{}", seen.seen());
        assert!(seen.stdout.contains("\nHOME="), "{}", seen.seen());
    }
}
