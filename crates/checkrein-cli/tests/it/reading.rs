//! Commands that only look make no store, no directory and no file (R14).

use std::path::Path;

use crate::place::Place;

/// Every file and directory below a place.
fn tree(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            found.push(entry.strip_prefix(directory).unwrap().display().to_string());
            if entry.is_dir() {
                left.push(entry);
            }
        }
    }
    found.sort();
    found
}

/// Every command that only reads, with the code it ends with where there is nothing.
const READING: &[(&[&str], i32)] = &[
    (&["runs"], 0),
    (&["runs", "--json"], 0),
    (&["show", "r1"], 6),
    (&["log", "r1"], 6),
    (&["report", "r1"], 6),
    (&["report", "--since", "7d"], 0),
    (&["inbox"], 0),
    (&["review", "r1", "--plain"], 6),
    (&["search", "r1", "words"], 6),
    (&["checkpoint", "list"], 0),
    (&["checkpoint", "show", "c1"], 6),
    (&["checkpoint", "wait", "c1"], 6),
    (&["policy", "show"], 0),
    (&["policy", "explain"], 0),
    (&["policy", "check"], 0),
    (&["policy", "test"], 0),
    (&["policy", "classify", "Build failed"], 0),
    (&["expert", "list"], 0),
    (&["expert", "show", "coder"], 0),
    (&["frame", "tree"], 0),
    (&["frame", "status"], 0),
    (&["frame", "context"], 6),
    (&["frame", "stats"], 0),
    (&["frame", "config"], 0),
    (&["frame", "suggestions"], 0),
    (&["frame", "sessions"], 0),
    (&["store", "stats"], 0),
    (&["store", "check"], 2),
    (&["store", "backup", "copy.db"], 2),
    (&["store", "export"], 2),
    (&["workers"], 0),
    (&["token", "list"], 0),
    (&["webhook", "list"], 0),
    (&["chat", "--list"], 0),
    (&["config", "env"], 0),
    (&["config", "schema", "config"], 0),
    (&["doctor"], 0),
    (&["approve", "c1"], 1),
    (&["cancel", "r1"], 6),
    // What is refused, or has nothing to do, makes nothing either.
    (&["resume", "r1"], 6),
    (&["rerun", "r1"], 6),
    (&["store", "sweep", "--dry-run"], 0),
    (&["store", "sweep"], 0),
    (&["store", "restore", "nope.db"], 2),
    (&["token", "revoke", "t1"], 6),
    (&["webhook", "test", "w1"], 6),
    (&["webhook", "remove", "w1"], 6),
    (&["webhook", "enable", "w1"], 6),
    (&["webhook", "rotate", "w1"], 6),
    (&["webhook", "retry", "w1", "d1"], 6),
    (&["frame", "pop"], 6),
    (&["frame", "pop", "--session", "s"], 6),
    (&["frame", "undo"], 6),
    (&["frame", "ignore", "x"], 6),
    (&["frame", "resume"], 6),
    (&["frame", "resume", "f1"], 6),
    (&["frame", "activate", "f1"], 6),
    (&["frame", "invalidate", "f1", "-m", "x"], 6),
];

/// Commands that take no `--store`.
const WITHOUT_STORE: &[&str] = &["policy", "expert", "config"];

#[test]
fn looking_makes_nothing() {
    let mut wrong = Vec::new();
    for (arguments, code) in READING {
        let place = Place::new().file(".checkrein/README", "not empty, and no store\n");
        let before = tree(place.path());
        let ran = place.run(arguments);
        if ran.code != *code {
            wrong.push(format!("{arguments:?} ends with {}, not {code}: {}", ran.code, ran.seen()));
        }
        if tree(place.path()) != before {
            wrong.push(format!("{arguments:?} makes {:?}", tree(place.path())));
        }
        if WITHOUT_STORE.contains(&arguments[0]) {
            continue;
        }
        let named: Vec<&str> = arguments.iter().copied().chain(["--store", "no/such/dir/x.db"]).collect();
        let ran = place.run(&named);
        if ran.code != *code {
            wrong.push(format!("{named:?} ends with {}, not {code}: {}", ran.code, ran.seen()));
        }
        if tree(place.path()) != before {
            wrong.push(format!("{named:?} makes {:?}", tree(place.path())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_store_that_was_named_and_is_not_there_is_said_and_so_is_one_nearby() {
    let place = Place::new().file(".checkrein/.gitignore", "*\n");
    let alone = place.run(&["runs", "--store", "gone.db"]);
    assert!(alone.stderr.contains("there is no store at `gone.db`"), "{}", alone.seen());
    assert!(!alone.stderr.contains("hint"), "{}", alone.seen());
    place.token("reviewer", "ann");
    let nearby = place.run(&["runs", "--store", "gone.db"]);
    assert!(nearby.stderr.contains(".checkrein/store.db`"), "{}", nearby.seen());
    assert!(!place.path().join("gone.db").exists());
}
