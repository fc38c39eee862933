//! What was named a secret shows nowhere.

use super::{Ann, asked, data, expect, scene, start};

const SECRET: &str = "hunter2-and-more";

#[test]
fn a_secret_is_in_no_output_log_checkpoint_or_report() {
    let step = r#"echo "out $TOKEN"; echo "err $TOKEN" >&2; printf '{"message":"m %s","warnings":[{"text":"w %s","severity":"low","suggested_fix":"f %s"}],"details":{"%s":"%s"},"artifacts":["%s"]}' $TOKEN $TOKEN $TOKEN $TOKEN $TOKEN $TOKEN > $CHECKREIN_RESPONSE"#;
    let flow =
        format!("secrets: [TOKEN]\n{}", super::steps(&[("a", step), ("b", "echo $TOKEN >&2; exit 1")]));
    for settings in ["", "secrets: [TOKEN]"] {
        let flow = if settings.is_empty() { flow.clone() } else { flow.replace("secrets: [TOKEN]\n", "") };
        let place = scene(&flow).env("TOKEN", SECRET).file("checkrein.yaml", settings);
        let ann = Ann::of(&place);
        let (run, id) = start(&place, &["--json", "--set", "check_in_frequency=per-step"]);
        expect(&run, 3);
        assert!(asked(&place, &id)["warnings"][0]["text"] == "w ***", "{}", asked(&place, &id));
        let failed = ann.lets_go_on(&place, &id, 4);
        assert!(failed.stderr.contains("***"), "{}", failed.seen());
        let mut seen = vec![run.seen(), failed.seen()];
        for command in [
            &["show", &id, "--json"][..],
            &["show", &id],
            &["log", &id],
            &["log", &id, "--json"],
            &["report", &id, "--format", "detailed"],
            &["checkpoint", "show", &format!("{id}.1"), "--json"],
            &["inbox"],
            &["runs"],
            &["store", "export"],
        ] {
            seen.push(place.run(command).seen());
        }
        for text in &seen {
            assert!(!text.contains(SECRET), "{text}");
        }
        let found = place.shell(&format!("grep -rl -e {SECRET} '{}'", data(&place, "").display()));
        assert_eq!((found.stdout.as_str(), found.code), ("", 1), "{}", found.seen());
    }
}

#[test]
fn the_longer_of_two_secrets_leaves_no_end_behind() {
    let flow = format!(
        "secrets: [SHORT, LONG]\n{}",
        super::steps(&[("a", r#"echo "{\"message\":\"$LONG\"}" > $CHECKREIN_RESPONSE; echo $LONG"#)])
    );
    let place = scene(&flow).env("SHORT", "hunter2").env("LONG", "hunter2000");
    let (run, id) = start(&place, &[]);
    expect(&run, 0);
    assert_eq!(super::logged(&place, &id)[0]["message"], "***");
    assert!(place.run(&["log", &id]).stdout.ends_with("***\n"));
}

#[test]
fn a_secret_is_hidden_in_what_sent_the_run_back() {
    let place = scene(
        "secrets: [KEY]
phases:
  build: {steps: [{id: make, run: 'echo \"$CHECKREIN_FAILURE\" >> failures'}]}
  evaluate: {max_retries: 1, steps: [{id: test, run: 'echo bad $KEY >&2; exit 1'}]}",
    )
    .env("KEY", "sesame-open");
    let (run, _) = start(&place, &["--yes"]);
    expect(&run, 4);
    assert!(!run.seen().contains("sesame-open"), "{}", run.seen());
    assert!(place.read("failures").contains("bad ***"), "{}", place.read("failures"));
}

/// A run keeps its definition, so a secret must not stand in it.
#[test]
fn a_secret_that_is_written_down_is_refused() {
    let written =
        scene("secrets: [KEY]\nphases: {a: {steps: [{id: x, env: {KEY: sesame-open}, run: 'true'}]}}");
    let given = scene("secrets: [KEY]\nphases: {a: {steps: [{id: x, run: 'true'}]}}");
    for (place, arguments) in
        [(&written, &["run", "flow.yaml"][..]), (&given, &["run", "flow.yaml", "--set", "KEY=sesame-open"])]
    {
        let refused = place.run(arguments);
        expect(&refused, 2);
        assert!(
            refused.stderr.contains("`KEY` is a secret") && !refused.seen().contains("sesame-open"),
            "{}",
            refused.seen()
        );
        assert_eq!(place.run(&["runs", "--json"]).json()["items"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn a_secret_is_found_in_json_too() {
    let said = r#"{"message":"the key is q\"uo\\te\nd"}"#;
    for command in ["", " > $CHECKREIN_RESPONSE"].map(|to| format!("printf '%s\\n' '{said}'{to}")) {
        let flow = format!("secrets: [KEY]\n{}", super::steps(&[("a", &command)]));
        let place = scene(&flow).env("KEY", "q\"uo\\te\nd");
        let (run, id) = start(&place, &[]);
        expect(&run, 0);
        assert_eq!(super::logged(&place, &id)[0]["message"], "the key is ***", "{command}");
        assert!(!place.run(&["log", &id]).stdout.contains("uo"), "{command}");
    }
}
