use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// Puts something at a path that leads to the secret at another.
type SetTrap = fn(&Path, &Path);

/// What an agent can put under a name.
const TRAPS: &[(&str, SetTrap)] = &[
    ("link to a file", |at, secret| symlink(secret, at).unwrap()),
    ("link to nothing", |at, secret| symlink(secret.with_file_name("new"), at).unwrap()),
    ("link to a directory", |at, secret| symlink(secret.parent().unwrap(), at).unwrap()),
    ("hard link", |at, secret| fs::hard_link(secret, at).unwrap()),
    ("pipe", |at, _| make_pipe(at)),
    ("socket", |at, _| drop(std::os::unix::net::UnixListener::bind(at).unwrap())),
    ("directory", |at, _| fs::create_dir_all(at.join("a/b")).unwrap()),
];

fn make_pipe(at: &Path) {
    rustix::fs::mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Fails where something waits for ever.
fn in_time<T: Send + 'static>(case: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    waits.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{case}: it waits"))
}

#[test]
fn no_trap_leads_out_or_holds_anybody_up() {
    for (case, set) in TRAPS {
        let root = tempfile::tempdir().unwrap();
        let secret = root.path().join("secret");
        fs::write(&secret, "mine").unwrap();
        let base = root.path().join("base");
        fs::create_dir_all(base.join("out")).unwrap();
        let file = AgentFile::new(&base, "out/x");
        set(&file.path(), &secret);

        let read = in_time(case, {
            let file = file.clone();
            move || file.read(100)
        });
        match *case {
            // It is a file of the agent's own user, which it can read as well.
            "hard link" => assert_eq!(read.unwrap().unwrap(), b"mine"),
            _ => assert!(read.is_err(), "{case}: {read:?}"),
        }
        let directory = AgentDir::open(&base.join("out")).unwrap();
        assert!(directory.create_new(OsStr::new("x"), b"new").is_err(), "{case}");
        in_time(case, {
            let file = file.clone();
            move || file.replace(b"new").unwrap()
        });
        assert_eq!(file.read(100).unwrap().unwrap(), b"new", "{case}");
        assert_eq!(fs::read_dir(base.join("out")).unwrap().count(), 1, "{case}: nothing is left beside it");
        file.remove().unwrap();
        assert_eq!(file.read(100).unwrap(), None, "{case}");

        set(&file.path(), &secret);
        directory.make(Path::new("x/y")).unwrap().create_new(OsStr::new("z"), b"new").unwrap();
        assert_eq!(fs::read(base.join("out/x/y/z")).unwrap(), b"new", "{case}");
        let fresh = directory.make_fresh(OsStr::new("x")).unwrap();
        assert_eq!(fs::read_dir(fresh.path()).unwrap().count(), 0, "{case}");

        assert_eq!(fs::read_to_string(&secret).unwrap(), "mine", "{case}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "{case}: nothing appeared outside");
    }
}

#[test]
fn a_directory_on_the_way_that_became_a_link_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let (base, outside) = (root.path().join("base"), root.path().join("outside"));
    fs::create_dir_all(base.join("cache")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "mine").unwrap();
    symlink(&outside, base.join("cache/agent")).unwrap();
    let file = AgentFile::new(&base, "cache/agent/x");
    assert!(file.read(100).is_err() && file.replace(b"new").is_err() && file.remove().is_err());
    // Where the engine needs a directory it makes one of its own.
    let made = AgentDir::open(&base).unwrap().make(Path::new("cache/agent")).unwrap();
    made.create_new(OsStr::new("x"), b"new").unwrap();
    assert!(!base.join("cache/agent").is_symlink());
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "mine");
    // And what it names itself must be no link either.
    symlink(&outside, root.path().join("link")).unwrap();
    assert!(AgentDir::open(&root.path().join("link")).is_err());
    for path in ["../outside/x", "/etc/passwd", "cache/../../outside/x"] {
        assert!(AgentFile::new(&base, path).read(100).is_err(), "{path}");
    }
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let root = tempfile::tempdir().unwrap();
    let file = fs::File::create(root.path().join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = AgentFile::new(root.path(), "sparse").read(1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 1 MiB");
}

#[test]
fn everything_is_weighed() {
    let root = tempfile::tempdir().unwrap();
    let most = 1 << 20;
    let directory = AgentDir::open(root.path()).unwrap();
    let empty = directory.weigh(most);
    assert_eq!(empty, Weight::default());
    fs::write(root.path().join("hidden"), vec![1; 100_000]).unwrap();
    // What a link leads to is not this directory's.
    symlink("/usr", root.path().join("usr")).unwrap();
    let some = directory.weigh(most).bytes;
    assert!((100_000..200_000).contains(&some), "{some}");
    for number in 0..1000 {
        fs::write(root.path().join(number.to_string()), "").unwrap();
    }
    assert!(directory.weigh(most).bytes >= some + 1000 * ENTRY_BYTES, "files without content count");
    let deep: PathBuf = std::iter::repeat_n("d", 200).collect();
    fs::create_dir_all(root.path().join(deep)).unwrap();
    assert!(directory.weigh(u64::MAX).too_deep);
}

#[test]
fn a_directory_without_permissions_can_be_made_fresh() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path().join("x");
    fs::create_dir_all(at.join("a/b")).unwrap();
    fs::write(at.join("a/b/c"), "c").unwrap();
    for path in ["x/a/b", "x/a", "x"] {
        fs::set_permissions(root.path().join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    AgentDir::open(root.path()).unwrap().make_fresh(OsStr::new("x")).unwrap();
    assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
}

/// Files that know where an agent writes go there through this module alone.
#[test]
fn nothing_else_opens_what_an_agent_can_write() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = [
        "agent/activity.rs",
        "agent/follow.rs",
        "agent/message.rs",
        "agent/request.rs",
        "companion/get_llm_request.rs",
        "companion/search_audit.rs",
        "job/attempt_token.rs",
        "job/hand_in.rs",
        "job/isolation.rs",
        "job/outcome.rs",
        "job/prepare.rs",
        "job/work.rs",
        "process/output.rs",
        "run/output.rs",
    ];
    for file in files {
        let text = fs::read_to_string(source.join(file)).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in [
            "fs::read",
            "fs::write",
            "fs::remove",
            "fs::copy",
            "fs::create",
            "File::open",
            "File::options",
            "OpenOptions",
        ] {
            assert!(!code.contains(word), "{file} calls `{word}`: use `AgentDir` or `AgentFile`");
        }
    }
}
