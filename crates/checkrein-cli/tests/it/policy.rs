use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::place::Place;

/// The tenant file of the workers' documentation.
const TENANT: &str = "\
workers:
  analyst:
    autonomy: semi_supervised
  researcher:
    autonomy: autonomous
  data_analyst:
    autonomy: semi_supervised
  manager:
    autonomy: manual
";

fn decide(request: &Value) -> Value {
    let ran = Place::new().run_with(&["policy", "decide", "--json"], &request.to_string());
    assert_eq!(ran.code, 0, "{}", ran.seen());
    ran.json()
}

#[test]
fn show_is_a_contract() {
    let place = Place::new();
    let show = |scope: &str| place.run(&["policy", "show", "--scope", scope, "--json"]).stdout;
    assert_snapshot!("show_workflow", show("workflow"));
    assert_snapshot!("show_worker", show("worker"));
    assert_snapshot!("show_job", show("job"));
}

#[test]
fn show_takes_a_block_or_a_level_on_top() {
    let place = Place::new();
    for (scope, autonomy, key, expected) in [
        ("workflow", r#"{"warning_tolerance": "high"}"#, "warning_tolerance", json!("high")),
        ("workflow", "assist", "warning_tolerance", json!("none")),
        ("workflow", r#""assist""#, "warning_tolerance", json!("none")),
        ("workflow", r#"{"level": null}"#, "level", json!(null)),
        ("job", "guided", "level", json!("guided")),
        ("job", r#"{"level": "guided", "error_tolerance": "low"}"#, "error_tolerance", json!("low")),
        (
            "worker",
            r#"{"level": "semi_supervised", "checkpoint_types": ["draft"]}"#,
            "hold_at",
            json!([{"on": "draft"}]),
        ),
    ] {
        let shown = place.run(&["policy", "show", "--scope", scope, "--autonomy", autonomy, "--json"]).json();
        assert_eq!(shown[key], expected, "{scope} {autonomy}");
    }
}

#[test]
fn explain_names_the_source_of_every_value() {
    let place = Place::new()
        .file("home/.config/checkrein/checkrein.yaml", "autonomy:\n  workflow:\n    error_tolerance: low\n")
        .file(
            "checkrein.yaml",
            "autonomy:\n  workflow:\n    level: assist\n    limits: {max_total_errors: 5}\n",
        )
        .file(
            "flow.yaml",
            "id: ship-it\n\
             autonomy:\n  warning_tolerance: medium\n  timeout: 2h\n  overrides:\n    evaluate: {check_in_frequency: per-step}\n\
             phases:\n  build: {}\n  evaluate: {}\n  release: {require_approval: true}\n",
        )
        .env("CHECKREIN_WORKFLOW_AUTONOMY", r#"{"ask": "always"}"#);
    assert_snapshot!(place.run(&["policy", "explain", "--workflow", "flow.yaml"]).seen());
}

#[test]
fn explain_writes_lengths_of_time_as_people_do() {
    let autonomy = r#"{"timeout": "2h", "budget": {"time": 5400}}"#;
    let explained = Place::new().run(&["policy", "explain", "--autonomy", autonomy, "--json"]).json();
    assert_eq!(explained["policy"]["timeout"], "2h");
    assert_eq!(explained["policy"]["budget"]["time"], "1h 30m");
}

#[test]
fn explain_shows_a_worker_by_name() {
    let place = Place::new().file("tenant.yaml", TENANT).env("CHECKREIN_TENANT", "tenant.yaml");
    assert_snapshot!(place.run(&["policy", "explain", "--scope", "worker", "--worker", "manager"]).seen());
}

#[test]
fn worker_entry_beats_the_environment_beats_the_default() {
    let level = |place: &Place, worker: &str| {
        place
            .run(&[
                "policy",
                "show",
                "--scope",
                "worker",
                "--worker",
                worker,
                "--tenant",
                "tenant.yaml",
                "--json",
            ])
            .json()["level"]
            .clone()
    };
    let place = Place::new().file("tenant.yaml", TENANT);
    assert_eq!(level(&place, "manager"), "manual");
    assert_eq!(level(&place, "stranger"), "semi_supervised");
    let place = place.env("DWORKERS_DEFAULT_AUTONOMY", "autonomous");
    assert_eq!(level(&place, "manager"), "manual");
    assert_eq!(level(&place, "stranger"), "autonomous");
}

#[test]
fn bad_levels_are_refused_with_their_place_and_the_valid_ones() {
    let place = Place::new()
        .file("tenant.yaml", "workers:\n  manager:\n    autonomy: manul\n")
        .file("keys.yaml", "workers:\n  manager:\n    autonmy: manual\n");
    let settings = Place::new().file("checkrein.yaml", "autonomy: {job: partially}\n");
    assert_snapshot!(
        [
            place.run(&["policy", "show", "--worker", "manager", "--tenant", "tenant.yaml"]).seen(),
            place.run(&["policy", "show", "--worker", "manager", "--tenant", "keys.yaml"]).seen(),
            settings.run(&["policy", "show", "--scope", "job"]).seen(),
            settings.run(&["policy", "show", "--scope", "worker"]).seen(),
            Place::new()
                .env("DWORKERS_DEFAULT_AUTONOMY", "semi")
                .run(&["policy", "show", "--scope", "worker"])
                .seen(),
            Place::new()
                .run(&["policy", "show", "--scope", "job", "--autonomy", "{\"level\": \"ful\"}"])
                .seen(),
            Place::new().run(&["policy", "show", "--scope", "job", "--worker", "x"]).seen(),
        ]
        .join("\n\n")
    );
}

#[test]
fn experts_have_levels_of_their_own() {
    let place = Place::new()
        .file(".checkrein/experts/auditor/config.yaml", "$extends: validator\ndescription: audits\n")
        .file(
            ".checkrein/experts/lead/config.yaml",
            "$extends: auditor\nautonomy: {level: dependent, error_tolerance: low}\n",
        );
    for (expert, level) in [
        ("debugger", "full"),
        ("validator", "review"),
        ("researcher", "partial"),
        ("writer", "partial"),
        ("coder", "partial"),
        ("auditor", "review"),
        ("lead", "dependent"),
    ] {
        assert_eq!(
            place.run(&["policy", "show", "--expert", expert, "--json"]).json()["level"],
            level,
            "{expert}"
        );
    }
    assert_snapshot!(place.run(&["policy", "show", "--expert", "codr"]).seen());
}

#[test]
fn decide_is_a_contract() {
    let request = json!({
        "scope": "workflow",
        "autonomy": {"limits": {"max_total_warnings": 3, "on_limit_reached": "truncate"}, "error_tolerance": "low"},
        "boundary": {"kind": "phase", "phase": "build"},
        "response": {"status": "warning", "warnings": ["Style issue", {"text": "odd", "severity": "dire", "suggested_fix": "mend it"}],
                     "errors": [{"text": "minor slip", "severity": "low"}]},
        "totals": {"warnings": 2, "errors": 0},
        "findings_since_check_in": 2
    });
    assert_snapshot!(Place::new().run_with(&["policy", "decide", "--json"], &request.to_string()).seen());
}

#[test]
fn decide_reads_the_request_alone() {
    let place = Place::new()
        .file("checkrein.yaml", "autonomy: {workflow: {warning_tolerance: none}}\n")
        .env("CHECKREIN_WORKFLOW_AUTONOMY", "dry-run");
    let request =
        r#"{"scope": "workflow", "boundary": {"kind": "step"}, "response": {"warnings": ["Style issue"]}}"#;
    let ran = place.run_with(&["policy", "decide", "--json"], request);
    assert_eq!((&ran.json()["outcome"], ran.stderr.as_str()), (&json!("proceed"), ""));
}

#[test]
fn decide_answers_in_words_too() {
    let place = Place::new().file(
        "request.json",
        r#"{"scope": "workflow", "autonomy": "guarded", "boundary": {"kind": "step", "phase": "build"},
            "response": {"warnings": ["Style issue", "Deprecated API"], "errors": ["Build failed"]},
            "result_handling": {"on_failure": "continue"}}"#,
    );
    assert_snapshot!(place.run(&["policy", "decide", "request.json"]).seen());
}

#[test]
fn decide_tells_absent_from_null() {
    let request = |response: Value| {
        let mut request = json!({"scope": "workflow", "boundary": {"kind": "step"}});
        if response != json!("absent") {
            request["response"] = response;
        }
        decide(&request)["outcome"].clone()
    };
    assert_eq!(request(json!("absent")), "proceed");
    assert_eq!(request(json!(null)), "stop");
    assert_eq!(request(json!({})), "proceed");
}

#[test]
fn check_refuses_what_a_run_refuses_or_warns_about() {
    let place = Place::new().file(
        "flow.yaml",
        "id: ship-it\n\
         autonomy:\n  level: assist\n  warning_tolerance: lots\n  overrides:\n    build: {limits: {max_total_errors: 3}}\n\
         phases:\n  build:\n    steps:\n      - {id: a, run: make, result_handling: {on_failure: continue}}\n",
    );
    assert_snapshot!(place.run(&["policy", "check", "flow.yaml"]).seen());
    let show = place.run(&["policy", "show", "--workflow", "flow.yaml", "--json"]);
    assert_eq!((show.code, &show.json()["warning_tolerance"]), (0, &json!("lots")));
}

#[test]
fn check_without_files_looks_at_everything_here() {
    assert_snapshot!(Place::new().run(&["policy", "check"]).seen(), @r"
    -- stdout
    no settings here: the built-in defaults apply
    -- exit 0
    ");
    let place = Place::new()
        .file("checkrein.yaml", "tenant: people/tenant.yaml\nautonomy: {job: guided}\n")
        .file("people/tenant.yaml", TENANT)
        .file(".checkrein/experts/auditor/config.yaml", "$extends: validator\n");
    assert_snapshot!(place.run(&["policy", "check"]).seen(), @r"
    -- stdout
    checkrein.yaml: fine
    people/tenant.yaml: fine
    .checkrein/experts/auditor/config.yaml: fine
    -- exit 0
    ");
    let place = place.file("people/tenant.yaml", "workers: {a: {autonomy: full}, b: {autonomy: manual}}\n");
    let ran = place.run(&["policy", "check"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("people/tenant.yaml:1:15: workers.a.autonomy.level: unknown worker level `full`"),
        "{}",
        ran.stderr
    );
}

/// Settings come with a project, and whoever wrote those must not have something else read in their place.
#[test]
fn settings_of_a_project_lie_in_it() {
    let secret = || Place::new().file("home/.ssh/key", "PRIVATEKEY\n");
    let refused = |place: &Place, said: &str| {
        for command in ["policy explain --worker a", "policy check"] {
            let ran = place.shell(&format!("cd project && checkrein {command}"));
            assert_eq!(ran.code, 2, "{}", ran.seen());
            assert!(ran.stderr.contains(said) && !ran.seen().contains("PRIVATEKEY"), "{}", ran.seen());
        }
    };
    for tenant in ["/etc/hostname", "../../../../../../../etc/hostname", "link"] {
        let place = secret().file("project/checkrein.yaml", &format!("tenant: {tenant}\n"));
        std::os::unix::fs::symlink("../home/.ssh/key", place.path().join("project/link")).unwrap();
        refused(&place, "leads out of");
    }
    let place = secret().file("project/x", "");
    std::os::unix::fs::symlink("../home/.ssh/key", place.path().join("project/checkrein.yaml")).unwrap();
    refused(&place, "leads out of");
    for (settings, pipe) in [(None, "checkrein.yaml"), (Some("tenant: pipe\n"), "pipe")] {
        let place = Place::new().file("project/x", "");
        if let Some(settings) = settings {
            std::fs::write(place.path().join("project/checkrein.yaml"), settings).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(place.path().join("project").join(pipe)).status();
        assert!(made.unwrap().success());
        refused(&place, "is not a file");
    }
}

#[test]
fn a_model_is_no_option() {
    for (key, place) in [
        ("model: --settings=evil.json", "agents.claude.model"),
        ("models: {tactical: -x}", "agents.claude.models.tactical"),
    ] {
        let settings = format!("agents: {{claude: {{{key}}}}}\n");
        let ran = Place::new().file("checkrein.yaml", &settings).run(&["policy", "check"]);
        assert_eq!(ran.code, 2, "{}", ran.seen());
        assert!(ran.stderr.contains(place) && ran.stderr.contains("begins with `-`"), "{}", ran.seen());
    }
}

/// A file is judged alike whether it is named or found.
#[test]
fn check_judges_a_file_alike_named_or_found() {
    let expert = |name: &str| format!(".checkrein/experts/{name}/config.yaml");
    let place = Place::new()
        .file("checkrein.yaml", "tenant: tenant.yaml\n")
        .file("tenant.yaml", "workers: {a: {autonomy: {level: manual, checkpoint_types: [draft]}}}\n")
        .file(&expert("bare"), "$extends: plumber\n")
        .file(&expert("broken"), "autonomy: [\n")
        .file(&expert("heir"), "$extends: broken\n")
        .file(&expert("lost"), "$extends: codr\n")
        .file(&expert("odd"), "autonomy: {error_tolerance: some}\n");
    let found = place.run(&["policy", "check"]);
    assert_snapshot!(found.seen());
    for (file, code) in [("tenant.yaml", 2), (&expert("lost"), 2), (&expert("odd"), 2)] {
        let named = place.run(&["policy", "check", file]);
        assert_eq!(named.code, code, "{}", named.seen());
        for line in named.stderr.lines() {
            assert!(found.stderr.contains(line), "{line}");
        }
        assert!(named.stderr.contains(file), "{}", named.seen());
    }
    let heir = place.run(&["policy", "check", &expert("heir")]);
    assert!(heir.code == 2 && heir.stderr.contains("broken/config.yaml:1:11"), "{}", heir.seen());
}

#[test]
fn check_and_test_answer_programs() {
    let place = Place::new().file(
        "flow.yaml",
        "id: x\nautonomy:\n  level: guarded\n  error_tolerance: lots\nphases: {build: {steps: [{id: a, run: make}]}}\n",
    );
    let checked = place.run(&["policy", "check", "--json", "flow.yaml"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (2, ""));
    assert_eq!(
        checked.json()[2],
        json!({"gravity": "error", "source": "flow.yaml", "line": 4, "column": 3, "path": "autonomy.error_tolerance",
               "message": "unknown error_tolerance `lots`",
               "hint": "valid values: `none`, `low`, `medium`, `high`"})
    );
    let clean = Place::new().run(&["policy", "check", "--json"]);
    assert_eq!((clean.code, clean.json()), (0, json!([])));
    let place = place.file(
        "flow.yaml",
        "id: x\nautonomy:\n  level: guarded\n  error_tolerance: low\n  examples:\n    - {name: fine, expect: proceed}\nphases: {build: {}}\n",
    );
    assert_eq!(
        place.run(&["policy", "test", "--json", "flow.yaml"]).json(),
        json!([{"source": "flow.yaml", "line": 6, "column": 7, "path": "autonomy.examples[0]", "name": "fine",
                "passed": true, "failure": null}])
    );
}

#[test]
fn test_runs_the_examples_a_policy_carries() {
    let place = Place::new().file(
        "checkrein.yaml",
        "classify: {severity: {high: {add: [outage]}}}\n\
         autonomy:\n  workflow:\n    warning_tolerance: medium\n    examples:\n\
         \x20     - {name: medium is fine, response: {warnings: [Deprecated API]}, expect: proceed}\n\
         \x20     - {name: an outage is not, response: {warnings: [an outage]}, expect: {outcome: stop, rule: tolerance.warning}}\n",
    );
    assert_snapshot!(place.run(&["policy", "test"]).seen(), @r"
    -- stdout
    ok      checkrein.yaml:6  medium is fine
    ok      checkrein.yaml:7  an outage is not
    2 passed, 0 failed
    -- exit 0
    ");
    let place = place.file(
        "flow.yaml",
        "id: x\nautonomy:\n  examples:\n    - {boundary: {kind: phase, phase: build}, expect: hold}\nphases: {build: {}}\n",
    );
    assert_snapshot!(place.run(&["policy", "test", "flow.yaml"]).seen(), @r"
    -- stdout
    ok      checkrein.yaml:6  medium is fine
    ok      checkrein.yaml:7  an outage is not
    FAILED  flow.yaml:4  example expects hold, the policy says proceed
    2 passed, 1 failed
    -- exit 1
    ");
    assert_snapshot!(place.run(&["policy", "show", "--workflow", "flow.yaml"]).seen(), @r"
    -- stderr
    error: flow.yaml:4:7: autonomy.examples[0]: example expects hold, the policy says proceed
    -- exit 2
    ");
}

#[test]
fn classify_says_which_word_matched() {
    let place = Place::new().file("checkrein.yaml", "classify: {category: {style: {replace: [nit]}}}\n");
    assert_snapshot!(
        place
            .run(&["policy", "classify", "Build failed: auth token", "author", "nit: lint", "removed in v3"])
            .seen()
    );
    let json = place.run_with(&["policy", "classify", "--json"], "Slow query\n").json();
    assert_eq!(
        json,
        json!([{"text": "Slow query", "severity": "medium", "severity_word": null,
                "category": "performance", "category_word": "slow"}])
    );
}

#[test]
fn migrate_rewrites_the_level_and_nothing_else() {
    let before = "# our flow\nid: x\nautonomy:\n  level: dry-run   # careful\nphases: {}\n";
    let place = Place::new().file("flow.yaml", before);
    let printed = place.run(&["policy", "migrate", "--stdout", "flow.yaml"]);
    assert_eq!(place.read("flow.yaml"), before, "--stdout writes nothing");
    assert_snapshot!(place.run(&["policy", "migrate", "flow.yaml"]).seen(), @r"
    -- stderr
    flow.yaml:4: level `dry-run` is now check_in_frequency: per-step, warning_tolerance: none, error_tolerance: none, ask: when_findings
      note: it does not prevent writes, steps run for real
    -- exit 0
    ");
    assert_eq!(place.read("flow.yaml"), printed.stdout);
    assert_snapshot!(place.read("flow.yaml"), @r"
    # our flow
    id: x
    autonomy:
      check_in_frequency: per-step
      warning_tolerance: none
      error_tolerance: none
      ask: when_findings   # careful
    phases: {}
    ");
    assert_snapshot!(place.run(&["policy", "migrate", "flow.yaml"]).seen(), @r"
    -- stderr
    flow.yaml: no legacy level, nothing to do
    -- exit 0
    ");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let place = Place::new().file("bad.yaml", "a: [1\nb: 2\n");
    std::fs::write(place.path().join("latin.yaml"), b"id: \xe9\n").unwrap();
    for (file, expected) in [
        ("missing.yaml", "`missing.yaml` cannot be read: No such file or directory"),
        ("latin.yaml", "`latin.yaml` is not UTF-8 text (byte 4)"),
        ("bad.yaml", "bad.yaml:2:2: not valid YAML"),
    ] {
        let ran = place.run(&["policy", "check", file]);
        assert!(ran.stderr.contains(expected), "{}", ran.seen());
        assert_eq!(ran.code, 2);
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let ran = Place::new().shell("checkrein policy explain | head -1");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code), ("Policy of workflows\n", "", 0));
}

#[test]
fn only_your_own_settings_replace_what_is_protected() {
    let settings = "autonomy: {job: {protected_paths: {replace: [infra]}}}\n";
    let own = "home/.config/checkrein/checkrein.yaml";
    let place = Place::new().file(own, settings);
    let path = place.path().join(own).display().to_string();
    for arguments in [&["policy", "check"][..], &["policy", "check", own], &["policy", "check", &path]] {
        let checked = place.run(arguments);
        assert_eq!(checked.code, 0, "{}", checked.seen());
    }
    let explained = place.run(&["policy", "explain", "--scope", "job", "--json"]).json();
    assert_eq!(explained["policy"]["protected_paths"], serde_json::json!(["infra"]));
    let place = place.file("checkrein.yaml", settings);
    for arguments in
        [&["policy", "check"][..], &["policy", "check", "checkrein.yaml"], &["job", "x", "--agent", "true"]]
    {
        let refused = place.run(arguments);
        assert_eq!(refused.code, 2, "{}", refused.seen());
        let said =
            "checkrein.yaml:1:36: autonomy.job.protected_paths.replace: only your own settings can replace";
        assert!(refused.seen().contains(said), "{}", refused.seen());
    }
}
