//! Files and levels of the system before run as they are.

use serde_json::{Value, json};

use super::{Ann, asked, expect, id_of, ran, responses, scene, show, steps};
use crate::place::Place;

fn older() -> Value {
    json!({
        "$schema": "https://example.org/workflow.schema.json",
        "id": "default",
        "version": "2.0",
        "description": "As it was written then",
        "phases": {
            "frame": {"enabled": true, "description": "Fetch", "steps": [
                {"id": "fetch", "name": "Fetch", "description": "Fetch the work item", "skill": "work-fetch"}]},
            "architect": {"enabled": false, "steps": [{"id": "spec", "prompt": "Write a spec"}]},
            "build": {"enabled": true, "pre_steps": [{"name": "branch", "prompt": "!echo branch >> done"}],
                "steps": [{"id": "implement", "prompt": "Implement {it}", "config": {"style": "tidy"},
                    "arguments": {"work": "{work_id}"}, "result_handling": {"on_warning": "continue"}}],
                "post_steps": [{"id": "commit", "command": "/commit --all"}], "validation": ["it builds"]},
            "evaluate": {"enabled": true, "max_retries": 3, "steps": [{"id": "test", "prompt": "!echo test >> done"}]},
            "release": {"enabled": true, "require_approval": true,
                "steps": [{"id": "ship", "prompt": "!echo ship >> done"}]},
        },
        "hooks": {"pre_build": [{"type": "script", "name": "check", "path": "scripts/check.sh", "timeout": 30,
            "on_error": "continue", "colour": "blue"}]},
        "autonomy": {"level": "guarded", "description": "Stop before release", "pause_before_release": true,
            "require_approval_for": ["release"], "overrides": {}},
    })
}

fn place() -> Place {
    scene("")
        .file("flow.json", &serde_json::to_string_pretty(&older()).unwrap())
        .file("home/.config/checkrein/checkrein.yaml", "agent: 'cat >> briefs; echo ---- >> briefs'")
        .file("scripts/check.sh", "test -f \"$1\" && echo hook >> done\n")
}

#[test]
fn a_file_of_the_system_before_runs_unchanged() {
    let place = place();
    let ann = Ann::of(&place);
    let run = place.run(&["run", "flow.json", "--work-id", "237", "--yes"]);
    expect(&run, 3);
    let id = id_of(&run);
    for said in [
        "unknown key `version`",
        "unknown key `colour`",
        "Migrating legacy autonomy level 'guarded' to new model",
        "its support ends after two major versions",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.seen());
    }
    assert_eq!(asked(&place, &id)["kind"], "gate");
    ann.lets_go_on(&place, &id, 0);
    assert_eq!(place.read("done"), "hook\nbranch\ntest\nship\n");
    let briefs = place.read("briefs");
    for said in ["work-fetch", "Implement {it}", "\"style\": \"tidy\"", "/commit --all"] {
        assert!(briefs.contains(said), "{said}: {briefs}");
    }
    assert_eq!(
        responses(&place, &id),
        [
            "frame:fetch success",
            "hook:pre-build-check success",
            "build:branch success",
            "build:implement success",
            "build:commit success",
            "evaluate:test success",
            "release:ship success"
        ]
    );
}

#[test]
fn the_older_levels_are_what_they_were() {
    for (level, frequency, warning, error) in [
        ("dry-run", "per-step", "none", "none"),
        ("assist", "per-phase", "none", "none"),
        ("guarded", "per-phase", "low", "none"),
        ("autonomous", "end-only", "medium", "low"),
    ] {
        for way in ["file", "option", "variable", "settings"] {
            let flow = steps(&[("a", "true")]);
            let place = match way {
                "file" => scene(&format!("autonomy: {{level: {level}}}\n{flow}")),
                "settings" => {
                    scene(&flow).file("checkrein.yaml", &format!("autonomy: {{workflow: {level}}}"))
                }
                "variable" => scene(&flow).env("CHECKREIN_WORKFLOW_AUTONOMY", level),
                _ => scene(&flow),
            };
            let more: &[&str] = if way == "option" { &["--level", level] } else { &[] };
            let (run, id) = ran(&place, more, 0);
            let policy = &show(&place, &id)["policy"];
            assert_eq!(
                policy["tolerance"],
                json!({"warning": warning, "error": error}),
                "{level} {way}: {policy}"
            );
            assert_eq!(policy["check_in_frequency"], frequency, "{level} {way}: {policy}");
            let said = format!("Migrating legacy autonomy level '{level}' to new model");
            assert!(run.stderr.contains(&said), "{way}: {}", run.seen());
            assert_eq!(
                run.stderr.contains("it does not prevent writes"),
                level == "dry-run",
                "{}",
                run.seen()
            );
        }
    }
}

#[test]
fn an_unknown_level_is_refused_and_runs_as_guarded_in_an_older_file() {
    let ours = scene(&format!("autonomy: {{level: cautious}}\n{}", steps(&[("a", "touch ran")])));
    expect(&ours.run(&["run", "flow.yaml"]), 2);
    expect(&ours.run(&["policy", "check", "flow.yaml"]), 2);
    assert!(!ours.path().join("ran").exists());
    let older = json!({"autonomy": {"level": "cautious"},
        "phases": {"build": {"steps": [{"id": "a", "prompt": "!sh found warnings low"}]}}});
    let older = scene("").file("flow.json", &older.to_string());
    let run = older.run(&["run", "flow.json"]);
    expect(&run, 3);
    assert!(run.stderr.contains("using `guarded`"), "{}", run.seen());
    expect(&older.run(&["policy", "check", "flow.json"]), 2);
}

#[test]
fn a_migrated_file_runs_as_before_without_the_deprecation() {
    let place = place();
    let migrated = place.run(&["policy", "migrate", "flow.json"]);
    expect(&migrated, 0);
    assert!(!place.read("flow.json").contains("\"level\""));
    let run = place.run(&["run", "flow.json", "--work-id", "7", "--yes"]);
    expect(&run, 3);
    assert!(!run.stderr.contains("Migrating"), "{}", run.seen());
    assert_eq!(asked(&place, &id_of(&run))["kind"], "gate");
}
