//! Bad files get a clear word and leave nothing behind.

use super::{expect, scene, start, steps};
use crate::place::Place;

/// Refused with exit 2, and with these words; nothing ran, nothing is recorded.
fn refused(place: &Place, file: &str, words: &[&str]) {
    let run = place.run(&["run", file]);
    expect(&run, 2);
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {}", run.seen());
    }
    assert!(run.stderr.starts_with("error: ") || run.stderr.contains("\nerror: "), "{}", run.seen());
    assert!(run.stdout.is_empty(), "{}", run.seen());
    assert!(!place.path().join("ran").exists(), "{}", run.seen());
    let runs = place.run(&["runs", "--json"]).json();
    assert_eq!(runs["items"].as_array().unwrap().len(), 0, "{runs}");
}

#[test]
fn bad_workflow_files_are_refused_before_anything_runs() {
    let step = "{id: a, run: touch ran}";
    for (flow, words) in [
        (
            format!("phases: {{build: {{steps: [{step}]}}}}\nfases: 1"),
            &["flow.yaml:2:1", "unknown key `fases`", "did you mean `phases`?"][..],
        ),
        (
            format!("phases: {{build: {{stebs: [{step}], steps: [{step}]}}}}"),
            &["unknown key `stebs`", "steps"],
        ),
        ("phases: {build: {steps: [{id: a, runs: touch ran}]}}".to_owned(), &["unknown key `runs`", "`run`"]),
        (format!("phases: {{build: {{steps: [{step}, {step}]}}}}"), &["`a` is used twice"]),
        (format!("phases: {{build: {{steps: [{step}], post_steps: [{step}]}}}}"), &["`a` is used twice"]),
        ("phases: {build: {steps: [{run: touch ran}]}}".to_owned(), &["a step has no id"]),
        ("phases: {build: {steps: [{id: a}]}}".to_owned(), &["a step says nothing to do"]),
        (
            "phases: {build: {steps: [{id: a, run: touch ran, agent: x}]}}".to_owned(),
            &["both `run` and `agent`"],
        ),
        ("phases: {build: {steps: [{id: a, run: touch ran".to_owned(), &["flow.yaml:"]),
        ("phases: [1, 2]".to_owned(), &["phases"]),
        (
            "phases: {build: {steps: [{id: a, run: touch ran, timeout: soon}]}}".to_owned(),
            &["timeout", "soon"],
        ),
        ("phases: {}".to_owned(), &["there is nothing to run"]),
        ("phases: {build: {}}".to_owned(), &["there is nothing to run"]),
        (String::new(), &["flow.yaml"]),
        ("just a text".to_owned(), &["flow.yaml"]),
        (
            format!(
                "phases: {{build: {{steps: [{step}]}}}}\nhooks: {{pre_build: [{{type: script, path: ../x.sh}}]}}"
            ),
            &["`..` is refused"],
        ),
        (
            format!("phases: {{build: {{steps: [{step}]}}}}\nautonomy: {{warning_tolerence: low}}"),
            &["warning_tolerance"],
        ),
        (format!("phases: {{build: {{steps: [{step}]}}}}\nphases: {{}}"), &["phases"]),
        (
            format!("extends: nowhere\nphases: {{build: {{steps: [{step}]}}}}"),
            &["there is no workflow `nowhere`"],
        ),
    ] {
        refused(&scene(&flow), "flow.yaml", words);
    }
}

#[test]
fn circles_are_seen_and_named() {
    let step = "phases: {build: {steps: [{id: a, run: touch ran}]}}";
    let alone = scene(&format!("extends: flow.yaml\n{step}"));
    refused(&alone, "flow.yaml", &["in a circle"]);
    let place = scene(&format!("extends: b\n{step}"))
        .file("b.yaml", "extends: sub/c.yaml")
        .file("sub/c.yaml", "extends: ../flow.yaml");
    refused(&place, "flow.yaml", &["in a circle", "flow.yaml", "b.yaml", "c.yaml"]);
}

#[test]
fn files_that_are_no_text_or_not_there_are_refused() {
    let place = scene("");
    std::fs::write(place.path().join("bytes.yaml"), b"id: \xff\xfe").unwrap();
    refused(&place, "bytes.yaml", &["bytes.yaml"]);
    refused(&place, "nowhere.yaml", &["nowhere.yaml"]);
    refused(&place, ".", &["."]);
}

#[test]
fn bad_settings_stop_a_run_before_it_begins() {
    for (settings, words) in [
        ("nonsense: [", &["checkrein.yaml"][..]),
        ("agnet: x", &["did you mean `agent`?"]),
        ("autonomy: {workflow: {limits: {max_total_errors: 0}}}", &["max_total_errors"]),
    ] {
        let place = scene(&steps(&[("a", "touch ran")])).file("checkrein.yaml", settings);
        let run = place.run(&["run", "flow.yaml"]);
        expect(&run, 2);
        for word in words {
            assert!(run.stderr.contains(word), "{word}: {}", run.seen());
        }
        assert!(!place.path().join("ran").exists());
    }
}

#[test]
fn bad_options_are_refused() {
    for (options, word) in [
        (&["--set", "warning_tolerence=high"][..], "did you mean `warning_tolerance`?"),
        (&["--set", "limits.max_total_errors=0"], "max_total_errors"),
        (&["--set", "nothing"], "expected NAME=VALUE"),
        // What nothing reads.
        (&["--set", "autonomy.ask=always"], "did you mean `ask`?"),
        (&["--set", "policy.limits.max_total_errors=1"], "did you mean `limits.max_total_errors`?"),
        (&["--set", "colours=red"], "did you mean `colour`?"),
        (&["--set", "tolerance=none"], "did you mean `error_tolerance`?"),
        (&["--set", "shape=round"], "placeholders: `colour`; settings: "),
        (&["--set", "gates=[\"release\"]"], "nor a placeholder of this workflow"),
        (&["--set", "a.b=1"], "nor a placeholder of this workflow"),
        (&["--set", "A=1"], "nor a placeholder of this workflow"),
        (&["--set", "target=t"], "give it as `--target`"),
        (&["--set", "phase=p"], "the run itself says what `phase` is"),
    ] {
        let place = scene(&steps(&[("a", "touch ran; echo {colour}")]));
        let run = place.run(&[&["run", "flow.yaml"], options].concat());
        expect(&run, 2);
        assert!(run.stderr.contains(word), "{}", run.seen());
        assert!(!place.path().join("ran").exists());
    }
}

#[test]
fn json_and_toml_say_the_same_as_yaml() {
    let place = Place::new()
        .file("flow.json", r#"{"phases":{"build":{"steps":[{"id":"a","run":"echo json >> done"}]}}}"#)
        .file("flow.toml", "[[phases.build.steps]]\nid = \"a\"\nrun = \"echo toml >> done\"\n");
    expect(&place.run(&["run", "flow.json"]), 0);
    expect(&place.run(&["run", "flow.toml"]), 0);
    assert_eq!(place.read("done"), "json\ntoml\n");
}

#[test]
fn a_started_run_keeps_its_files_as_they_were() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "true")]));
    let ann = super::Ann::of(&place);
    let (run, id) = start(&place, &["--set", "check_in_frequency=per-step"]);
    expect(&run, 3);
    let place = place.file("flow.yaml", "nonsense: [");
    ann.lets_go_on(&place, &id, 0);
}
