use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::place::{Place, Ran};
use crate::store::{aged, ask, place, store};

/// The state of one check, and what is said about it.
fn check(ran: &Ran, name: &str) -> (String, String) {
    let answer = ran.json();
    let found = answer["checks"].as_array().unwrap().iter().find(|check| check["check"] == name);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = found.unwrap_or_else(|| panic!("no check `{name}`: {}", ran.seen()));
    (text(&found["state"]), format!("{}; {}", text(&found["found"]), text(&found["remedy"])))
}

fn doctor(place: &Place) -> Ran {
    place.run(&["doctor", "--json"])
}

#[test]
fn a_sound_place_is_good() {
    let place = place().file("checkrein.yaml", "autonomy: { job: guided }\n");
    ask(&place, "a");
    let ran = doctor(&place);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    for name in ["store", "open", "write", "space", "file", "integrity", "schema", "clock", "settings"] {
        assert_eq!(check(&ran, name).0, "good", "{name}: {}", ran.seen());
    }
    assert_eq!(check(&ran, "settings").1, "checkrein.yaml; ");
    assert!(check(&ran, "verdicts").1.contains("a guard rail"));
    let sandbox = check(&ran, "sandbox").1;
    assert!(sandbox.starts_with("mount and process namespaces"), "{}", ran.seen());
    assert!(sandbox.contains(", system calls filtered, memory limited "), "{}", ran.seen());
    let table = place.run(&["doctor"]);
    assert!(table.stdout.starts_with("check") && table.stdout.contains("what to do"), "{}", table.seen());
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let place = place();
    let ran = doctor(&place);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    assert_eq!(check(&ran, "store").0, "info");
    assert_eq!(check(&ran, "write").0, "good");
    assert!(!store(&place).exists());
}

#[test]
fn what_is_broken_is_said_with_what_to_do() {
    let garbage = place();
    fs::write(store(&garbage), "garbage ".repeat(100)).unwrap();

    let unsound = place();
    ask(&unsound, "a");
    let bytes = fs::read(store(&unsound)).unwrap();
    let at = bytes.windows(10).position(|window| window == b"draft of a").unwrap();
    let mut harmed = bytes;
    harmed[at] = b'D';
    fs::write(store(&unsound), harmed).unwrap();

    let settings = place().file("checkrein.yaml", "autonomi: full\n");
    for (place, name, words) in [
        (garbage, "open", "is not a Checkrein store"),
        (unsound, "integrity", "is not what it was"),
        (settings, "settings", "did you mean `autonomy`?"),
    ] {
        let ran = doctor(&place);
        let (state, said) = check(&ran, name);
        assert_eq!((ran.code, state.as_str()), (1, "broken"), "{}", ran.seen());
        assert!(said.contains(words) && !said.ends_with("; "), "{said}");
    }
}

#[test]
fn what_should_be_mended_is_a_warning() {
    let open = place();
    ask(&open, "a");
    fs::set_permissions(store(&open), fs::Permissions::from_mode(0o644)).unwrap();

    let writable = place();
    ask(&writable, "a");
    let directory = writable.path().join(".checkrein");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();

    let ahead = place();
    ask(&ahead, "a");
    let export = ahead.run(&["store", "export"]).stdout;
    let export: String = export.lines().map(|line| aged(line, "2999-01-01T00:00:00Z")).collect();
    let ahead = place();
    ahead.run_with(&["store", "import", "-"], &export);

    for (place, name, words) in [
        (open, "file", "permissions 644: others may read; chmod go-rwx "),
        (writable, "directory", "permissions 777: others may write; chmod go-rwx "),
        (ahead, "clock", "the store has an event of 2999-01-01T00:00:00Z; set the clock"),
    ] {
        let ran = doctor(&place);
        let (state, said) = check(&ran, name);
        assert_eq!((ran.code, state.as_str()), (0, "warning"), "{}", ran.seen());
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn inside_an_attempt_verdicts_are_refused_and_doctor_says_so() {
    let place = place().env("CHECKREIN_JOB_ID", "7");
    assert!(check(&doctor(&place), "verdicts").1.contains("refused"));
}
