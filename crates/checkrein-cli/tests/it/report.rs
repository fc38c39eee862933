//! Reports from the command line, read back by programs that are not ours, and fixes chosen at a terminal.

use serde_json::Value;

use crate::place::{BINARY, Place};
use crate::terminal::Terminal;

const FLOW: &str = r#"
id: fixme
autonomy: {warning_tolerance: medium, check_in_frequency: end-only}
phases:
  architect:
    steps:
      - id: spec
        run: |
          echo '{"status": "warning", "message": "spec", "warnings": [{"text": "Spec is incomplete", "severity": "medium", "category": "validation"}], "suggested_fixes": [{"description": "Review the spec", "file": "spec.md"}]}'
  build:
    steps:
      - id: implement
        run: |
          echo '{"status": "warning", "warnings": [{"text": "Deprecated API", "severity": "medium", "category": "deprecation", "suggested_fix": {"description": "Use the new one", "command": "echo new > api.txt; echo replaced"}}]}'
      - id: commit
        run: |
          echo '{"status": "warning", "warnings": [{"text": "Large commit", "severity": "low", "category": "style"}]}'
      - id: odd
        run: |
          printf '%s\n' '{"errors": [], "message": "odd <&> \u0007 ]]> \u202e"}'
  off: {enabled: false, steps: [{id: no, run: 'true'}]}
"#;

/// A place with one run that is over; its id.
fn ran() -> (Place, String) {
    let place =
        Place::new().file("flow.yaml", FLOW).file(".checkrein/.gitignore", "*\n").file("spec.md", "spec\n");
    let run = place.run(&["run", "flow.yaml", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.seen());
    let id = place.run(&["runs", "--json"]).json()["items"][0]["run_id"].as_str().unwrap().to_owned();
    (place, id)
}

#[test]
fn junit_is_read_by_others() {
    let (place, id) = ran();
    let xml = place.run(&["report", &id, "--as", "junit"]).stdout;
    let report =
        quick_junit::Report::deserialize_from_str(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let suites: Vec<(String, usize)> = report
        .test_suites
        .iter()
        .map(|suite| (suite.name.as_str().to_owned(), suite.test_cases.len()))
        .collect();
    assert_eq!(suites, [("architect".to_owned(), 1), ("build".to_owned(), 3), ("off".to_owned(), 1)]);
    assert!(!xml.contains('\u{7}') && !xml.contains('\u{202e}'));
}

#[test]
fn sarif_is_read_by_others() {
    let (place, id) = ran();
    let json = place.run(&["report", &id, "--as", "sarif"]).stdout;
    let sarif: serde_sarif::sarif::Sarif =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let results = sarif.runs[0].results.as_ref().unwrap();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result.message.text.is_some()));
}

#[test]
fn every_shape_tells_the_same() {
    let (place, id) = ran();
    let json = place.run(&["report", &id, "--json"]).json();
    assert_eq!(json["totals"]["warnings"], 3, "{json}");
    assert_eq!(json["recommended_actions"].as_array().unwrap().len(), 2);
    let markdown = place.run(&["report", &id, "--as", "markdown"]).stdout;
    let html = place.run(&["report", &id, "--as", "html", "--output", "report.html"]);
    assert_eq!((html.code, html.stdout.as_str()), (0, ""), "{}", html.seen());
    for text in [markdown, place.read("report.html")] {
        for finding in ["Spec is incomplete", "Deprecated API", "Large commit"] {
            assert!(text.contains(finding), "{finding}: {text}");
        }
    }
    assert!(
        !place.read("report.html").contains("http://") && !place.read("report.html").contains("https:"),
        "it needs nothing from elsewhere"
    );
}

#[test]
fn formats_pages_and_ascii() {
    let (place, id) = ran();
    let minimal = place.run(&["report", &id, "--format", "minimal"]).stdout;
    assert!(minimal.contains("PHASE SUMMARY") && !minimal.contains("Deprecated API"), "{minimal}");
    let detailed = place.run(&["report", &id, "--format", "detailed"]).stdout;
    assert!(detailed.contains("STEP DETAILS"), "{detailed}");
    let whole = place.run(&["report", &id]).stdout;
    let unknown = place.run(&["report", &id, "--format", "nonsense"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""), "{}", unknown.seen());
    let first = place.run(&["report", &id, "--per-page", "10"]).stdout;
    let second = place.run(&["report", &id, "--per-page", "10", "--page", "2"]).stdout;
    assert!(first.contains("page 1 of") && second.contains("page 2 of"), "{first}{second}");
    assert!(whole.starts_with(first.lines().next().unwrap()));
    let beyond = place.run(&["report", &id, "--page", "99"]);
    assert_eq!(beyond.code, 2, "{}", beyond.seen());
    let ascii = place.run_env(&[("LC_ALL", "C")], &["report", &id]).stdout;
    assert!(ascii.is_ascii(), "{ascii}");
    assert_eq!(place.run(&["report", "nothing"]).code, 6);
}

#[test]
fn many_runs_are_told_together() {
    let (place, _) = ran();
    assert_eq!(place.run(&["run", "flow.yaml", "--yes"]).code, 0);
    let across = place.run(&["report", "--since", "7d", "--json"]).json();
    assert_eq!(across["runs"], 2, "{across}");
    let text = place.run(&["report", "--since", "7d"]).stdout;
    assert!(text.contains("Runs: 2") && text.contains("2 times in 2 runs"), "{text}");
    assert_eq!(place.run(&["report", "--since", "7d", "--as", "html"]).code, 2);
    assert_eq!(place.run(&["report"]).code, 2);
}

#[test]
fn fixes_are_chosen_at_the_end_and_remembered() {
    let place =
        Place::new().file("flow.yaml", FLOW).file(".checkrein/.gitignore", "*\n").file("spec.md", "spec\n");
    let mut command = place.command(BINARY);
    command.args(["run", "flow.yaml", "--yes"]).env("EDITOR", "echo opened with");
    let mut terminal = Terminal::start(command);
    terminal.until("Enter choice (1-3) or 'done' to finish:").press("7\n");
    // What cannot be chosen is answered with what can.
    terminal.until("[3] Skip remaining (1 low-priority warning)").until("Enter choice").press("1\n");
    terminal.until("echo new > api.txt; echo replaced").until("1) Run the command").press("1\n");
    terminal.until("| replaced").until("applied").until("Enter choice").press("2\n");
    terminal.until("File: spec.md").until("1) Open the file").press("1\n");
    terminal.until("opened with").until("spec.md");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("For follow-up:\n  - Review the spec"), "{seen}");
    assert_eq!(place.read("api.txt"), "new\n");

    let id = place.run(&["runs", "--json"]).json()["items"][0]["run_id"].as_str().unwrap().to_owned();
    let actions = place.run(&["report", &id, "--json"]).json()["recommended_actions"].clone();
    let choices: Vec<Value> =
        actions.as_array().unwrap().iter().map(|action| action["choice"].clone()).collect();
    assert_eq!(choices, ["applied", "opened"]);
    assert!(place.run(&["show", &id]).stdout.contains("remedy chosen"));
    assert_eq!(place.run(&["store", "check"]).code, 0);
}

#[test]
fn fixes_can_be_chosen_later_and_skipped() {
    let (place, id) = ran();
    let headless = place.run(&["report", &id, "--fix"]);
    assert_eq!(headless.code, 1, "{}", headless.seen());
    let mut command = place.command(BINARY);
    command.args(["report", &id, "--fix"]);
    let mut terminal = Terminal::start(command);
    terminal.until("Enter choice (1-3)").press("2\n").until("2) Skip it").press("2\n");
    terminal.until("Enter choice (1-3)").press("3\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("For follow-up:"), "{seen}");
    let text = place.run(&["report", &id]).stdout;
    assert!(text.contains("(skipped, for follow-up)"), "{text}");
    assert!(!place.path().join("api.txt").exists());
}

#[test]
fn what_is_left_at_done_is_recorded_as_skipped_and_can_be_chosen_later() {
    let (place, id) = ran();
    let fix = || {
        let mut command = place.command(BINARY);
        command.args(["report", &id, "--fix"]);
        Terminal::start(command)
    };
    let choices = || -> Vec<Value> {
        let report = place.run(&["report", &id, "--json"]).json();
        report["recommended_actions"].as_array().unwrap().iter().map(|one| one["choice"].clone()).collect()
    };
    let mut terminal = fix();
    terminal.until("Enter choice (1-3)").press("done\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(choices(), ["skipped", "skipped"]);
    let mut terminal = fix();
    terminal.until("Enter choice (1-3)").press("1\n").until("1) Run the command").press("1\n");
    terminal.until("applied").until("Enter choice").press("done\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(choices(), ["applied", "skipped"]);
}

#[test]
fn a_fix_is_run_in_a_group_of_its_own_and_gives_no_verdict() {
    let flow = FLOW
        .replace("echo new > api.txt; echo replaced", "checkrein approve nothing; sleep 300 & echo $! > pid");
    let place = Place::new().file("flow.yaml", &flow).file(".checkrein/.gitignore", "*\n");
    let mut command = place.command(BINARY);
    command.args(["run", "flow.yaml", "--yes"]);
    let mut terminal = Terminal::start(command);
    terminal.until("Enter choice").press("1\n").until("1) Run the command").press("1\n");
    terminal.until("a verdict cannot be given from inside an agent's attempt").until("applied");
    terminal.until("Enter choice").press("done\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let pid = place.read("pid").trim().to_owned();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "what a fix left behind is ended");
}
