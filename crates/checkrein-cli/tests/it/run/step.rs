//! What a step or hook is, and what it gets.

use std::time::{Duration, Instant};

use super::{expect, logged, quoted, ran, responses, scene, show, start, steps};

#[test]
fn phases_and_their_tasks_run_in_order() {
    let place = scene(
        "phases:
  frame: {steps: [{id: f, run: echo frame >> done}]}
  build:
    pre_steps: [{id: pre, run: echo pre >> done}]
    steps: [{id: one, run: echo one >> done}, {id: two, run: echo two >> done}]
    post_steps: [{id: post, run: echo post >> done}]
  audit: {enabled: false, steps: [{id: x, run: echo never >> done}]}
  anything: {steps: [{id: a, run: echo anything >> done}]}
hooks:
  pre_build: [{name: h, run: echo hook-pre >> done}]
  post_build: [{name: h, run: echo hook-post >> done}]",
    );
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(
        place.read("done").lines().collect::<Vec<_>>(),
        ["frame", "hook-pre", "pre", "one", "two", "post", "hook-post", "anything"]
    );
    let shown = show(&place, &id);
    let phases = shown["phases"].as_array().unwrap();
    let rows: Vec<String> = phases
        .iter()
        .map(|row| format!("{} {} {}/{}", row["name"], row["status"], row["steps_done"], row["steps"]))
        .map(|row| row.replace('"', ""))
        .collect();
    assert_eq!(rows, ["frame success 1/1", "build success 4/4", "audit skipped 0/1", "anything success 1/1"]);
}

#[test]
fn only_the_phases_asked_for_run() {
    let place = scene(
        "phases:
  build: {steps: [{id: a, run: echo build >> done}]}
  evaluate: {steps: [{id: b, run: echo evaluate >> done}]}
  release: {steps: [{id: c, run: echo release >> done}]}",
    );
    let (_, id) = ran(&place, &["--phase", "build", "--phase", "release"], 0);
    assert_eq!(place.read("done"), "build\nrelease\n");
    assert_eq!(show(&place, &id)["phases"][1]["status"], "not_run");
    let unknown = place.run(&["run", "flow.yaml", "--phase", "relaese"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `release`?"), "{}", unknown.seen());
}

#[test]
fn an_agent_reads_its_prompt_on_standard_input_and_in_a_file() {
    let agent = r#"cat > stdin; cat "$CHECKREIN_BRIEF" > brief; echo '{"message":"agent was here"}'"#;
    let flow = "phases:
  build:
    steps: [{id: write, agent: 'Implement {target} for #{work_id}'}]
hooks:
  pre_build: [{type: document, name: rules, path: RULES.md}]";
    for (name, place) in [
        ("in the workflow", scene(&format!("agent: {}\n{flow}", quoted(agent)))),
        (
            "in the settings",
            scene(flow).file("home/.config/checkrein/checkrein.yaml", &format!("agent: {}", quoted(agent))),
        ),
    ] {
        let place = place.file("RULES.md", "Be kind.\n");
        let (_, id) = ran(&place, &["--target", "feat/x", "--work-id", "7"], 0);
        let stdin = place.read("stdin");
        assert_eq!(stdin, place.read("brief"), "{name}");
        assert!(stdin.starts_with("Implement feat/x for #7\n"), "{stdin}");
        assert!(stdin.contains("Be kind."), "{stdin}");
        assert!(stdin.contains("CHECKREIN_RESPONSE"), "{stdin}");
        assert_eq!(responses(&place, &id), ["hook:pre-build-rules success", "build:write success"]);
        assert_eq!(logged(&place, &id)[1]["message"], "agent was here");
    }
}

#[test]
fn an_agent_is_told_what_failed_before() {
    let place = scene(
        "agent: 'cat >> briefs'
phases:
  build: {steps: [{id: make, agent: Make it}]}
  evaluate: {max_retries: 1, steps: [{id: test, run: 'grep -q broken briefs || { echo it is broken >&2; exit 1; }'}]}",
    );
    ran(&place, &["--yes"], 0);
    let briefs = place.read("briefs");
    assert_eq!(briefs.matches("Make it").count(), 2);
    assert!(briefs.contains("What failed before") && briefs.contains("it is broken"), "{briefs}");
}

#[test]
fn without_an_agent_nothing_of_the_workflow_runs() {
    let place = scene(
        "phases: {build: {steps: [{id: a, run: touch ran}]}, release: {steps: [{id: b, agent: Do it}]}}",
    );
    let run = place.run(&["run", "flow.yaml"]);
    assert_eq!(run.code, 2, "{}", run.seen());
    assert!(run.stderr.contains("release:b") && run.stderr.contains("agent:"), "{}", run.seen());
    assert!(!place.path().join("ran").exists());
}

#[test]
fn hooks_are_scripts_documents_and_skills() {
    let place = scene(
        "agent: cat > stdin
phases: {build: {steps: [{id: a, run: 'true'}]}}
hooks:
  pre_build:
    - {type: script, path: scripts/check.sh}
    - {type: document, path: docs/RULES.md}
    - {type: skill, skill: tidy-up, description: Tidy all of it}",
    )
    .file("scripts/check.sh", "cp \"$1\" context\n")
    .file("docs/RULES.md", "Be kind.\n");
    let (_, id) = ran(&place, &["--target", "main"], 0);
    assert_eq!(
        responses(&place, &id),
        [
            "hook:pre-build-check success",
            "hook:pre-build-RULES success",
            "hook:pre-build-tidy-up success",
            "build:a success"
        ]
    );
    let context: serde_json::Value = serde_json::from_str(&place.read("context")).unwrap();
    assert_eq!((&context["target"], &context["run_id"]), (&"main".into(), &id.clone().into()));
    let stdin = place.read("stdin");
    assert!(stdin.contains("tidy-up") && stdin.contains("Tidy all of it"), "{stdin}");
}

#[test]
fn a_hook_whose_file_is_missing_fails_before_it_runs() {
    for kind in ["script", "document"] {
        let place = scene(&format!(
            "phases: {{build: {{steps: [{{id: a, run: touch after}}]}}}}\nhooks: {{pre_build: [{{type: {kind}, path: nowhere.md}}]}}"
        ));
        let (_, id) = ran(&place, &[], 4);
        assert!(show(&place, &id)["stopped"]["reason"].as_str().unwrap().contains("nowhere.md"), "{kind}");
        assert!(!place.path().join("after").exists());
    }
}

#[test]
fn variables_and_directories_of_a_step_are_stronger_than_the_workflows() {
    let place = scene(
        "env: {A: workflow, B: workflow, WHERE: '{target}'}
working_directory: sub
phases:
  build:
    steps:
      - {id: one, run: 'echo $A $B $WHERE $(basename $PWD) >> $TOP/done'}
      - {id: two, env: {B: step}, working_directory: other, run: 'echo $A $B $WHERE $(basename $PWD) >> $TOP/done'}
hooks:
  pre_build: [{name: h, env: {A: hook}, run: 'echo $A $B $WHERE $(basename $PWD) >> $TOP/done'}]",
    )
    .file("sub/x", "")
    .file("other/x", "");
    let top = place.path().to_str().unwrap().to_owned();
    let place = place.env("TOP", &top);
    ran(&place, &["--target", "here"], 0);
    assert_eq!(
        place.read("done"),
        "hook workflow here sub\nworkflow workflow here sub\nworkflow step here other\n"
    );
}

#[test]
fn a_directory_that_is_not_there_fails_the_step_with_a_reason() {
    let place = scene("phases: {build: {steps: [{id: a, working_directory: nowhere, run: touch ran}]}}");
    let (_, id) = ran(&place, &[], 4);
    assert!(show(&place, &id)["stopped"]["reason"].as_str().unwrap().contains("Step cannot be started"));
}

#[test]
fn a_step_may_take_so_long_and_be_silent_so_long() {
    for (timeout, command, reason) in [
        ("timeout: 300ms", "sleep 600", "Step timed out: it took longer than 300ms"),
        (
            "timeout: 400ms",
            "while :; do echo x; sleep 0.05; done",
            "Step timed out: it took longer than 400ms",
        ),
        ("idle_timeout: 300ms", "echo x; sleep 600", "Step timed out: it was silent for 300ms"),
    ] {
        let place = scene(&format!(
            "phases: {{build: {{steps: [{{id: a, {timeout}, run: {}}}, {{id: b, run: touch after}}]}}}}",
            quoted(&format!("echo $$ > pid; {command}"))
        ));
        let began = Instant::now();
        let (_, id) = ran(&place, &[], 4);
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(show(&place, &id)["stopped"]["reason"], format!("Error exceeds tolerance: {reason}"));
        assert!(!super::alive(&place, "pid"), "{timeout}");
        assert!(!place.path().join("after").exists());
    }
    let place = scene(
        "phases: {build: {steps: [{id: a, idle_timeout: 2s, run: 'for n in 1 2 3 4; do echo $n; sleep 0.1; done'}]}}",
    );
    ran(&place, &[], 0);
}

#[test]
fn placeholders_are_filled_from_what_is_known() {
    let place = scene(
        r#"phases:
  build:
    steps:
      - {id: a, run: "printf '%s\\n' {target} {work_id} {phase} {step} {attempt} {workflow_id} {colour} > done; echo {{target}} ${HOME:+x} >> done"}"#,
    );
    let (_, id) = ran(&place, &["--target", "t", "--work-id", "9", "--set", "colour=deep red"], 0);
    assert_eq!(place.read("done"), "t\n9\nbuild\na\n1\nflow\ndeep red\n{target} x\n");
    assert_eq!(show(&place, &id)["work_id"], "9");
}

#[test]
fn a_placeholder_without_a_value_is_refused_before_anything_runs() {
    for step in [
        "run: 'echo {missing}'",
        "run: 'true', env: {A: '{missing}'}",
        "run: 'true', arguments: {a: '{missing}'}",
        "run: 'true', working_directory: '{missing}'",
        "run: 'echo {missing}', arguments: {a: '{failure}{attempt}'}",
    ] {
        let place = scene(&format!(
            "phases: {{build: {{steps: [{{id: first, run: touch ran}}, {{id: a, {step}}}]}}}}"
        ));
        let refused = place.run(&["run", "flow.yaml"]);
        assert_eq!(refused.code, 2, "{step}: {}", refused.seen());
        assert!(
            refused.stderr.contains("`build:a`: ") && refused.stderr.contains("`{missing}`"),
            "{}",
            refused.seen()
        );
        assert!(!place.path().join("ran").exists(), "{step}");
        // A check cannot know what a run will be given.
        let checked = place.run(&["policy", "check", "flow.yaml"]);
        assert_eq!(checked.code, 0, "{step}: {}", checked.seen());
        assert!(checked.stderr.contains("`--set missing=VALUE`"), "{}", checked.seen());
    }
    // Phases that do not run need no values.
    let two = "phases: {build: {steps: [{id: a, run: touch ran}]}, release: {steps: [{id: b, run: 'touch {name}'}]}}";
    let place = scene(two);
    expect(&place.run(&["run", "flow.yaml", "--phase", "build"]), 0);
    expect(&place.run(&["run", "flow.yaml", "--set", "name=given"]), 0);
    assert!(place.path().join("ran").exists() && place.path().join("given").exists());
    // What no value could fill is a mistake of the file itself.
    let place = scene("phases: {build: {steps: [{id: a, run: 'echo $(({n} + 1))'}]}}");
    for command in [&["run", "flow.yaml", "--set", "n=1"][..], &["policy", "check", "flow.yaml"]] {
        let refused = place.run(command);
        assert_eq!(refused.code, 2, "{}", refused.seen());
        assert!(refused.stderr.contains("arithmetic"), "{}", refused.seen());
    }
}

/// Something that runs before may make it, so it is only said.
#[test]
fn files_that_hooks_and_steps_need_are_looked_for_before_anything_runs() {
    let place = scene(
        "phases: {build: {steps: [{id: a, run: 'echo true > late.sh; mkdir out'}, {id: b, run: pwd, working_directory: out}]}}
hooks: {post_build: [{type: script, name: s, path: late.sh}]}",
    );
    for command in [&["policy", "check", "flow.yaml"][..], &["run", "flow.yaml"]] {
        let ran = place.run(command);
        expect(&ran, 0);
        for missing in ["there is no file `late.sh`", "there is no directory `out`"] {
            assert!(ran.stderr.contains(missing), "{}", ran.seen());
        }
    }
}

#[test]
fn hostile_values_are_text_and_never_run() {
    for hostile in [
        "$(touch hacked)",
        "`touch hacked`",
        "'; touch hacked; '",
        "\"; touch hacked; \"",
        "x; touch hacked",
        "x\ntouch hacked",
        "&& touch hacked",
        "../../etc/passwd",
        "{work_id}",
        "%s%n\\",
        "-rf",
    ] {
        let place = scene(
            r#"phases:
  build:
    steps:
      - {id: a, run: "printf '%s' {target} > bare; printf '%s' \"{target}\" > double; printf '%s' '{target}' > single; printf '%s' \"$VIA\" > via", env: {VIA: '{target}'}}"#,
        );
        let (run, _) = start(&place, &[&format!("--target={hostile}")]);
        assert_eq!(run.code, 0, "{hostile}: {}", run.seen());
        for name in ["bare", "double", "single", "via"] {
            assert_eq!(place.read(name), hostile, "{name}");
        }
        assert!(!place.path().join("hacked").exists(), "{hostile}");
    }
}

#[test]
fn the_target_is_the_branch_where_nobody_says() {
    let place = scene(&steps(&[("a", "true")]));
    let (_, id) = ran(&place, &[], 0);
    assert!(show(&place, &id)["target"].is_null());
    let git =
        place.shell("git init -q -b feat/branch . && git commit -q --allow-empty -m x 2>/dev/null; true");
    assert_eq!(git.code, 0, "{}", git.seen());
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(show(&place, &id)["target"], "feat/branch");
    let (_, id) = ran(&place, &["--target", "mine"], 0);
    assert_eq!(show(&place, &id)["target"], "mine");
}

#[test]
fn a_step_sees_no_input_and_leaves_nothing_running() {
    let place =
        scene(&steps(&[("a", "cat > stdin; sleep 600 & echo $! > pid; setsid sleep 601 & echo $! > pid2")]));
    let began = Instant::now();
    ran(&place, &[], 0);
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(place.read("stdin"), "");
    assert!(!super::alive(&place, "pid") && !super::alive(&place, "pid2"));
}

#[test]
fn odd_names_and_places_are_only_names_and_places() {
    let place = scene(
        "id: 'odd \u{fc}'
phases:
  'two words':
    steps:
      - {id: '../../up', run: echo up >> done}
      - {id: 'a b', run: echo ab >> done}
      - {id: 'a-b', run: echo a-b >> done}
      - {id: '$(touch hacked)', run: 'echo {step} >> done'}",
    )
    .file("a place \u{fc}/x", "");
    let run = place.shell("cd 'a place \u{fc}' && checkrein run ../flow.yaml");
    super::expect(&run, 0);
    let id = super::id_of(&run);
    assert_eq!(place.read("a place \u{fc}/done"), "up\nab\na-b\n$(touch hacked)\n");
    assert!(!place.path().join("a place \u{fc}/hacked").exists());
    assert_eq!(responses(&place, &id)[0], "two words:../../up success");
    let kept: Vec<_> = std::fs::read_dir(super::data(&place, "runs")).unwrap().collect();
    assert_eq!(kept.len(), 1, "output stays in the run's own directory");
}

#[test]
fn a_step_that_removes_the_runs_directory_keeps_no_other_from_running() {
    let place = scene(&steps(&[("a", "rm -rf home/.local/share/checkrein/runs"), ("b", "echo b > after")]));
    ran(&place, &[], 0);
    assert_eq!(place.read("after"), "b\n");
}

/// What is written to a file without a name is lost, and must not be called saved.
#[test]
fn a_step_that_removes_the_store_fails_the_run_loudly() {
    for (number, last) in
        ["rm -rf .checkrein", "rm -f .checkrein/store.db*; : > .checkrein/store.db"].iter().enumerate()
    {
        let place = scene(&steps(&[("a", "true"), ("b", last)])).file(".checkrein/.gitignore", "*\n");
        let run = place.run(&["run", "flow.yaml"]);
        assert_eq!(run.code, 1, "{number}: {}", run.seen());
        assert!(run.stderr.contains("was removed or replaced while it was open"), "{}", run.seen());
        assert!(!run.stdout.contains("Completed"), "{}", run.seen());
    }
}
