use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::place::Place;

#[test]
fn a_secret_is_shown_once_and_kept_nowhere() {
    let place = Place::new().env("CHECKREIN_STORE", "store/store.db");
    let made = place.run(&["token", "create", "--role", "reviewer", "--name", "ann", "--json"]).json();
    let secret = made["token"].as_str().unwrap();
    assert!(secret.starts_with("chk_") && secret.len() > 40, "{secret}");
    for arguments in [&["token", "list"][..], &["token", "list", "--json"]] {
        let listed = place.run(arguments).stdout;
        assert!(listed.contains("ann") && listed.contains("reviewer"), "{listed}");
        assert!(!listed.contains(secret), "{listed}");
    }
    for entry in fs::read_dir(place.path().join("store")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "the store holds the secret itself");
    }
}

#[test]
fn a_token_that_is_no_longer_good_says_since_when() {
    let place = Place::new();
    let make = |expires: &str| {
        let made = place.run(&["token", "create", "--role", "agent", "--expires", expires, "--json"]).json();
        (made["id"].as_str().unwrap().to_owned(), made["expires_at"].as_str().unwrap().to_owned())
    };
    let ((good, good_until), (old, old_since)) = (make("1h"), make("0s"));
    let (gone, _) = make("1h");
    let revoked = place.run(&["token", "revoke", &gone, "--json"]).json();
    assert_eq!((&revoked["id"], &revoked["role"]), (&gone.clone().into(), &"agent".into()));
    let since = revoked["revoked_at"].as_str().unwrap();
    let again = place.run(&["token", "revoke", &gone, "--json"]).json();
    assert_eq!(again, revoked, "the first time counts");
    let listed = place.run(&["token", "list"]).stdout;
    for (id, state) in [
        (&good, format!("expires {good_until}")),
        (&old, format!("expired {old_since}")),
        (&gone, format!("revoked {since}")),
    ] {
        let row = listed.lines().find(|line| line.starts_with(id.as_str()));
        assert!(row.is_some_and(|row| row.trim_end().ends_with(&state)), "{id} {state}: {listed}");
    }
}

#[test]
fn the_store_is_its_owners_alone() {
    let place = Place::new().env("CHECKREIN_STORE", "store/store.db");
    place.token("reviewer", "ann");
    let mode = |path: &str| fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("store"), mode("store/store.db")), (0o700, 0o600));
}

#[test]
fn each_role_may_do_what_the_matrix_says() {
    let place = Place::new();
    place.run(&["checkpoint", "create", "--worker", "w", "--id", "c1", "--deliverable", "x"]);
    let read = &["inbox"][..];
    let ask = &["checkpoint", "create", "--worker", "w", "--deliverable", "x"];
    let judge = &["approve", "c1"];
    let manage = &["token", "list"];
    for (role, codes) in [
        ("viewer", [0, 1, 1, 1]),
        ("agent", [0, 3, 1, 1]),
        ("reviewer", [0, 3, 0, 1]),
        ("admin", [0, 3, 0, 0]),
    ] {
        let token = place.token(role, "somebody");
        let actual = [read, ask, judge, manage].map(|arguments| place.run_as(&token, arguments).code);
        assert_eq!(actual, codes, "{role}");
    }
}

#[test]
fn tokens_are_made_outside_of_attempts() {
    let place = Place::new();
    for role in ["reviewer", "admin", "agent"] {
        let ran = place.run_env(&[("CHECKREIN_BRIEF", "brief.md")], &["token", "create", "--role", role]);
        assert_eq!(ran.code, 1, "{}", ran.seen());
        assert!(ran.stdout.is_empty() && ran.stderr.contains("that takes the role admin"), "{}", ran.seen());
    }
}

#[test]
fn mistakes_are_named() {
    let place = Place::new();
    assert_snapshot!(place.run(&["token", "revoke", "nobody"]).seen(), @r"
    -- stderr
    error: there is no token `nobody`
    -- exit 6
    ");
    for (arguments, expected) in [
        (&["--role", "king"][..], "viewer, agent, reviewer or admin"),
        (&["--role", "reviewer", "--name", " "], "`name` is empty"),
        (&["--role", "reviewer", "--expires", "soon"], "such as 90s"),
        (&["--role", "reviewer", "--expires", "9999999999d"], "further away than times go"),
    ] {
        let ran = place.run(&[&["token", "create"], arguments].concat());
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{arguments:?}: {}", ran.seen());
    }
    assert_eq!(place.run(&["token", "list", "--json"]).json(), serde_json::json!([]));
}
