//! The store's own commands, and what happens when the disk, the file or the clock fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;

use crate::place::{BINARY, Place, Ran};

/// A place with a store of its own in `.checkrein/`.
pub fn place() -> Place {
    Place::new().file(".checkrein/.gitignore", "*\n")
}

pub fn store(place: &Place) -> PathBuf {
    place.path().join(".checkrein/store.db")
}

pub fn ask(place: &Place, id: &str) {
    let ran = place.run(&[
        "checkpoint",
        "create",
        "--worker",
        "w",
        "--type",
        "deliverable",
        "--deliverable",
        &format!("draft of {id}"),
        "--id",
        id,
    ]);
    assert_eq!(ran.code, 3, "{}", ran.seen());
}

/// Gives a verdict as a reviewer.
pub fn judge(place: &Place, verdict: &str) -> Ran {
    let token = place.run(&["token", "create", "--role", "reviewer", "--name", "ann"]).stdout;
    place.shell(&format!("CHECKREIN_TOKEN={} checkrein {verdict}", token.trim()))
}

fn ids(place: &Place) -> Vec<String> {
    let listed = place.run(&["checkpoint", "list", "--limit", "100000", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.seen());
    let items = listed.json()["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn status(place: &Place, id: &str) -> String {
    place.run(&["checkpoint", "show", id, "--json"]).json()["status"].as_str().unwrap().to_owned()
}

fn is_sound(place: &Place) {
    let checked = place.run(&["store", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.seen());
}

/// The files beside the store whose names begin so.
fn beside(place: &Place, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path().join(".checkrein")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(beginning)).collect()
}

/// Where the temporary directory is, and when it is, is not part of a snapshot.
fn plain(place: &Place, ran: &Ran) -> String {
    let here = place.path().canonicalize().unwrap().display().to_string();
    ran.seen().replace(&here, "HERE").replace(&place.path().display().to_string(), "HERE")
}

/// A process that has the store open, ended with the test.
struct Waiter(Child);

impl Waiter {
    fn start(place: &Place, id: &str) -> Waiter {
        let mut command = Command::new(BINARY);
        command.args(["checkpoint", "wait", id]).current_dir(place.path());
        command.env_clear().env("HOME", place.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let waiter = Waiter(child);
        let begun = Instant::now();
        while !waiter.waits() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the waiter does not wait");
            std::thread::sleep(Duration::from_millis(5));
        }
        // It has the store open and watches it; what it reads first, it has soon read.
        std::thread::sleep(Duration::from_millis(200));
        waiter
    }

    /// Whether the thread is there that notices verdicts.
    fn waits(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let mut names =
            threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.any(|name| name.trim() == "checkrein-watch")
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn stats_count_what_there_is() {
    let place = place();
    ask(&place, "a");
    ask(&place, "b");
    judge(&place, "approve a");
    let stats = place.run(&["store", "stats", "--json"]).json();
    assert_eq!(
        (&stats["checkpoints"], &stats["events"], &stats["contents"]),
        (&2.into(), &3.into(), &2.into())
    );
    assert_eq!(stats["by_status"], serde_json::json!({"pending": 1, "approved": 1}));
    let b = place.run(&["checkpoint", "show", "b", "--json"]).json();
    assert_eq!(stats["oldest_pending"], b["created_at"]);
    assert!(place.run(&["store", "stats"]).stdout.contains("oldest pending"));
}

#[test]
fn a_backup_is_taken_in_use_and_brought_back() {
    let place = place();
    ask(&place, "a");
    ask(&place, "b");
    {
        let _waiter = Waiter::start(&place, "a");
        let backup = place.run(&["store", "backup", "backup.db"]);
        assert_eq!(backup.code, 0, "{}", backup.seen());
        let refused = place.run(&["store", "restore", "backup.db"]);
        assert_snapshot!(plain(&place, &refused), @r"
        -- stderr
        error: the store `HERE/.checkrein/store.db` is open in another process; nothing was changed
          hint: end what waits on it or serves it, and do it again
        -- exit 1
        ");
        assert!(beside(&place, "store.db.before").is_empty());
    }
    judge(&place, "approve a");
    ask(&place, "c");
    let restored = place.run(&["store", "restore", "backup.db", "--json"]);
    assert_eq!(restored.code, 0, "{}", restored.seen());
    assert_eq!((ids(&place), status(&place, "a")), (vec!["a".into(), "b".into()], "pending".into()));
    is_sound(&place);

    // What was there is kept, whole, and is a store like any other.
    let kept = restored.json()["kept"].as_str().unwrap().to_owned();
    let listed = place.run(&["checkpoint", "list", "--json", "--store", &kept]).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    assert_eq!(listed["items"][0]["status"], "approved");
    assert_eq!(beside(&place, ".checkrein-"), Vec::<PathBuf>::new());
}

#[test]
fn a_backup_goes_where_no_store_is() {
    let place = place();
    ask(&place, "a");
    place.run(&["store", "backup", "backup.db"]);
    let restored = place.run(&["store", "restore", "backup.db", "--store", "elsewhere/store.db"]);
    assert_snapshot!(plain(&place, &restored), @r"
    -- stdout
    restored elsewhere/store.db with 1 checkpoint
    -- exit 0
    ");
}

#[test]
fn a_restore_or_import_that_is_killed_happened_or_did_not() {
    const ROUNDS: u32 = 12;
    let place = place();
    for number in 0..6 {
        let line = format!(
            "head -c 300000 /dev/urandom >d; checkrein checkpoint create --worker w --file d --id c{number}"
        );
        assert_eq!(place.shell(&line).code, 3);
    }
    let earlier = ids(&place);
    place.run(&["store", "backup", "backup.db"]);
    place.run(&["store", "export", "export.jsonl"]);
    let takes = |command: &str| {
        let begun = Instant::now();
        assert_eq!(place.shell(&format!("checkrein {command}")).code, 0);
        begun.elapsed()
    };
    let restoring = takes("store restore backup.db");
    let importing = takes("store import export.jsonl --store copy.db");
    let mut done = [0, 0];
    for round in 1..=ROUNDS {
        // Sooner and later, until it is surely over.
        let killed = |command: &str, takes: Duration| {
            let after_s = takes.as_secs_f64() * f64::from(round) * 1.5 / f64::from(ROUNDS);
            place.shell(&format!("checkrein {command} & sleep {after_s:.4}; kill -9 $!; wait"));
        };
        place.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "later", "--id", "later"]);
        killed("store restore backup.db", restoring);
        let now = ids(&place);
        assert!(now == earlier || now.len() == earlier.len() + 1, "{now:?}");
        done[0] += u32::from(now == earlier);
        is_sound(&place);

        let copy = format!("copy-{round}.db");
        killed(&format!("store import export.jsonl --store {copy}"), importing);
        let checked = place.run(&["store", "check", "--json", "--store", &copy]).json();
        let count = checked["checkpoints"].as_u64().unwrap();
        assert!(checked["sound"] == true && [0, earlier.len() as u64].contains(&count), "{checked}");
        done[1] += u32::from(count > 0);
        for left in beside(&place, "store.db.before").iter().chain(&beside(&place, ".checkrein-")) {
            fs::remove_file(left).unwrap();
        }
    }
    eprintln!("of {ROUNDS}, so many were done before they were killed: {done:?}");
}

#[test]
fn nothing_is_overwritten() {
    let place = place().file("taken", "mine");
    ask(&place, "a");
    for command in ["backup", "export"] {
        let ran = place.run(&["store", command, "taken"]);
        assert_eq!(
            ran.seen(),
            "-- stderr\nerror: `taken` is already there; nothing was overwritten\n  \
             hint: name a file that is not there yet\n-- exit 6"
        );
        assert_eq!(place.read("taken"), "mine");
    }
}

#[test]
fn what_is_no_backup_is_refused_and_the_store_stays() {
    let place = place().file("garbage", &"no database ".repeat(1000)).file("empty", "");
    ask(&place, "a");
    place.run(&["store", "backup", "newer"]);
    patch(&place.path().join("newer"), 60, &99_u32.to_be_bytes());
    place.run(&["store", "backup", "foreign"]);
    patch(&place.path().join("foreign"), 68, b"abcd");
    place.run(&["store", "backup", "damaged"]);
    let damaged = place.path().join("damaged");
    // The bytes of the deliverable alone: the file as such is sound.
    let at = find(&fs::read(&damaged).unwrap(), b"draft of a").unwrap();
    patch(&damaged, at, b"Draft");
    place.run(&["store", "backup", "cut"]);
    let cut = fs::OpenOptions::new().write(true).open(place.path().join("cut")).unwrap();
    cut.set_len(20_000).unwrap();

    let before = fs::read(store(&place)).unwrap();
    let mut seen = String::new();
    for file in ["garbage", "empty", "newer", "foreign", "damaged", "cut", "missing", ".checkrein/store.db"] {
        let ran = place.run(&["store", "restore", file]);
        seen.push_str(&format!("{file}\n{}\n\n", plain(&place, &ran)));
        assert!(fs::read(store(&place)).unwrap() == before, "{file}");
        assert!(beside(&place, "store.db.before").is_empty(), "{file}");
        assert!(beside(&place, ".checkrein-").is_empty(), "{file}");
    }
    assert_snapshot!(seen);
}

#[test]
fn an_export_is_imported_once() {
    let place = place();
    ask(&place, "a");
    ask(&place, "b");
    judge(&place, "approve a");
    place.run(&[
        "checkpoint",
        "create",
        "--worker",
        "w",
        "--type",
        "note",
        "--deliverable",
        "[1]",
        "--id",
        "n",
    ]);
    let export = place.run(&["store", "export"]).stdout;
    assert!(!export.contains("secret") && export.lines().count() == 1 + 4 + 3 + 3, "{export}");

    for expected in [[3, 4, 3, 0], [0, 0, 0, 3]] {
        let imported =
            place.run_with(&["store", "import", "-", "--json", "--store", "other.db"], &export).json();
        let names = ["checkpoints", "events", "contents", "known"];
        assert_eq!(names.map(|name| imported[name].as_i64().unwrap()), expected);
    }
    let shown = |store: &[&str]| {
        let mut arguments = vec!["checkpoint", "list", "--json"];
        arguments.extend(store);
        place.run(&arguments).json()
    };
    assert_eq!(shown(&[]), shown(&["--store", "other.db"]));
    assert_eq!(place.run(&["store", "check", "--store", "other.db"]).code, 0);

    // Here it went on: an older export brings nothing back.
    judge(&place, "reject b -m no");
    let older = place.run_with(&["store", "import", "-"], &export);
    assert_eq!((older.code, status(&place, "b")), (0, "rejected".to_owned()), "{}", older.seen());

    // There it is still open: an import gives no verdict, and leaves nothing else behind.
    ask(&place, "c");
    let newer = place.run(&["store", "export"]).stdout;
    let refused = place.run_with(&["store", "import", "-", "--store", "other.db"], &newer);
    assert_snapshot!(refused.seen(), @r"
    -- stderr
    error: `b` is here with another history than in line 6; nothing was changed
      hint: import it into a store of its own with `--store FILE`
    -- exit 6
    ");
    assert_eq!(shown(&["--store", "other.db"])["items"].as_array().unwrap().len(), 3);
}

#[test]
fn the_same_id_with_other_content_is_a_conflict_that_changes_nothing() {
    let (one, two) = (place(), place());
    ask(&one, "first");
    ask(&one, "same");
    two.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "other", "--id", "same"]);
    let export = one.run(&["store", "export"]).stdout;
    let refused = two.run_with(&["store", "import", "-"], &export);
    assert_eq!(refused.code, 6, "{}", refused.seen());
    assert_eq!(ids(&two), ["same"]);
    is_sound(&two);
}

#[test]
fn a_bad_export_is_refused_with_its_line() {
    let from = place();
    ask(&from, "a");
    judge(&from, "approve a");
    let export = from.run(&["store", "export"]).stdout;
    let lines: Vec<&str> = export.lines().collect();
    let without = |index: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != index);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let mut seen = String::new();
    for (case, text) in [
        ("empty", String::new()),
        ("something else", "hello\n".to_owned()),
        ("no header", without(0)),
        ("a newer format", export.replace("\"checkrein_export\":1", "\"checkrein_export\":2")),
        ("an event is missing", without(1)),
        ("the checkpoint is missing", without(3)),
        ("the content is missing", without(4)),
        ("cut off", export.chars().take(export.len() - 30).collect()),
        ("another verdict", export.replacen("\"status\":\"approved\"", "\"status\":\"rejected\"", 1)),
        ("another content", export.replace("base64\":\"", "base64\":\"AAAA")),
        ("an unknown key", export.replace("\"round\":1,\"digest\"", "\"rnd\":1,\"digest\"")),
    ] {
        let to = place();
        let ran = to.run_with(&["store", "import", "-"], &text);
        assert!(ids(&to).is_empty(), "{case}");
        seen.push_str(&format!("{case}: {}\n", ran.seen().replace("-- stderr\n", "").replace('\n', " ")));
    }
    assert_snapshot!(seen);
}

#[test]
fn a_sweep_takes_what_was_decided_long_ago_and_nothing_else() {
    let (place, old) = (place(), "2020-01-01T00:00:00Z");
    for id in ["old", "shared", "open", "recent"] {
        ask(&place, id);
    }
    // Two that say the same: one is decided, one is open.
    place.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "draft of shared", "--id", "twin"]);
    judge(&place, "approve old shared");
    // Everything so far happened years ago.
    let export: String = place.run(&["store", "export"]).stdout.lines().map(|line| aged(line, old)).collect();
    let place = self::place();
    assert_eq!(place.run_with(&["store", "import", "-"], &export).code, 0);
    judge(&place, "approve recent");

    assert_snapshot!(place.run(&["store", "sweep", "--dry-run"]).seen(), @r"
    -- stdout
    would remove 2 checkpoints, 4 events, 1 content (12 B)
    -- exit 0
    ");
    assert_eq!(ids(&place).len(), 5);
    for expected in [
        "removed 2 checkpoints, 4 events, 1 content (12 B)\n",
        "removed 0 checkpoints, 0 events, 0 contents (0 B)\n",
    ] {
        assert_eq!(place.run(&["store", "sweep"]).stdout, expected);
    }
    assert_eq!(ids(&place), ["open", "recent", "twin"]);
    assert_eq!(place.run(&["checkpoint", "show", "twin", "--json"]).json()["deliverable"], "draft of shared");
    is_sound(&place);
    assert_eq!(place.run(&["store", "vacuum"]).code, 0);
    is_sound(&place);
}

#[test]
fn how_long_is_kept_is_a_setting() {
    for (retention, removed) in [("null", 0), ("1h", 0), ("0s", 1)] {
        let place = place().file("checkrein.yaml", &format!("retention: {{checkpoints: {retention}}}\n"));
        ask(&place, "a");
        ask(&place, "open");
        judge(&place, "approve a");
        std::thread::sleep(Duration::from_millis(5));
        let swept = place.run(&["store", "sweep", "--json"]).json();
        assert_eq!(swept["checkpoints"], removed, "{retention}");
    }
}

#[test]
fn an_attempt_may_look_but_not_touch() {
    let place = place();
    ask(&place, "c1");
    let place = place.env("CHECKREIN_JOB_ID", "7").file("export", "");
    for (arguments, allowed) in [
        (&["stats"][..], true),
        (&["check"], true),
        (&["export"], true),
        (&["backup", "b.db"], false),
        (&["restore", "b.db"], false),
        (&["import", "export"], false),
        (&["sweep"], false),
        (&["sweep", "--dry-run"], false),
        (&["vacuum"], false),
    ] {
        let mut command = vec!["store"];
        command.extend(arguments);
        let ran = place.run(&command);
        assert_eq!(ran.code, i32::from(!allowed), "{arguments:?}: {}", ran.seen());
    }
    assert_snapshot!(place.run(&["store", "sweep"]).seen(), @r"
    -- stderr
    error: nothing can be swept from inside an agent's attempt
      hint: do it from a terminal of your own
    -- exit 1
    ");
}

/// Asks until the disk says no, and prints what was acknowledged, then what was said.
const FILL: &str = r#"
i=0; while [ $i -lt 400 ]; do i=$((i+1))
  head -c 20000 /dev/urandom > draft
  checkrein checkpoint create --worker w --file draft --id "c$i" >out 2>err; code=$?
  if [ $code -ne 3 ]; then echo "exit $code"; cat err; break; fi
  echo "c$i"
done
"#;

/// What was acknowledged is there, and nothing else.
fn is_all_there(place: &Place, filled: &Ran) -> (usize, String) {
    let mut acknowledged: Vec<&str> = filled.stdout.lines().collect();
    let end = acknowledged
        .iter()
        .position(|line| line.starts_with("exit "))
        .unwrap_or_else(|| panic!("{}", filled.seen()));
    let said = acknowledged.split_off(end).join("\n");
    assert_eq!(ids(place), acknowledged);
    is_sound(place);
    (acknowledged.len(), said)
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    if !may_mount() {
        return;
    }
    let place = place();
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=768k tmpfs disk && mkdir disk/.checkrein && cd disk
         {}
         checkrein store backup copy.db 2>>../said; echo backup $? >>../said; ls -A >>../said
         cp .checkrein/* ../.checkrein/
         mount -o remount,size=8m ../disk
         checkrein checkpoint create --worker w --deliverable later --id later >>../said 2>/dev/null
         checkrein store check >>../said",
        FILL.replace("draft", "../draft")
            .replace(">out 2>err", ">../out 2>../err")
            .replace("cat err", "cat ../err")
    );
    let filled = in_namespace(&place, &script);
    // What lay on the full disk, as another process would find it after a crash.
    let (count, said) = is_all_there(&place, &filled);
    assert!(count > 3, "{}", filled.seen());
    assert_snapshot!(said, @r"
    exit 1
    error: the disk is full; nothing was saved
      hint: free some space and do it again
    ");
    let after = place.read("said");
    assert!(
        after.starts_with("error: the disk is full; nothing was saved\n  hint: free some space and do it again\nbackup 1\n.checkrein\n")
            && after.contains("pending later")
            && after.contains("sound: "),
        "{after}"
    );
}

#[test]
fn a_limit_on_files_loses_nothing_that_was_acknowledged() {
    let place = place();
    // The signal is ignored so that the write fails instead of the process.
    let filled = place.shell(&format!("trap '' XFSZ; ulimit -f 800; {FILL}"));
    let (count, said) = is_all_there(&place, &filled);
    assert!(count > 3, "{}", filled.seen());
    assert_snapshot!(said);
}

/// A library that makes every sync fail, as a dying disk does.
const NO_SYNC: &str = "#include <errno.h>
int fsync(int fd) { (void)fd; errno = EIO; return -1; }
int fdatasync(int fd) { (void)fd; errno = EIO; return -1; }
";

#[test]
fn what_the_disk_did_not_take_is_not_acknowledged() {
    let place = place().file("sync.c", NO_SYNC);
    let compiled = place.shell("cc -shared -fPIC -o sync.so sync.c");
    assert_eq!(compiled.code, 0, "this takes a C compiler (apt-get install gcc): {}", compiled.seen());
    ask(&place, "a");
    let ran =
        place.shell("LD_PRELOAD=$PWD/sync.so checkrein checkpoint create --worker w --deliverable x --id x");
    assert_snapshot!(ran.seen());
    let backup = place.shell("LD_PRELOAD=$PWD/sync.so checkrein store backup copy.db");
    assert_eq!(backup.code, 1, "{}", backup.seen());
    assert!(!place.path().join("copy.db").exists());
    assert_eq!(ids(&place)[0], "a");
    is_sound(&place);
    // Asking again gets the one answer, whether or not the first try reached the disk.
    let again = place.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--id", "x"]);
    assert_eq!((again.code, ids(&place)), (3, vec!["a".to_owned(), "x".to_owned()]));
}

#[test]
fn a_read_only_store_can_be_read_and_says_what_it_is() {
    if !may_mount() {
        return;
    }
    let place = place();
    ask(&place, "a");
    let before = fs::read(store(&place)).unwrap();
    let ran = in_namespace(
        &place,
        "mount --bind .checkrein .checkrein && mount -o remount,bind,ro .checkrein
         checkrein checkpoint create --worker w --deliverable x; echo exit $?
         checkrein checkpoint withdraw a; echo exit $?
         checkrein store restore .checkrein/store.db --store .checkrein/new.db; echo exit $?
         checkrein inbox --json | grep '\"id\"'
         checkrein checkpoint list | cut -c 1-7
         checkrein checkpoint show a | tail -1
         checkrein store stats | grep checkpoints
         checkrein store export | wc -l; ls .checkrein",
    );
    assert_snapshot!(plain(&place, &ran));
    assert!(fs::read(store(&place)).unwrap() == before);
    assert_eq!(ids(&place), ["a"]);
}

#[test]
fn a_read_only_store_is_read_with_what_is_still_in_its_log() {
    if !may_mount() {
        return;
    }
    let place = place();
    ask(&place, "a");
    // While somebody has it open, what is written stays in the log.
    let ran = in_namespace(
        &place,
        "checkrein checkpoint wait a & waiting=$!
         until [ -s .checkrein/store.db-wal ]; do
             checkrein checkpoint create --worker w --deliverable x --id b > created 2> told || sleep 0.05
         done
         cat told >&2
         mkdir copy && cp .checkrein/store.db .checkrein/store.db-wal copy
         for place in .checkrein copy; do
             mount --bind $place $place && mount -o remount,bind,ro $place
             checkrein inbox --json --store $place | grep '\"id\"'
         done
         kill $waiting",
    );
    assert_snapshot!(plain(&place, &ran));
}

#[test]
fn a_directory_that_cannot_be_written_says_so() {
    if !may_mount() {
        return;
    }
    let place = Place::new().file("closed/README", "");
    let ran = in_namespace(
        &place,
        "mount --bind closed closed && mount -o remount,bind,ro closed
         checkrein checkpoint create --worker w --deliverable x --store closed/store.db; echo exit $?
         checkrein checkpoint create --worker w --deliverable x --store closed/new/store.db; echo exit $?",
    );
    assert_snapshot!(plain(&place, &ran));
}

#[test]
fn a_damaged_store_says_so_is_kept_and_comes_back() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 4] = [
        ("pages in the middle", |path| patch(path, 8192, &vec![0xaa; 16384])),
        ("garbage", |path| fs::write(path, "garbage ".repeat(4096)).unwrap()),
        ("cut in half", |path| {
            let length = fs::metadata(path).unwrap().len();
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length / 2).unwrap();
        }),
        ("the first page", |path| patch(path, 100, &vec![0x55; 3996])),
    ];
    let mut seen = String::new();
    for (case, harm) in harms {
        let place = place();
        ask(&place, "a");
        ask(&place, "b");
        judge(&place, "approve a");
        assert_eq!(place.run(&["store", "backup", "backup.db"]).code, 0);
        harm(&store(&place));
        let damaged = fs::read(store(&place)).unwrap();
        for arguments in [
            &["checkpoint", "list"][..],
            &["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--id", "x"],
            &["store", "check"],
            &["store", "backup", "bad.db"],
        ] {
            let ran = place.run(arguments);
            let said = plain(&place, &ran);
            assert!([1, 2].contains(&ran.code), "{case}: {said}");
            seen.push_str(&format!("{case}: {}\n{said}\n\n", arguments[..2].join(" ")));
        }
        assert!(!place.path().join("bad.db").exists());
        assert!(fs::read(store(&place)).unwrap() == damaged, "{case}: something was overwritten");

        let restored = place.run(&["store", "restore", "backup.db"]);
        assert_eq!(restored.code, 0, "{case}: {}", restored.seen());
        assert_eq!((ids(&place), status(&place, "a")), (vec!["a".into(), "b".into()], "approved".into()));
        is_sound(&place);
        let kept = beside(&place, "store.db.before-restore-");
        assert_eq!(kept.len(), 1, "{case}");
        let kept = fs::read(&kept[0]).unwrap();
        assert_eq!(kept.len(), damaged.len(), "{case}");
        // Beyond its first page, where SQLite counts changes, it is what it was.
        assert!(kept[4096..] == damaged[4096..], "{case}");
    }
    assert_snapshot!(seen);
}

/// Even what no longer is a database is not taken from under a process that has it open.
#[test]
fn a_damaged_store_that_is_open_is_not_replaced() {
    let place = place();
    ask(&place, "a");
    place.run(&["store", "backup", "backup.db"]);
    {
        let _waiter = Waiter::start(&place, "a");
        patch(&store(&place), 0, &[0x55; 4096]);
        let refused = place.run(&["store", "restore", "backup.db"]);
        assert!(refused.stderr.contains("is open in another process"), "{}", refused.seen());
    }
    let restored = place.run(&["store", "restore", "backup.db"]);
    assert_eq!((restored.code, ids(&place)), (0, vec!["a".to_owned()]), "{}", restored.seen());
}

#[test]
fn what_is_no_store_is_not_touched() {
    let mut seen = String::new();
    for (case, at, bytes) in [("another program's", 68, *b"abcd"), ("a newer one", 60, 99_u32.to_be_bytes())]
    {
        let place = place();
        ask(&place, "a");
        patch(&store(&place), at, &bytes);
        let before = fs::read(store(&place)).unwrap();
        let ran = place.run(&["inbox"]);
        seen.push_str(&format!("{case}\n{}\n\n", plain(&place, &ran)));
        assert!(fs::read(store(&place)).unwrap() == before, "{case}");
    }
    assert_snapshot!(seen);
}

/// The log belongs to the file: without it, what was only there is gone, and the rest is sound.
#[test]
fn without_its_log_the_store_is_what_it_was_before() {
    let place = place();
    ask(&place, "a");
    {
        let _waiter = Waiter::start(&place, "a");
        ask(&place, "b");
    }
    let log = place.path().join(".checkrein/store.db-wal");
    assert!(log.exists(), "a killed process leaves the log");
    let kept = fs::read(&log).unwrap();
    assert_eq!(ids(&place), ["a", "b"], "nothing that was acknowledged is lost by a kill");

    let place = self::place();
    ask(&place, "a");
    {
        let _waiter = Waiter::start(&place, "a");
        ask(&place, "b");
    }
    assert!(!kept.is_empty());
    fs::remove_file(place.path().join(".checkrein/store.db-wal")).unwrap();
    assert_eq!(ids(&place), ["a"]);
    is_sound(&place);
    ask(&place, "c");
    assert_eq!(ids(&place), ["a", "c"]);
}

#[test]
fn a_clock_that_was_set_back_answers_no_question_before_it_was_asked() {
    let place = place();
    ask(&place, "future");
    let future = "2999-01-01T00:00:00Z";
    let export: String =
        place.run(&["store", "export"]).stdout.lines().map(|line| aged(line, future)).collect();
    let place = self::place();
    assert_eq!(place.run_with(&["store", "import", "-"], &export).code, 0);
    ask(&place, "now");
    judge(&place, "approve now future");
    assert_eq!(ids(&place), ["future", "now"], "in the order they were made, whatever the clock said");
    let shown = place.run(&["checkpoint", "show", "future", "--json"]).json();
    assert_eq!((&shown["created_at"], &shown["resolved_at"]), (&future.into(), &future.into()));
    is_sound(&place);
    // Nor is it old enough to go.
    assert_eq!(place.run(&["store", "sweep", "--json"]).json()["checkpoints"], 0);
}

/// A line of an export as if everything had happened then.
pub fn aged(line: &str, then: &str) -> String {
    let mut line: Value = serde_json::from_str(line).unwrap();
    for key in ["at", "created_at", "resolved_at"] {
        if let Some(at) = line.get_mut(key).filter(|at| at.is_string()) {
            *at = then.into();
        }
    }
    format!("{line}\n")
}

fn patch(path: &Path, at: usize, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at as u64).unwrap();
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Whether file systems can be mounted here, out of everybody else's sight.
fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    let may = tried.is_ok_and(|tried| tried.status.success());
    if !may {
        eprintln!("skipped: this takes the right to mount a file system");
    }
    may
}

fn in_namespace(place: &Place, script: &str) -> Ran {
    fs::write(place.path().join("script"), script).unwrap();
    place.shell("exec unshare -m sh ./script")
}

/// Before it is there, too: what ends with a slash is never the file.
#[test]
fn a_store_that_is_named_with_a_slash_is_in_that_directory() {
    let place = Place::new();
    let ask = ["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--store", "kept/"];
    let ran = place.run(&ask);
    assert_eq!(ran.code, 3, "{}", ran.seen());
    assert!(place.path().join("kept/store.db").is_file());
    assert_eq!(
        place.run(&["checkpoint", "list", "--store", "kept", "--json"]).json()["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

/// A backup has the record of a job; what it made lies in files beside the store.
#[test]
fn a_backup_says_that_the_files_of_a_job_are_elsewhere() {
    let job = crate::job::job(crate::job::scene("usual"), &[], 3);
    assert_eq!(job.place.run(&["store", "backup", "copy.db"]).code, 0);
    let ran = job.place.run(&["review", &job.id, "--store", "copy.db"]);
    assert_eq!(ran.code, 6, "{}", ran.seen());
    assert!(ran.stderr.contains("are not beside this store"), "{}", ran.seen());
}
