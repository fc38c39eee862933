//! What an agent answers, or does not: each way has one meaning (X8).

use super::{give, job, scene};
use crate::run::{expect, only_run};

#[test]
fn no_result_and_a_good_end_means_done() {
    let agent = r#"case $n in
      1) printf 'todos:\n- id: 3\n  content: from the file\n- and this\n' > todos.yaml ;;
      2) echo x > x ;;
      *) complete ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "full"], 0);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1"]);
    assert!(job.brief(2).contains("3. [ ] from the file\n4. [ ] and this"), "{}", job.brief(2));
}

#[test]
fn a_bad_end_fails_and_keeps_the_work() {
    let agent = r#"case $call in
      1) echo half > half; git add half; git commit -qm 'half of it'; echo loose > loose
         echo 'no more tokens' >&2; exit 7 ;;
      *) ls > "$here/seen"; usual ;;
    esac"#;
    let job = job(scene(agent), &[], 1);
    assert_eq!(job.status(), "failed");
    assert!(job.given.stderr.contains("exited with code 7: no more tokens"), "{}", job.given.seen());
    assert_eq!(job.titles("main").len(), 1, "nothing is merged");
    let names = job.files("phase-1-strategic");
    assert!(names.contains(&"half".into()) && names.contains(&"loose".into()), "{names:?}");
    assert!(job.titles("phase-1-strategic").contains(&"half of it".to_owned()));
    job.resume(3);
    assert!(job.place.read("seen").contains("half\nloose"), "another attempt goes on from there");
    assert_eq!(job.calls(), ["1 strategic 1", "1 strategic 1"]);
    job.approve(3);
    assert_eq!(job.file("main", "loose"), "loose");
}

#[test]
fn a_result_does_not_hide_a_bad_end() {
    let job = job(scene("complete; exit 3"), &["--autonomy", "full"], 1);
    assert_eq!(job.status(), "failed");
}

#[test]
fn an_agent_may_say_that_it_failed_or_is_blocked() {
    let failed = job(scene(r#"answer '{"outcome":"failed","summary":"cannot read it"}'"#), &[], 1);
    assert_eq!(failed.status(), "failed");
    assert!(failed.given.stderr.contains("cannot read it"), "{}", failed.given.seen());
    let agent = r#"case $call in 1) answer '{"outcome":"blocked","summary":"no key"}' ;; *) usual ;; esac"#;
    let blocked = job(scene(agent), &[], 7);
    assert_eq!(blocked.status(), "paused");
    let shown = blocked.place.run(&["show", &blocked.id]).stdout;
    assert!(shown.contains("The agent cannot go on: no key"), "{shown}");
    assert!(blocked.given.stdout.contains("no key"), "{}", blocked.given.seen());
    assert!(
        blocked.given.stderr.contains("paused: The agent cannot go on: no key"),
        "{}",
        blocked.given.seen()
    );
    blocked.resume(3);
    assert_eq!(blocked.calls().len(), 2);
}

/// What is handed in is kept for ever and read by people; a list of any length is no reason to be busy with it.
#[test]
fn more_than_a_result_may_hold_is_left_out() {
    let todos = r#"python3 -c "import json; print(json.dumps({'next_todos': ['x'] * 200000}))" > "$CHECKREIN_RESULT""#;
    let file = "seq 600 | sed 's/^/- todo /' > todos.yaml";
    for (agent, told) in [
        (todos, "the agent's `next_todos` has 199500 items more than the 500 that are kept"),
        (file, "todos.yaml has 100 todos more than the 500 that are kept"),
    ] {
        let job = job(scene(agent), &["--autonomy", "dependent"], 3);
        assert!(job.found().contains(told), "{}", job.found());
        let kept = job.file("phase-1-strategic", "todos.yaml");
        assert_eq!(kept.matches("content:").count(), 500, "{told}");
        job.ann("approve", &["--confirm"], 0);
    }
    // Errors that nobody counts must not let it through.
    let errors = r#"python3 -c "import json; print(json.dumps({'next_todos': ['x'], 'errors': ['x'] * 501}))" > "$CHECKREIN_RESULT""#;
    let job = job(scene(errors), &["--autonomy", "full"], 7);
    assert!(job.found().contains("`errors` has 1 items more than the 500 that are kept"), "{}", job.found());
}

#[test]
fn a_result_that_says_nothing_fails_with_what_is_wrong_with_it() {
    for (result, why) in [
        ("[1]", "The agent's result is not an object"),
        (
            r#"{"outcome":"bogus","summary":"all fine"}"#,
            "The agent's outcome `bogus` is unknown; it is one of",
        ),
        ("{", "The agent's result is not JSON"),
    ] {
        let job = job(scene(&format!("answer '{result}'")), &[], 1);
        assert!(job.given.stderr.contains(&format!("stopped: {why}")), "{}", job.given.seen());
        assert!(!job.given.seen().contains("says that it failed"), "{}", job.given.seen());
    }
}

#[test]
fn only_a_strategic_phase_completes_a_job() {
    let agent = r#"case $n in 2) echo x > x; complete ;; *) usual ;; esac"#;
    let job = job(scene(agent), &["--autonomy", "full"], 0);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1"]);
    assert_eq!(job.show()["response_totals"]["warnings"], 1);
    assert!(job.found().contains("only a strategic phase can complete a job"), "{}", job.found());
}

#[test]
fn an_end_with_todos_left_is_none() {
    let agent = r#"case $n in
      1) answer '{"outcome":"job_complete","next_todos":["x"]}' ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "review"], 3);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1"]);
}

#[test]
fn a_plan_without_todos_is_repeated_once_and_then_paused() {
    let agent = r#"case $call in 1 | 2) answer '{"summary":"hm"}' ;; *) usual ;; esac"#;
    let job = job(scene(agent), &[], 7);
    assert_eq!((job.status(), job.calls().len()), ("paused".into(), 2));
    assert!(job.given.stdout.contains("neither todos nor job_complete"), "{}", job.given.seen());
    job.resume(3);
    assert_eq!(job.calls().len(), 3);
}

#[test]
fn a_result_that_is_none_is_a_failure() {
    for (agent, about) in [
        (r#"echo '{"outcome":' > "$CHECKREIN_RESULT""#, "not JSON"),
        (r#"echo '[]' > "$CHECKREIN_RESULT""#, "not an object"),
        (r#"echo '{"outcome":"finished"}' > "$CHECKREIN_RESULT""#, "`finished` is unknown"),
        (r#"mkfifo "$CHECKREIN_RESULT""#, "it is not a file"),
        (r#"mkdir "$CHECKREIN_RESULT""#, "it is not a file"),
        (r#"ln -s /etc/passwd "$CHECKREIN_RESULT""#, "cannot be read"),
        (r#"head -c 17000000 /dev/zero | tr '\0' ' ' > "$CHECKREIN_RESULT""#, "larger than 16 MiB"),
        (r#"i=0; while [ $i -lt 5000 ]; do printf '['; i=$((i+1)); done > "$CHECKREIN_RESULT""#, "not JSON"),
    ] {
        let job = job(scene(agent), &["--autonomy", "full"], 1);
        assert_eq!(job.status(), "failed", "{agent}");
        assert!(job.found().contains(about), "{agent}: {} {}", job.found(), job.given.seen());
        assert!(!job.given.seen().contains("root:"), "{agent}");
    }
}

#[test]
fn odd_parts_of_a_result_are_told_and_left_out() {
    let agent = r#"case $n in
      1) printf '\357\277\275 {' > /dev/null
         answer '{"outcome":"PHASE_DONE","next_todos":[{"id":1,"content":"a"},{"id":1,"content":"b"}],"confidence":7,"deliverables":"x","usage":{"tokens":-3,"cost":"much"},"unknown":{}}' ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &[], 3);
    assert_eq!(job.show()["response_totals"]["warnings"], 3, "{}", job.show()["response_totals"]);
    assert_eq!(crate::run::texts(&job.asked()["next_todos"], "content"), ["a", "b"]);
}

#[test]
fn a_deliverable_that_is_not_there_is_a_finding() {
    let agent = r#"case $n in
      1) mkdir -p docs/deep; echo x > docs/deep/a.md; echo y > b.md
         answer '{"next_todos":["x"],"deliverables":["b.md","./docs/deep/a.md","docs/","c.md","doc","../b.md","https://example.com/d"]}' ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &[], 3);
    let warnings = &job.show()["response_totals"]["warnings"];
    assert_eq!(*warnings, 3, "{}", job.found());
    let report = job.place.run(&["report", &job.id, "--as", "json"]).json().to_string();
    for missing in ["c.md", "doc", "../b.md"] {
        assert!(report.contains(&format!("the deliverable `{missing}` is not there")), "{report}");
    }
    assert!(
        report.contains("\"category\":\"validation\"") && report.contains("\"severity\":\"medium\""),
        "{report}"
    );
}

#[test]
fn findings_of_an_agent_are_judged() {
    let agent = r#"case $n in
      1) answer '{"next_todos":["x"],"errors":[{"text":"bad","severity":"high"}]}' ;;
      *) usual ;;
    esac"#;
    let strict = ["--autonomy", r#"{"level":"full","error_tolerance":"low"}"#];
    let job = job(scene(agent), &strict, 4);
    assert_eq!(job.status(), "failed");
    assert!(job.given.stderr.contains("Error exceeds tolerance: bad"), "{}", job.given.seen());
}

#[test]
fn a_todos_file_that_cannot_be_used_is_told() {
    let agent =
        r#"case $call in 1 | 2) echo 'todos: [{id: one, content: x}]' > todos.yaml ;; *) usual ;; esac"#;
    let job = job(scene(agent), &[], 7);
    assert_eq!(job.status(), "paused");
    assert!(job.found().contains("todos.yaml cannot be used"), "{}", job.found());
}

#[test]
fn an_agent_that_cannot_be_started_is_a_failure() {
    let place = scene("usual");
    let job = place.run(&["job", "Write", "--agent", "/nowhere/agent", "--autonomy", "full"]);
    expect(&job, 1);
    assert!(job.stderr.contains("127"), "{}", job.seen());
}

#[test]
fn a_job_without_a_description_or_an_agent_is_refused() {
    let place = scene("usual");
    let none = place.run(&["job", "Write"]);
    expect(&none, 2);
    assert!(none.stderr.contains("--agent"), "{}", none.seen());
    expect(&place.run(&["job", "  ", "--agent", "true"]), 2);
    expect(&give(&place, &["--sandbox", "--config-override", "{"]), 2);
    assert_eq!(only_run(&place), None);
    let long =
        place.run_with(&["job", "-", "--agent", "true", "--queue"], "From standard input\nsecond line\n");
    expect(&long, 0);
    let shown = crate::run::show(&place, long.stdout.trim());
    assert_eq!(shown["job"]["definition"]["description"], "From standard input\nsecond line");
    assert_eq!(shown["target"], "From standard input");
}

#[test]
fn what_was_not_done_is_told() {
    let agent = r#"case $n in 2) echo x > x; answer '{"todos_done":[1]}' ;; *) usual ;; esac"#;
    let job = job(scene(agent), &["--autonomy", "full"], 0);
    let brief = job.brief(3);
    assert!(brief.contains("## Not done in the phase before\n\n- read it\n"), "{brief}");
    assert!(job.found().contains("these todos were never done: read it"), "{}", job.found());
}
