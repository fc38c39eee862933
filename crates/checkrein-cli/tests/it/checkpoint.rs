use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use insta::{allow_duplicates, assert_snapshot};
use serde_json::{Value, json};

use crate::place::{BINARY, Place, Ran};

const TENANT: &str = "\
workers:
  analyst:
    autonomy: semi_supervised
  researcher:
    autonomy: autonomous
  manager:
    autonomy: manual
  tuned:
    autonomy: { level: semi_supervised, checkpoint_types: [invoice] }
";

/// Asks for an approval of `deliverable` under an id of its own.
fn create(place: &Place, id: &str, deliverable: &str) -> Ran {
    let arguments = ["checkpoint", "create", "--worker", "w", "--phase", "p", "--json", "--id", id];
    place.run(&[&arguments[..], &["--deliverable", deliverable]].concat())
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// What is judged is what was written (R2), and what nobody can see is not approved by the way (R17).
#[test]
fn what_reading_would_change_is_refused_and_bytes_are_confirmed() {
    let place = Place::new();
    for (deliverable, expected) in [
        (r#"{"n": 9007199254740993}"#, "the number `9007199254740993` would come back as another one"),
        (r#"{"a": 1, "a": 2}"#, "the key `a` is given twice"),
    ] {
        let ran = create(&place, "n", deliverable);
        assert_eq!(ran.code, 2, "{}", ran.seen());
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
    assert_eq!(create(&place, "n", r#"{"n": "9007199254740993"}"#).json()["status"], "pending");
    let typo = ["checkpoint", "create", "--worker", "w", "--type", " x", "--deliverable", "d"];
    let refused = place.run(&typo);
    assert_eq!(refused.code, 2, "{}", refused.seen());
    assert!(refused.stderr.contains("type ` x` begins or ends with white space"), "{}", refused.stderr);
    fs::write(place.path().join("logo.png"), [0xff, 0]).unwrap();
    let asked = place.run(&["checkpoint", "create", "--worker", "w", "--file", "logo.png", "--id", "b"]);
    assert_eq!(asked.code, 3, "{}", asked.seen());
    let token = place.token("reviewer", "ann");
    let refused = place.run_as(&token, &["approve", "b"]);
    assert_eq!(refused.code, 6, "{}", refused.seen());
    assert!(refused.stderr.contains("2 bytes that are not text") && refused.stderr.contains("--confirm"));
    assert_eq!(place.run_as(&token, &["approve", "b", "--confirm"]).code, 0);
}

#[test]
fn create_show_and_wait_are_a_contract() {
    let place = Place::new();
    let created = create(&place, "c1", "draft").json();
    let contract = [
        "id",
        "status",
        "worker",
        "worker_name",
        "phase",
        "type",
        "digest",
        "created_at",
        "resolved_at",
        "reason",
        "rejection_reason",
        "resolved_by",
    ];
    assert_eq!(keys(&created), contract);
    assert_eq!(created["status"], "pending");
    assert_eq!((&created["worker"], &created["worker_name"]), (&json!("w"), &json!("w")));
    assert_eq!((&created["phase"], &created["type"]), (&json!("p"), &json!("deliverable")));
    for unset in ["resolved_at", "reason", "resolved_by"] {
        assert_eq!(created[unset], Value::Null, "{unset}");
    }
    let whole = [&contract[..], &["deliverable", "round", "comments"]].concat();
    for arguments in [
        ["checkpoint", "show", "c1", "--json"].as_slice(),
        &["checkpoint", "wait", "c1", "--timeout", "0s", "--json"],
    ] {
        let shown = place.run(arguments).json();
        assert_eq!(keys(&shown), whole);
        assert_eq!((&shown["deliverable"], &shown["round"]), (&json!("draft"), &json!(1)));
        assert_eq!(shown["digest"], created["digest"]);
    }
}

#[test]
fn the_exit_code_tells_a_script_how_it_stands() {
    let place = Place::new().file("tenant.yaml", TENANT).env("CHECKREIN_TENANT", "tenant.yaml");
    let token = place.token("admin", "ann");
    let ask = |id: &str, worker: &str| {
        place.run(&["checkpoint", "create", "--worker", worker, "--id", id, "--deliverable", "x", "--json"])
    };
    for (verdict, worker, status, code) in [
        (&[][..], "researcher", "not_required", 0),
        (&[], "manager", "pending", 3),
        (&["approve"], "manager", "approved", 0),
        (&["reject", "-m", "why"], "manager", "rejected", 5),
        (&["request-changes", "-m", "why"], "manager", "changes_requested", 5),
        (&["checkpoint", "withdraw", "-m", "why"], "manager", "withdrawn", 5),
    ] {
        ask(status, worker);
        if !verdict.is_empty() {
            let given = place.run_as(&token, &[verdict, &[status]].concat());
            assert_eq!(given.code, 0, "{}", given.seen());
        }
        let wait = ["checkpoint", "wait", status, "--timeout", "50ms", "--json"];
        for ran in [ask(status, worker), place.run(&wait)] {
            assert_eq!((&ran.json()["status"], ran.code), (&json!(status), code), "{}", ran.seen());
        }
        let plain = place.run(&wait[..5]);
        assert!(plain.stdout.starts_with(&format!("{status} {status}")), "{}", plain.seen());
        assert_eq!(plain.code, code);
    }
    let rejected = ask("rejected", "manager").json();
    assert_eq!((&rejected["reason"], &rejected["rejection_reason"]), (&json!("why"), &json!("why")));
    let changes = ask("changes_requested", "manager").json();
    assert_eq!((&changes["reason"], &changes["rejection_reason"]), (&json!("why"), &json!("")));
}

#[test]
fn without_an_id_each_call_is_a_new_checkpoint() {
    let place = Place::new();
    let create =
        || place.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--json"]).json();
    let (first, second) = (create(), create());
    assert_ne!(first["id"], second["id"]);
    assert_eq!(first["digest"], second["digest"]);
}

#[test]
fn an_id_stands_for_one_submission() {
    let place = Place::new();
    let first = create(&place, "c1", "draft").json();
    let again = create(&place, "c1", "draft");
    assert_eq!((again.json(), again.code), (first.clone(), 3));
    let base = [("--worker", "w"), ("--phase", "p"), ("--type", "deliverable"), ("--deliverable", "draft")];
    for other in ["--worker", "--phase", "--type", "--deliverable"] {
        let mut arguments = vec!["checkpoint", "create", "--id", "c1"];
        for (name, value) in base {
            arguments.extend([name, if name == other { "other" } else { value }]);
        }
        let ran = place.run(&arguments);
        if other == "--type" {
            assert_snapshot!(ran.seen(), @r"
            -- stderr
            error: checkpoint `c1` was submitted before with other content
              hint: an id stands for one content; take another id for this one
            -- exit 6
            ");
        }
        assert_eq!(ran.code, 6, "{other}: {}", ran.seen());
    }
    assert_eq!(place.run(&["checkpoint", "list", "--json"]).json()["items"], json!([first]));
}

#[test]
fn a_restarted_worker_gets_the_answer_it_had() {
    let place = Place::new();
    create(&place, "c1", "draft");
    let token = place.token("reviewer", "ann");
    let approved = place.run_as(&token, &["approve", "c1", "-m", "fine", "--json"]).json();
    let again = place.run(&[
        "checkpoint",
        "create",
        "--worker",
        "w",
        "--phase",
        "p",
        "--id",
        "c1",
        "--deliverable",
        "draft",
        "--wait",
        "--json",
    ]);
    assert_eq!((again.json(), again.code), (approved, 0));
}

#[test]
fn a_digest_is_that_of_the_bytes_or_of_canonical_json() {
    let place = Place::new().file("notes.md", "# Notes\n\nübermorgen\n");
    fs::write(place.path().join("image.bin"), [0, 159, 146, 150, 255]).unwrap();
    fs::write(place.path().join("empty"), "").unwrap();
    fs::write(place.path().join("canonical"), r#"{"a":[1,"ü",1e+30],"b":{"x":true,"y":null}}"#).unwrap();
    fs::write(place.path().join("text"), "just { text").unwrap();
    let sum = |name: &str| {
        let line = place.shell(&format!("sha256sum {name}")).stdout;
        line.split(' ').next().unwrap().to_owned()
    };
    let digest = |option: &str, value: &str| {
        let ran = place.run(&["checkpoint", "create", "--worker", "w", option, value, "--json"]);
        ran.json()["digest"].as_str().unwrap().to_owned()
    };
    for name in ["notes.md", "image.bin", "empty"] {
        assert_eq!(digest("--file", name), sum(name), "{name}");
    }
    for json in [
        r#"{"b": {"y": null, "x": true}, "a": [1.0, "\u00fc", 1e30]}"#,
        r#"  {"a":[1,"ü",1000000000000000000000000000000],"b":{"x":true,"y":null}}  "#,
    ] {
        assert_eq!(digest("--deliverable", json), sum("canonical"), "{json}");
    }
    assert_eq!(digest("--deliverable", "just { text"), sum("text"));
    // A file is judged as the bytes it has, also where they are JSON.
    fs::write(place.path().join("spaced.json"), r#"{ "b": 1 }"#).unwrap();
    assert_eq!(digest("--file", "spaced.json"), sum("spaced.json"));
}

#[test]
fn deliverables_come_back_as_they_were() {
    let place = Place::new().file("notes.md", "# Notes\n");
    fs::write(place.path().join("image.bin"), [0, 159, 146, 150, 255]).unwrap();
    for (id, option, value, expected) in [
        ("text", "--deliverable", "- a list of one", json!("- a list of one")),
        ("json", "--deliverable", r#"{"b": [1, 2], "a": null}"#, json!({"a": null, "b": [1, 2]})),
        ("list", "--deliverable", "[1, 2]", json!([1, 2])),
        ("number", "--deliverable", "42", json!("42")),
        ("file", "--file", "notes.md", json!("# Notes\n")),
        ("bytes", "--file", "image.bin", json!({"base64": "AJ+Slv8="})),
        ("stdin", "--file", "-", json!("from a pipe")),
    ] {
        let arguments = ["checkpoint", "create", "--worker", "w", "--id", id, option, value];
        let created = place.run_with(&arguments, "from a pipe");
        assert_eq!(created.code, 3, "{id}: {}", created.seen());
        let shown = place.run(&["checkpoint", "show", id, "--json"]).json();
        assert_eq!(shown["deliverable"], expected, "{id}");
    }
}

#[test]
fn a_deliverable_takes_sixteen_mebibytes() {
    let place = Place::new();
    fs::write(place.path().join("full"), vec![b'x'; 16 << 20]).unwrap();
    fs::write(place.path().join("larger"), vec![b'x'; (16 << 20) + 1]).unwrap();
    let create =
        |file: &str| place.run(&["checkpoint", "create", "--worker", "w", "--id", file, "--file", file]);
    assert_eq!(create("full").code, 3);
    let shown = place.run(&["checkpoint", "show", "full", "--json"]).json();
    assert_eq!(shown["deliverable"].as_str().unwrap().len(), 16 << 20);
    assert_snapshot!(create("larger").seen(), @r"
    -- stderr
    error: `larger` is larger than 16 MiB
    -- exit 2
    ");
    assert_eq!(place.run(&["checkpoint", "show", "larger"]).code, 6);
}

#[test]
fn mistakes_are_named_and_leave_nothing_behind() {
    let place = Place::new();
    for (arguments, expected) in [
        (&["--worker", "w"][..], "--deliverable"),
        (&["--deliverable", "x"], "--worker"),
        (&["--worker", "w", "--deliverable", "x", "--file", "y"], "cannot be used with"),
        (&["--worker", "w", "--file", "missing"], "`missing` cannot be read"),
        (&["--worker", " ", "--deliverable", "x"], "`worker` is empty"),
        (&["--worker", "w", "--type", "", "--deliverable", "x"], "`type` is empty"),
        (&["--worker", "w", "--id", "", "--deliverable", "x"], "cannot be an id"),
        (&["--worker", "w", "--id", "a\nb", "--deliverable", "x"], "`a\\nb` cannot be an id"),
        (&["--worker", "w", "--deliverable", "x", "--timeout", "1s"], "--wait"),
        (&["--worker", "w", "--deliverable", "x", "--wait", "--timeout", "soon"], "such as 90s"),
    ] {
        let ran = place.run(&[&["checkpoint", "create"], arguments].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.seen());
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(place.run(&["checkpoint", "list", "--json"]).json(), json!({"items": [], "next": null}));
}

#[test]
fn an_unknown_id_is_not_found() {
    let place = Place::new();
    for command in ["show", "wait"] {
        allow_duplicates! { assert_snapshot!(place.run(&["checkpoint", command, "nobody"]).seen(), @r"
        -- stderr
        error: there is no checkpoint `nobody`
          hint: `checkrein checkpoint list` shows all there are
        -- exit 6
        "); }
    }
}

#[test]
fn lists_are_in_creation_order_with_filters_and_a_cursor() {
    let place = Place::new().env("DWORKERS_DEFAULT_AUTONOMY", "manual");
    let token = place.token("reviewer", "ann");
    for (id, worker, phase, kind) in [
        ("z", "ann", "build", "deliverable"),
        ("a", "bob", "build", "final_output"),
        ("m", "ann", "test", "deliverable"),
        ("b", "bob", "test", "deliverable"),
    ] {
        let ran = place.run(&[
            "checkpoint",
            "create",
            "--worker",
            worker,
            "--phase",
            phase,
            "--type",
            kind,
            "--id",
            id,
            "--deliverable",
            id,
        ]);
        assert_eq!(ran.code, 3, "{}", ran.seen());
    }
    place.run_as(&token, &["approve", "a"]);
    let ids = |items: &Value| -> String {
        items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
    };
    for (filter, expected) in [
        (&[][..], "zamb"),
        (&["--status", "pending"], "zmb"),
        (&["--status", "approved"], "a"),
        (&["--status", "rejected"], ""),
        (&["--worker", "ann"], "zm"),
        (&["--phase", "test"], "mb"),
        (&["--type", "deliverable"], "zmb"),
        (&["--worker", "bob", "--type", "deliverable"], "b"),
    ] {
        let listed = place.run(&[&["checkpoint", "list", "--json"], filter].concat());
        assert_eq!(ids(&listed.json()["items"]), expected, "{filter:?}");
    }
    let mut all = String::new();
    let mut after = "0".to_owned();
    loop {
        let page = place
            .run(&["checkpoint", "list", "--status", "pending", "--limit", "2", "--after", &after, "--json"])
            .json();
        all.push_str(&ids(&page["items"]));
        match page["next"].as_i64() {
            Some(next) => after = next.to_string(),
            None => break,
        }
    }
    assert_eq!(all, "zmb");
    assert_eq!(ids(&place.run(&["inbox", "--json"]).json()), "zmb");
    for list in [&["inbox"][..], &["inbox", "--json"], &["checkpoint", "list"]] {
        let none = place.run(&[list, &["--limit", "0"]].concat());
        assert!(none.code == 2 && none.stderr.contains("a whole number above 0"), "{}", none.seen());
    }
    let odd = place.run(&["checkpoint", "list", "--status", "open"]);
    assert!(odd.code == 2 && odd.stderr.contains("pending, approved, rejected"), "{}", odd.seen());
}

#[test]
fn the_inbox_is_for_a_person() {
    let place = Place::new();
    assert_eq!(place.run(&["inbox"]).stdout, "Nothing waits for you.\n");
    create(&place, "c1", "draft");
    create(&place, "c2", "draft");
    assert_snapshot!(place.run(&["inbox"]).seen());
    assert_snapshot!(place.run(&["checkpoint", "list", "--limit", "1"]).seen());
}

#[test]
fn a_program_that_reads_the_inbox_is_told_that_there_is_more() {
    let place = Place::new();
    create(&place, "c1", "draft");
    create(&place, "c2", "draft");
    for (limit, listed, said) in
        [("1", 1, "note: there are more than 1; `--limit` shows them\n"), ("2", 2, "")]
    {
        let ran = place.run(&["inbox", "--json", "--limit", limit]);
        let count = ran.json().as_array().map(Vec::len);
        assert_eq!((count, ran.stderr.as_str()), (Some(listed), said), "{}", ran.seen());
    }
}

#[test]
fn what_a_worker_hands_in_cannot_command_the_terminal() {
    let place = Place::new();
    let evil = "\u{1b}[2Kall fine\u{1b}]0;owned\u{7}\u{202e}";
    let ran = place.run(&["checkpoint", "create", "--worker", "w", "--id", "c1", "--deliverable", evil]);
    assert_eq!(ran.code, 3);
    let shown = place.run(&["checkpoint", "show", "c1"]).stdout;
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']) && shown.contains("all fine"), "{shown:?}");
}

#[test]
fn names_are_no_disguise() {
    let place = Place::new();
    for (name, values) in [
        ("worker", ["w\nann publish", "p", "deliverable", "c1"]),
        ("phase", ["w", "\u{1b}[2K", "deliverable", "c1"]),
        ("type", ["w", "p", "deliverable\u{202e}", "c1"]),
    ] {
        let [worker, phase, kind, id] = values;
        let arguments = ["checkpoint", "create", "--worker", worker, "--phase", phase, "--type", kind];
        let ran = place.run(&[&arguments[..], &["--id", id, "--deliverable", "x"]].concat());
        let told = format!("error: `{name}` has characters that do not show\n");
        assert_eq!((ran.stderr, ran.code), (told, 2));
    }
    let ran =
        place.run(&["checkpoint", "create", "--worker", "w", "--id", "x\u{202e}y", "--deliverable", "x"]);
    assert_eq!(ran.code, 2, "{}", ran.seen());
    assert_eq!(place.run(&["checkpoint", "list"]).stdout, "There is no such checkpoint.\n");
}

#[test]
fn what_a_person_is_told_to_type_does_nothing_else() {
    for (id, typed) in [
        ("report-7", "report-7"),
        ("a b", "'a b'"),
        ("x; touch owned #", "'x; touch owned #'"),
        ("$(touch owned)", "'$(touch owned)'"),
        ("it's `touch owned`", r"'it'\''s `touch owned`'"),
        ("-m", "-- -m"),
    ] {
        let place = Place::new();
        let arguments = ["checkpoint", "create", "--worker", "w", "--deliverable", "x"];
        let asked = place.run(&[&arguments[..], &[&format!("--id={id}")]].concat());
        let line = format!("checkrein approve {typed}");
        let told = format!("note: deliverable waits for a person: `{line}`\n");
        assert_eq!((asked.stderr, asked.code), (told, 3));
        let token = place.token("reviewer", "ann");
        let pasted = place.shell(&format!("CHECKREIN_TOKEN={token} {line}"));
        assert_eq!(pasted.stdout, format!("approved {id}\n"), "{}", pasted.seen());
        assert!(!place.path().join("owned").exists());
    }
}

#[test]
fn a_wait_ends_at_its_timeout_without_an_answer() {
    let place = Place::new();
    create(&place, "c1", "draft");
    let started = Instant::now();
    let ran = place.run(&["checkpoint", "wait", "c1", "--timeout", "200ms"]);
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!((ran.stdout.as_str(), ran.code), ("pending c1\n", 3));
    let created = place.run(&[
        "checkpoint",
        "create",
        "--worker",
        "w",
        "--id",
        "c2",
        "--deliverable",
        "x",
        "--wait",
        "--timeout",
        "50ms",
    ]);
    assert_snapshot!(created.seen(), @r"
    -- stdout
    pending c2
    -- stderr
    note: deliverable waits for a person: `checkrein approve c2`
    -- exit 3
    ");
}

#[test]
fn a_waiter_in_another_process_is_released_with_the_reason() {
    let place = Place::new();
    let token = place.token("reviewer", "ann");
    for (id, verdict, expected, code) in [
        ("c1", &["reject", "c1", "-m", "the numbers are old"][..], "rejected c1: the numbers are old\n", 5),
        (
            "c2",
            &["request-changes", "c2", "-m", "- cite the source"],
            "changes_requested c2: - cite the source\n",
            5,
        ),
        ("c3", &["approve", "c3"], "approved c3\n", 0),
    ] {
        let mut command = place.command(BINARY);
        command.args(["checkpoint", "create", "--worker", "w", "--id", id, "--deliverable", "x", "--wait"]);
        let worker = command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let worker = worker.spawn().unwrap();
        let asked = Instant::now();
        while place.run(&["checkpoint", "show", id]).code != 0 {
            assert!(asked.elapsed() < Duration::from_secs(30), "the worker never asked");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(place.run_as(&token, verdict).code, 0);
        let given = Instant::now();
        let output = worker.wait_with_output().unwrap();
        assert!(given.elapsed() < Duration::from_secs(5), "the waiter slept on");
        let told = (String::from_utf8(output.stdout).unwrap(), output.status.code());
        assert_eq!(told, (expected.to_owned(), Some(code)));
    }
}

#[test]
fn an_automatic_approval_says_that_nobody_looked() {
    let settings = "\
workers:
  robot: { autonomy: manual, reviewer: auto-approve }
  free: { autonomy: autonomous, reviewer: auto-approve }
  held: { autonomy: manual, reviewer: pending }
";
    let place = Place::new().file("checkrein.yaml", settings);
    let ask = |worker: &str| {
        place.run(&["checkpoint", "create", "--worker", worker, "--deliverable", "x", "--json"])
    };
    let robot = ask("robot");
    assert_eq!(robot.code, 0, "{}", robot.seen());
    let robot = robot.json();
    assert_eq!(robot["status"], "approved");
    assert_eq!(robot["resolved_by"], "auto-approve");
    assert_eq!(robot["reason"], "approved automatically");
    assert!(robot["resolved_at"].is_string());
    let kept = place.run(&["checkpoint", "show", robot["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!((&kept["resolved_by"], &kept["deliverable"]), (&json!("auto-approve"), &json!("x")));
    assert_eq!(ask("free").json()["status"], "not_required");
    assert_eq!(ask("held").json()["status"], "pending");
    assert_eq!(ask("somebody").json()["status"], "pending");
}

#[test]
fn the_policy_of_the_worker_is_asked() {
    let place = Place::new().file("tenant.yaml", TENANT);
    let ask = |environment: &[(&str, &str)], worker: &str, kind: &str| {
        let arguments =
            ["checkpoint", "create", "--worker", worker, "--type", kind, "--deliverable", "x", "--json"];
        let ran = place.run_env(environment, &arguments);
        ran.json()["status"].as_str().unwrap().to_owned()
    };
    let tenant = ("CHECKREIN_TENANT", "tenant.yaml");
    let autonomous = ("DWORKERS_DEFAULT_AUTONOMY", "autonomous");
    let manual = ("DWORKERS_DEFAULT_AUTONOMY", "manual");
    for (environment, worker, kind, expected) in [
        (&[][..], "anybody", "deliverable", "pending"),
        (&[], "anybody", "phase_transition", "pending"),
        (&[], "anybody", "final_output", "pending"),
        (&[], "anybody", "intermediate", "not_required"),
        (&[], "anybody", "Deliverable", "not_required"),
        (&[tenant], "manager", "anything", "pending"),
        (&[tenant], "analyst", "deliverable", "pending"),
        (&[tenant], "analyst", "intermediate", "not_required"),
        (&[tenant], "researcher", "deliverable", "not_required"),
        (&[tenant], "tuned", "invoice", "pending"),
        (&[tenant], "tuned", "deliverable", "not_required"),
        (&[autonomous], "anybody", "deliverable", "not_required"),
        (&[manual], "anybody", "anything", "pending"),
        (&[tenant, autonomous], "manager", "anything", "pending"),
        (&[tenant, autonomous], "analyst", "deliverable", "pending"),
        (&[tenant, autonomous], "newcomer", "deliverable", "not_required"),
        (&[tenant, manual], "researcher", "deliverable", "not_required"),
        (&[tenant, manual], "newcomer", "anything", "pending"),
    ] {
        assert_eq!(ask(environment, worker, kind), expected, "{environment:?} {worker} {kind}");
    }
}

#[test]
fn a_bad_level_is_refused_before_anything_is_recorded() {
    let place = Place::new().file("tenant.yaml", "workers:\n  analyst:\n    autonomy: manuel\n");
    let arguments = ["checkpoint", "create", "--worker", "analyst", "--deliverable", "x"];
    for environment in [("CHECKREIN_TENANT", "tenant.yaml"), ("DWORKERS_DEFAULT_AUTONOMY", "manuel")] {
        let ran = place.run_env(&[environment], &arguments);
        assert_eq!(ran.code, 2, "{}", ran.seen());
        for word in ["manuel", "manual", "semi_supervised", "autonomous"] {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
    }
    assert_eq!(place.run(&["inbox"]).stdout, "Nothing waits for you.\n");
}

#[test]
fn the_store_is_the_nearest_one_upwards() {
    let place = Place::new().file("deep/er/file", "").file("deep/.checkrein/experts/own/config.yaml", "{}");
    std::fs::create_dir(place.path().join(".checkrein")).unwrap();
    assert_eq!(create(&place, "c1", "draft").code, 3);
    assert!(place.path().join(".checkrein/store.db").exists());
    assert!(place.read(".checkrein/.gitignore").contains("store.db*"), "nothing of it is committed");
    let below = place.shell("cd deep/er && checkrein checkpoint show c1");
    assert_eq!(below.code, 0, "{}", below.seen());
    assert!(!place.path().join("deep/.checkrein/store.db").exists(), "experts are no store");
    let elsewhere = place.run(&["checkpoint", "show", "c1", "--store", "other.db"]);
    assert_eq!(elsewhere.code, 6);
    let named = place.run_env(&[("CHECKREIN_STORE", "other.db")], &["inbox"]);
    assert_eq!(named.stdout, "Nothing waits for you.\n");
}
