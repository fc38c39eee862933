use std::fs;
use std::time::{Duration, Instant};

use crate::place::{BINARY, Place};
use crate::terminal::Terminal;

fn at_a_terminal(place: &Place) -> Terminal {
    let mut command = place.command(BINARY);
    command.arg("demo").env("USER", "carla").env("NO_COLOR", "1");
    Terminal::start(command)
}

/// A place with nothing in it but room for temporary files.
fn place() -> Place {
    let place = Place::new();
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    place.env("TMPDIR", temporary.to_str().unwrap())
}

fn left_behind(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path()).unwrap().chain(fs::read_dir(place.path().join("tmp")).unwrap());
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn without_a_terminal_it_plays_itself_and_ends() {
    for arguments in [&["demo"][..], &["demo", "--yes"]] {
        let place = place();
        let started = Instant::now();
        let ran = place.run(arguments);
        assert!(started.elapsed() < Duration::from_secs(60));
        assert_eq!(ran.code, 0, "{}", ran.seen());
        for text in [
            "A scripted reviewer plays the person",
            "approved release-notes",
            "Approved, so I published them.",
            "by          scripted-reviewer",
        ] {
            assert!(ran.stdout.contains(text), "{text}: {}", ran.seen());
        }
        assert!(ran.stderr.is_empty(), "{}", ran.stderr);
        assert_eq!(left_behind(&place), ["tmp"]);
    }
}

#[test]
fn it_sees_no_settings_but_its_own() {
    let place = place()
        .file("checkrein.yaml", "nonsense: [")
        .file("home/.config/checkrein/checkrein.yaml", "autonomy: { worker: autonomous }")
        .env("DWORKERS_DEFAULT_AUTONOMY", "autonomous")
        .env("CHECKREIN_WORKER_AUTONOMY", "nonsense")
        .env("CHECKREIN_TOKEN", "chk_not_of_this_store")
        .env("CHECKREIN_STORE", "mine.db");
    let ran = place.run(&["demo"]);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    assert!(ran.stdout.contains("Approved, so I published them."), "{}", ran.seen());
    assert!(!place.path().join("mine.db").exists());
}

#[test]
fn a_person_looks_and_approves() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until("at it? ").press("what?\n").until("Type a, r or l").until("at it? ");
    terminal.press("l\n").until("Search is four times faster").until("at it? ").press("a\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("scripted"), "{seen}");
    assert!(seen.contains("Approved, so I published them."), "{seen}");
    assert!(seen.contains("by          carla"), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn a_person_rejects_and_the_worker_hears_why() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until("at it? ").press("r\n").until("Why? ").press("- it's the old login\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("worker: rejected release-notes: - it's the old login"), "{seen}");
    assert!(seen.contains("Not approved, so I published nothing."), "{seen}");
    assert!(seen.contains("reason      - it's the old login"), "{seen}");
}

#[test]
fn a_person_who_leaves_has_not_approved() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until("at it? ").press("\u{4}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 3, "{seen}");
    assert!(seen.contains("No answer is never a yes"), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn inside_an_attempt_there_is_no_demo() {
    let ran = place().run_env(&[("CHECKREIN_JOB_ID", "7")], &["demo"]);
    assert!(ran.code == 1 && ran.stderr.contains("inside an agent's attempt"), "{}", ran.seen());
}
