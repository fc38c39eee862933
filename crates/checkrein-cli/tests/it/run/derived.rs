//! What a step means that says it in no words, or in odd ones.

use serde_json::json;

use super::{expect, logged, ran, scene, show, start, steps, texts};

const OPEN: [&str; 5] = ["--set", "warning_tolerance=high", "--set", "error_tolerance=high", "--yes"];

/// Status and errors of a step that runs this command, with everything tolerated.
fn judged(command: &str) -> (String, Vec<String>, Vec<String>) {
    let place = scene(&steps(&[("a", command)]));
    let (_, id) = ran(&place, &OPEN, 0);
    let record = logged(&place, &id)[0].clone();
    let status = record["status"].as_str().unwrap().to_owned();
    for error in record["errors"].as_array().unwrap() {
        assert_eq!(error["severity"], "high", "{command}");
    }
    (status, texts(&record["errors"], "text"), texts(&record["warnings"], "text"))
}

#[test]
fn a_step_without_a_response_is_told_by_its_exit_and_its_last_words() {
    for (command, status, errors) in [
        ("true", "success", &[][..]),
        ("echo words; echo more >&2", "success", &[]),
        ("echo '{\"not\": closed'", "success", &[]),
        ("echo '[1]'", "success", &[]),
        ("echo first >&2; echo last >&2; echo >&2; exit 3", "failure", &["last"]),
        ("echo out; exit 7", "failure", &["Step exited with code 7"]),
        ("kill -9 $$", "failure", &["Step was ended by signal 9"]),
        ("echo '{\"status\":\"success\"}'; echo oh >&2; exit 1", "failure", &["oh"]),
    ] {
        let (found, texts, warnings) = judged(command);
        assert_eq!(found, status, "{command}");
        assert_eq!(texts, errors, "{command}");
        assert!(warnings.is_empty(), "{command}");
    }
}

#[test]
fn odd_responses_are_coerced() {
    let file = |text: &str| format!("printf '%s' '{text}' > $CHECKREIN_RESPONSE");
    for (text, status, errors, warnings) in [
        ("null", "failure", &["Step returned null or undefined result"][..], &[][..]),
        (r#"{"status":"failure"}"#, "failure", &["Step failed without error details"], &[]),
        (r#"{"status":"great"}"#, "failure", &["Step returned unknown status: great"], &[]),
        (r#"{"status":"warning"}"#, "warning", &[], &["Step completed with unspecified warnings"]),
        (r#"{"status":"success","warnings":["a","b"]}"#, "success", &[], &["a", "b"]),
        (r#"{"warnings":"just one"}"#, "warning", &[], &["just one"]),
        (r#"{"warnings":[{"message":"by another name"}]}"#, "warning", &[], &["by another name"]),
        ("[1, 2]", "failure", &["Step returned a list instead of a response: [1,2]"], &[]),
        (r#"{"attempts":[]}"#, "failure", &["Step returned null or undefined result"], &[]),
    ] {
        let (found, failed, warned) = judged(&file(text));
        assert_eq!(found, status, "{text}");
        assert_eq!(failed, errors, "{text}");
        assert_eq!(warned, warnings, "{text}");
    }
    let (found, failed, _) = judged(&file("{not json"));
    assert_eq!(found, "failure");
    assert!(failed[0].starts_with("Step's response is not JSON: "), "{failed:?}");
}

#[test]
fn a_response_that_is_no_file_fails_the_step_with_a_reason() {
    for command in
        ["mkdir $CHECKREIN_RESPONSE", "mkfifo $CHECKREIN_RESPONSE", "ln -s /dev/zero $CHECKREIN_RESPONSE"]
    {
        let (status, errors, _) = judged(command);
        assert_eq!(status, "failure");
        assert_eq!(errors, ["Step's response cannot be read: it is not a file"], "{command}");
    }
    let (status, errors, _) = judged("head -c 17000000 /dev/zero > $CHECKREIN_RESPONSE");
    assert_eq!(
        (status.as_str(), errors),
        ("failure", vec!["Step's response cannot be read: it is larger than 16 MiB".to_owned()])
    );
}

#[test]
fn a_failure_within_tolerance_goes_on_and_is_listed() {
    let failed = r#"echo '{"status":"failure","errors":[{"text":"small","severity":"low"}]}'"#;
    let place = scene(&steps(&[("a", failed), ("b", "touch after")]));
    let (run, id) = ran(&place, &["--set", "error_tolerance=low", "--yes"], 0);
    assert!(place.path().join("after").exists());
    assert_eq!(show(&place, &id)["status"], "completed_with_warnings");
    assert_eq!(show(&place, &id)["response_totals"]["errors"], 1);
    assert!(run.stdout.contains("small"), "{}", run.seen());
}

#[test]
fn bytes_that_are_no_text_lose_nothing() {
    let place = scene(&steps(&[
        ("out", r"printf 'caf\351 \377\n'"),
        ("err", r"printf 'bad \377 byte\n' >&2; exit 1"),
        ("file", r#"printf '{"message":"caf\351"}' > $CHECKREIN_RESPONSE"#),
    ]));
    let (_, id) = ran(&place, &OPEN, 0);
    let records = logged(&place, &id);
    assert_eq!(records[1]["errors"][0]["text"], "bad \u{fffd} byte");
    assert_eq!(records[2]["message"], "caf\u{fffd}");
    let kept = std::fs::read(super::data(&place, &format!("runs/{id}/0001-build-out.stdout"))).unwrap();
    assert_eq!(kept, b"caf\xe9 \xff\n");
    assert!(place.run(&["log", &id]).stdout.contains("caf\u{fffd}"));
}

#[test]
fn a_hundred_megabytes_of_output_are_bounded_and_the_response_at_their_end_counts() {
    let loud = r#"yes 0123456789012345678901234567890123456789 | head -c 104857600; echo; echo '{"message":"after all that"}'"#;
    let place = scene(&steps(&[("loud", loud)]));
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(logged(&place, &id)[0]["message"], "after all that");
    let directory = data_of(&place, &id);
    let bytes: u64 =
        std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 5 << 20, "{bytes} bytes are kept");
    assert_eq!(
        show(&place, &id)["response_totals"],
        json!({"warnings": 0, "errors": 0, "by_severity": {"low": 0, "medium": 0, "high": 0}})
    );
}

fn data_of(place: &crate::place::Place, id: &str) -> std::path::PathBuf {
    super::data(place, &format!("runs/{id}"))
}

#[test]
fn a_response_that_is_too_long_for_its_line_fails_the_step() {
    let long =
        r#"printf '{"status":"success","message":"'; head -c 9000000 /dev/zero | tr '\0' x; printf '"}\n'"#;
    let place = scene(&steps(&[("a", long)]));
    let (run, id) = start(&place, &[]);
    expect(&run, 4);
    let shown = show(&place, &id);
    let reason = shown["stopped"]["reason"].as_str().unwrap();
    assert!(reason.contains("too long") && reason.contains("CHECKREIN_RESPONSE"), "{reason}");
}
