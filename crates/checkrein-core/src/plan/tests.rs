//! Plans of chains of files, as tables of texts.

use std::sync::Arc;

use super::*;
use crate::config::{Settings, Subject, Workflow};
use crate::document::{Document, Format, Gravity, Problems};
use crate::policy::Scope;

/// Files by name, the one to run first; `extends` names one of them.
fn chain(files: &[(&str, &str)]) -> Result<(Vec<Workflow>, Problems), Problems> {
    let find = |name: &str| -> Result<Arc<Document>, Problems> {
        let (name, text) = files.iter().find(|(own, _)| *own == name).unwrap();
        Ok(Arc::new(Document::parse(name, text, Format::of_name(name))?))
    };
    Workflow::chain(&find(files[0].0)?, |_, name| find(name))
}

fn resolve(files: &[(&str, &str)]) -> Result<(Plan, Problems), Problems> {
    let (chain, mut problems) = chain(files)?;
    let (plan, odd) = Plan::resolve(&chain)?;
    problems.extend(odd);
    Ok((plan, problems))
}

fn told(problems: &Problems) -> Vec<String> {
    let told = problems.iter().map(|problem| match problem.gravity {
        Gravity::Error => format!("error {problem}"),
        Gravity::Warning => format!("warning {problem}"),
        Gravity::Notice => format!("notice {problem}"),
    });
    told.collect()
}

/// The tasks of every phase, `-` before a disabled one, and what was said.
fn shape(files: &[(&str, &str)]) -> String {
    let (plan, problems) = match resolve(files) {
        Ok(resolved) => resolved,
        Err(problems) => return told(&problems).join("\n"),
    };
    let phases = plan.phases.iter().map(|phase| {
        let names: Vec<&str> = phase.tasks.iter().map(|task| task.id.as_str()).collect();
        format!("{}{} [{}]", if phase.enabled { "" } else { "-" }, phase.name, names.join(" "))
    });
    phases.chain(told(&problems)).collect::<Vec<_>>().join("\n")
}

fn plan(files: &[(&str, &str)]) -> Plan {
    resolve(files).unwrap().0
}

fn check(rows: &[(&[(&str, &str)], &str)]) {
    for (files, expected) in rows {
        assert_eq!(shape(files), *expected, "{files:#?}");
    }
}

const BASE: &str = "
id: base
phases:
  build:
    pre_steps: [{id: fetch, run: f}]
    steps: [{id: make, run: m}, {id: lint, run: l}]
    post_steps: [{id: clean, run: c}]
  evaluate:
    steps: [{id: test, run: t}, {id: lint, run: l}]
hooks:
  pre_build: [{name: warm, run: w}]
  post_build: [{name: cool, run: w}]
";

#[test]
fn what_a_chain_comes_to() {
    let base = ("base.yaml", BASE);
    check(&[
        (
            &[base],
            "build [hook:pre-build-warm build:fetch build:make build:lint build:clean hook:post-build-cool]\n\
             evaluate [evaluate:test evaluate:lint]",
        ),
        // Wrappers go around, steps are replaced, new phases follow.
        (
            &[
                (
                    "a.yaml",
                    "extends: base.yaml\n\
                     phases:\n  \
                       release: {steps: [{id: ship, run: s}]}\n  \
                       build:\n    \
                         pre_steps: [{id: own-pre, run: x}]\n    \
                         steps: [{id: own, run: x}]\n    \
                         post_steps: [{id: own-post, run: x}]\n\
                     hooks:\n  \
                       pre_build: [{name: own, run: x}]\n  \
                       post_build: [{name: own, run: x}]\n  \
                       post_release: [{name: own, run: x}]\n",
                ),
                base,
            ],
            "build [hook:pre-build-warm hook:pre-build-own build:fetch build:own-pre build:own build:own-post \
             build:clean hook:post-build-own hook:post-build-cool]\n\
             evaluate [evaluate:test evaluate:lint]\n\
             release [release:ship hook:post-release-own]",
        ),
        // The nearest that has steps, through one that has none.
        (
            &[
                ("a.yaml", "extends: b.yaml\nphases: {build: {steps: [], post_steps: [{id: a, run: x}]}}"),
                ("b.yaml", "extends: base.yaml\nphases: {build: {post_steps: [{id: b, run: x}]}}"),
                base,
            ],
            "build [hook:pre-build-warm build:fetch build:make build:lint build:a build:b build:clean \
             hook:post-build-cool]\n\
             evaluate [evaluate:test evaluate:lint]",
        ),
    ]);
}

#[test]
fn a_phase_is_on_or_off_by_the_nearest_that_says_so() {
    for (own, middle, expected) in [
        ("{}", "{}", true),
        ("{}", "{enabled: false}", false),
        ("{enabled: false}", "{}", false),
        ("{enabled: false}", "{enabled: true}", false),
        ("{enabled: true}", "{enabled: false}", true),
        ("{enabled: null}", "{enabled: false}", false),
    ] {
        let own = format!("extends: b.yaml\nphases: {{build: {own}}}");
        let middle = format!("extends: base.yaml\nphases: {{build: {middle}}}");
        let plan = plan(&[("a.yaml", &own), ("b.yaml", &middle), ("base.yaml", BASE)]);
        assert_eq!(plan.phases[0].enabled, expected, "{own} {middle}");
        assert!(!plan.phases[0].tasks.is_empty(), "it is kept, to be shown as skipped");
    }
}

#[test]
fn inherited_steps_are_left_out() {
    let base = ("base.yaml", BASE);
    let skipping = |skip: &str| {
        let text = format!(
            "extends: base.yaml\nskip_steps: [{skip}]\nphases: {{build: {{pre_steps: [{{id: own, run: x}}]}}}}"
        );
        shape(&[("a.yaml", &text), base])
    };
    let rest = "hook:post-build-cool]\nevaluate";
    for (skip, expected) in [
        (
            "build:lint",
            format!("build:fetch build:own build:make build:clean {rest} [evaluate:test evaluate:lint]"),
        ),
        ("lint", format!("build:fetch build:own build:make build:clean {rest} [evaluate:test]")),
        ("fetch, clean", format!("build:own build:make build:lint {rest} [evaluate:test evaluate:lint]")),
    ] {
        assert_eq!(skipping(skip), format!("build [hook:pre-build-warm {expected}"), "{skip}");
    }
    for (skip, hint) in [
        ("build:lnit", "did you mean `build:lint`?"),
        (
            "deploy",
            "inherited steps: `build:fetch`, `build:make`, `build:lint`, `build:clean`, `evaluate:test`, `evaluate:lint`",
        ),
        ("own", "it is a step of this file: take it out there"),
    ] {
        let message = format!("there is no inherited step `{skip}` to leave out\n  hint: {hint}");
        assert_eq!(skipping(skip), format!("error a.yaml:2:14: skip_steps[0]: {message}"));
    }
    check(&[
        // A file in the middle leaves out for those that extend it, and its own steps stay theirs.
        (
            &[
                ("a.yaml", "extends: b.yaml"),
                (
                    "b.yaml",
                    "extends: base.yaml\nskip_steps: [make, lint]\nphases: {evaluate: {post_steps: [{id: make, run: x}]}}",
                ),
                base,
            ],
            "build [hook:pre-build-warm build:fetch build:clean hook:post-build-cool]\n\
             evaluate [evaluate:test evaluate:make]",
        ),
        // What is replaced anyway may be named too.
        (
            &[
                (
                    "a.yaml",
                    "extends: base.yaml\nskip_steps: [lint]\nphases: {build: {steps: [{id: lint, run: x}]}, evaluate: {enabled: false}}",
                ),
                base,
            ],
            "build [hook:pre-build-warm build:fetch build:lint build:clean hook:post-build-cool]\n\
             -evaluate [evaluate:test]",
        ),
        (
            &[("a.yaml", "skip_steps: [x]\nphases: {build: {steps: [{id: a, run: x}]}}")],
            "error a.yaml:1:14: skip_steps[0]: there is no inherited step `x` to leave out\n  \
             hint: this file inherits no steps",
        ),
    ]);
}

#[test]
fn what_cannot_run_is_refused_before_anything_runs() {
    let base = ("base.yaml", BASE);
    check(&[
        (
            &[("a.yaml", "id: a")],
            "error a.yaml:1:1: phases: there is nothing to run: the workflow has no phases\n  \
             hint: give a phase in `phases` some `steps`",
        ),
        (
            &[("a.yaml", "phases: {build: {}}\nhooks: {pre_build: [{run: x}]}")],
            "error a.yaml:1:1: phases: there is nothing to run: the workflow has no steps\n  \
             hint: give a phase in `phases` some `steps`",
        ),
        (
            &[("a.yaml", "extends: base.yaml\nskip_steps: [fetch, make, lint, clean, test]"), base],
            "error a.yaml:1:1: phases: there is nothing to run: the workflow has no steps\n  \
             hint: give a phase in `phases` some `steps`",
        ),
        // Duplicates that only the whole chain shows.
        (
            &[("a.yaml", "extends: base.yaml\nphases: {build: {pre_steps: [{id: lint, run: x}]}}"), base],
            "error a.yaml:2:30: phases.build.pre_steps[0]: step id `lint` is used twice in phase `build`\n  \
             hint: the other is in base.yaml:6: rename one, or leave the inherited one out with `skip_steps: [\"build:lint\"]`",
        ),
        (
            &[("a.yaml", "extends: base.yaml\nhooks: {post_build: [{name: cool, run: x}]}"), base],
            "error a.yaml:2:22: hooks.post_build[0]: hook name `cool` is used twice after phase `build`\n  \
             hint: the other is in base.yaml:12: rename one",
        ),
        (
            &[(
                "a.yaml",
                "phases: {build: {steps: [{id: a, run: x}]}}\nhooks:\n  pre_build:\n  - {name: l, run: x}\n  - {name: l, run: y}",
            )],
            "error a.yaml:5:5: hooks.pre_build[1]: hook name `l` is used twice before phase `build`\n  \
             hint: the other is in a.yaml:4: rename one",
        ),
        // Ids are made of names that may hold anything.
        (
            &[("a.yaml", "phases:\n  a: {steps: [{id: 'b:c', run: x}]}\n  a:b: {steps: [{id: c, run: x}]}")],
            "error a.yaml:3:17: phases.a:b.steps[0]: another step or hook would be called `a:b:c` too\n  \
             hint: the other is in a.yaml:2: rename one",
        ),
        (
            &[(
                "a.yaml",
                "phases:\n  hook: {steps: [{id: pre-hook-x, run: x}]}\nhooks: {pre_hook: [{name: x, run: x}]}",
            )],
            "error a.yaml:2:18: phases.hook.steps[0]: another step or hook would be called `hook:pre-hook-x` too\n  \
             hint: the other is in a.yaml:3: rename one",
        ),
        (
            &[("a.yaml", "phases: {build: {steps: [{id: a, run: x, agent: y}]}}")],
            "error a.yaml:1:26: phases.build.steps[0]: a step says both `run` and `agent`\n  \
             hint: make two steps of it",
        ),
        (
            &[("a.yaml", "phases: {build: {steps: [{id: a, run: '  '}]}}")],
            "error a.yaml:1:26: phases.build.steps[0]: a step says nothing to do\n  \
             hint: give it a `run` command or an `agent` prompt",
        ),
        (
            &[("a.json", r#"{"phases": {"build": {"steps": [{"id": "a"}]}}}"#)],
            "error a.json:1:33: phases.build.steps[0]: a step says nothing to do\n  \
             hint: give it a `run` command or an `agent` prompt",
        ),
        (
            &[("a.yaml", "phases: {build: {steps: [{id: a, run: x}]}}\nenv: {A=B: x}")],
            "error a.yaml:2:1: env: `A=B` cannot be the name of a variable\n  hint: use letters, digits and `_`",
        ),
    ]);
}

#[test]
fn circles_and_missing_ends() {
    let row = |files: &[(&str, &str)]| told(&resolve(files).unwrap_err()).join("\n");
    assert_eq!(
        row(&[("a.yaml", "id: x\nextends: b.yaml"), ("b.yaml", "extends: a.yaml")]),
        "error b.yaml:1:1: extends: workflows extend each other in a circle: `a.yaml` extends `b.yaml` extends `a.yaml`\n  \
         hint: one of them must not extend the next"
    );
    assert_eq!(
        row(&[("a.yaml", "extends: a.yaml")]),
        "error a.yaml:1:1: extends: workflows extend each other in a circle: `a.yaml` extends `a.yaml`\n  \
         hint: one of them must not extend the next"
    );
    assert_eq!(
        row(&[("a.yaml", "extends: b.yaml"), ("b.yaml", "extends: c.yaml"), ("c.yaml", "extends: b.yaml")]),
        "error c.yaml:1:1: extends: workflows extend each other in a circle: `b.yaml` extends `c.yaml` extends `b.yaml`\n  \
         hint: one of them must not extend the next"
    );
    // A chain that somebody else put together.
    let read = |name: &str, text: &str| {
        Workflow::read(&Arc::new(Document::parse(name, text, Format::Yaml).unwrap())).unwrap().0
    };
    let refused = |chain: &[Workflow]| told(&Plan::resolve(chain).unwrap_err()).join("\n");
    assert_eq!(refused(&[]), "error workflow: there is nothing to run");
    let one = read("a.yaml", "extends: base.yaml\nphases: {build: {steps: [{id: a, run: x}]}}");
    assert_eq!(
        refused(std::slice::from_ref(&one)),
        "error a.yaml:1:1: extends: `base.yaml` was not found\n  hint: `extends` names another workflow file"
    );
    let circle = [one.clone(), read("b.yaml", "extends: a.yaml"), one];
    assert!(refused(&circle).contains("`a.yaml` extends `b.yaml` extends `a.yaml`"));
    // A circle whose names never come back.
    let mut count = 0;
    let endless = Document::parse("0", "extends: next", Format::Yaml).unwrap();
    let tower = Workflow::chain(&Arc::new(endless), |_, _| {
        count += 1;
        Ok(Arc::new(Document::parse(&count.to_string(), "extends: next", Format::Yaml)?))
    });
    assert_eq!(
        told(&tower.unwrap_err()),
        ["error 32:1:1: extends: more than 32 workflows extend one another"]
    );
}

#[test]
fn phases_nobody_has_are_named_once_the_chain_is_known() {
    check(&[(
        &[
            (
                "a.yaml",
                "extends: base.yaml\n\
                 autonomy: {overrides: {biuld: {}, evaluate: {}}, require_approval_for: [deploy]}\n\
                 hooks: {pre_evaluate: [{run: x}], pre_biuld: [{run: x}]}",
            ),
            ("base.yaml", BASE),
        ],
        "error a.yaml:3:35: hooks.pre_biuld: there is no phase `biuld`, its hooks never run\n  \
         hint: did you mean `pre_build`?\n\
         error a.yaml:2:24: autonomy.overrides.biuld: there is no phase `biuld`\n  hint: did you mean `build`?\n\
         error a.yaml:2:73: autonomy.require_approval_for[0]: there is no phase `deploy`\n  \
         hint: phases here: `build`, `evaluate`",
    )]);
}

#[test]
fn what_is_said_once_holds_for_all() {
    let base = "\
id: base
description: of the base
agent: base-agent
env: {A: base, B: base, C: base}
secrets: [TOKEN, KEY]
working_directory: base
phases:
  build:
    description: of the base
    steps: [{id: make, run: m, env: {C: step}, working_directory: step, timeout: 10m, idle_timeout: 30s}, {id: plain, run: p}]
  evaluate: {steps: [{id: test, run: t}]}
hooks: {pre_build: [{name: h, run: x, env: {A: hook}, working_directory: hook, idle_timeout: 5s}, {name: i, run: y, timeout: 9}]}
";
    let own = "extends: base.yaml\nagent: own-agent\nenv: {B: own}\nsecrets: [KEY, PASSWORD]\nphases: {build: {max_retries: 1}}";
    let plan = plan(&[("flows/own.v2.yaml", own), ("base.yaml", base)]);
    assert_eq!(plan.workflow, "own.v2", "a child without an id is not its parent");
    assert_eq!(plan.description.as_deref(), Some("of the base"));
    assert_eq!(plan.agent.as_deref(), Some("own-agent"));
    assert_eq!(plan.secrets, ["TOKEN", "KEY", "PASSWORD"]);
    let retries: Vec<u32> = plan.phases.iter().map(|phase| phase.max_retries).collect();
    assert_eq!(retries, [1, 3]);
    let seconds = |time: Option<Duration>| time.map_or("-".to_owned(), |time| time.as_secs().to_string());
    let rows: Vec<String> = plan.phases[0]
        .tasks
        .iter()
        .map(|task| {
            let env: Vec<String> = task.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let directory = task.working_directory.as_deref().unwrap_or_default();
            let (timeout, idle) = (seconds(task.timeout), seconds(task.idle_timeout));
            format!("{} in {directory} with {} for {timeout} {idle}", task.name, env.join(" "))
        })
        .collect();
    assert_eq!(
        rows,
        [
            "h in hook with A=hook B=own C=base for 300 5",
            "i in base with A=base B=own C=base for 9 -",
            "make in step with A=base B=own C=step for 600 30",
            "plain in base with A=base B=own C=base for - -",
        ]
    );
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan, "a run keeps its plan");
}

#[test]
fn the_nearest_handling_wins_field_by_field() {
    // workflow, phase, step: of the base, then of the file that extends it
    for (base, own, step, expected) in [
        (("{}", "{}"), ("{}", "{}"), "{}", "- -"),
        (("{on_warning: continue}", "{}"), ("{}", "{}"), "{}", "continue -"),
        (("{on_warning: continue}", "{}"), ("{on_warning: prompt}", "{}"), "{}", "prompt -"),
        (("{}", "{on_warning: stop}"), ("{on_warning: prompt}", "{}"), "{}", "stop -"),
        (("{}", "{on_warning: stop}"), ("{}", "{on_warning: prompt}"), "{}", "prompt -"),
        (("{}", "{}"), ("{}", "{on_warning: prompt}"), "{on_warning: continue}", "continue -"),
        (("{on_failure: stop}", "{}"), ("{}", "{on_warning: prompt}"), "{}", "prompt stop"),
        (("{}", "{}"), ("{}", "{on_warning: prompt}"), "{on_failure: continue}", "prompt -"),
    ] {
        let base = format!(
            "result_handling: {}\nphases: {{build: {{result_handling: {}, steps: [{{id: a, run: x, result_handling: {step}}}]}}}}",
            base.0, base.1
        );
        let own = format!(
            "extends: b.yaml\nresult_handling: {}\nphases: {{build: {{result_handling: {}}}}}",
            own.0, own.1
        );
        let plan = plan(&[("a.yaml", &own), ("b.yaml", &base)]);
        assert_eq!(handling(&plan.phases[0].tasks[0]), expected, "{own} {base}");
    }
}

fn handling(task: &Task) -> String {
    let word = |value: Result<serde_json::Value, serde_json::Error>| match value.unwrap() {
        serde_json::Value::String(word) => word,
        _ => "-".to_owned(),
    };
    let Handling { on_warning, on_failure } = task.handling;
    format!("{} {}", word(serde_json::to_value(on_warning)), word(serde_json::to_value(on_failure)))
}

#[test]
fn a_word_for_errors_that_nobody_knows_is_refused() {
    let text =
        "phases: {build: {steps: [{id: a, run: x}]}}\nhooks:\n  post_build: [{run: x, on_error: explode}]";
    assert_eq!(
        shape(&[("a.yaml", text)]),
        "error a.yaml:3:25: hooks.post_build[0].on_error: unknown value `explode`\n  hint: write `continue` or `stop`"
    );
}

#[test]
fn how_hooks_are_handled() {
    for (workflow, hook, expected, odd) in [
        ("{}", "run: x", "- -", ""),
        ("{}", "run: x, result_handling: {on_failure: continue}", "- continue", ""),
        ("{}", "run: x, on_error: continue", "- continue", ""),
        ("{}", "run: x, on_error: Warn", "- continue", ""),
        ("{}", "run: x, on_error: fail", "- stop", ""),
        ("{}", "run: x, on_error: abort", "- stop", ""),
        ("{}", "run: x, on_error: continue, result_handling: {on_failure: stop}", "- stop", ""),
        ("{}", "run: x, on_error: continue, result_handling: {on_warning: prompt}", "prompt continue", ""),
        ("{on_warning: prompt}", "run: x", "prompt -", ""),
        ("{on_warning: prompt}", "run: x, result_handling: {on_warning: stop}", "stop -", ""),
        (
            "{on_failure: continue}",
            "run: x",
            "- -",
            "warning a.yaml:1:19: result_handling.on_failure: `on_failure: continue` is ignored: a step's failure always stops",
        ),
    ] {
        let text = format!(
            "result_handling: {workflow}\nphases: {{build: {{steps: [{{id: a, run: x}}]}}}}\nhooks: {{post_build: [{{{hook}}}]}}"
        );
        let (plan, problems) = resolve(&[("a.yaml", &text)]).unwrap();
        assert_eq!(handling(&plan.phases[0].tasks[1]), expected, "{text}");
        assert_eq!(told(&problems).join("\n"), odd, "{text}");
    }
}

#[test]
fn what_hooks_do_and_are_called() {
    for (hook, expected) in [
        ("{name: n, run: 'echo {x}'}", "hook:pre-build-n shell echo {x}"),
        ("{run: x}", "hook:pre-build-hook-1 shell x"),
        ("{path: hooks/lint.sh}", "hook:pre-build-lint script hooks/lint.sh"),
        ("{path: hooks/.lint}", "hook:pre-build-.lint script hooks/.lint"),
        ("{type: script, path: '{x}.sh'}", "hook:pre-build-{x} script {x}.sh"),
        ("{type: document, path: doc/rules.md}", "hook:pre-build-rules document doc/rules.md"),
        ("{type: skill, skill: tidy}", "hook:pre-build-tidy agent Use the skill `tidy`"),
        (
            "{skill: tidy, description: Be quick}",
            "hook:pre-build-tidy agent Use the skill `tidy`\n\nBe quick",
        ),
        (
            "{path: a/x.sh}, {path: b/x.sh}, {name: x-2, run: y}",
            "hook:pre-build-x script a/x.sh | hook:pre-build-x-3 script b/x.sh | hook:pre-build-x-2 shell y",
        ),
        ("{name: n}", "a hook says nothing to do"),
        ("{type: script}", "a hook of type `script` names no file"),
        ("{type: document}", "a hook of type `document` names no file"),
        ("{type: skill, path: x}", "a hook of type `skill` names no skill"),
        ("{type: script, run: x, path: y}", "a hook says both `run` and `path`"),
    ] {
        let text =
            format!("phases: {{build: {{steps: [{{id: a, run: x}}]}}}}\nhooks: {{pre_build: [{hook}]}}");
        let found = match resolve(&[("a.yaml", &text)]) {
            Ok((plan, _)) => {
                let hooks = plan.phases[0].tasks.iter().filter(|task| task.kind == StepOrHook::Hook);
                hooks.map(|task| format!("{} {}", task.id, did(&task.action))).collect::<Vec<_>>().join(" | ")
            }
            Err(problems) => problems.0[0].message.clone(),
        };
        assert_eq!(found, expected, "{hook}");
    }
}

fn did(action: &Action) -> String {
    match action {
        Action::Shell(text) => format!("shell {text}"),
        Action::Agent(text) => format!("agent {text}"),
        Action::Script(text) => format!("script {text}"),
        Action::Document(text) => format!("document {text}"),
    }
}

/// A whole file as an older system wrote them.
const OLDER: &str = r#"{
  "id": "default",
  "description": "Plan, build, check, ship",
  "owner": "nobody in particular",
  "phases": {
    "frame": {
      "enabled": true,
      "steps": [
        {"name": "Fetch the item", "skill": "item-fetcher", "description": "Get {what} is asked", "arguments": {"item": "{work_id}"}},
        {"id": "classify", "description": "Classify the {kind} of work", "colour": "blue"}
      ]
    },
    "architect": {"steps": [{"id": "plan", "command": "/plan --for {work_id}", "config": {"depth": {"max": 3}}}]},
    "build": {
      "pre_steps": [{"id": "branch", "prompt": "!  git switch -c feat/{x} HEAD@{upstream}"}],
      "steps": [{"id": "implement", "name": "Implement it", "prompt": "Write {{code}} for {spec}", "command": "/ignored", "result_handling": {"on_warning": "continue", "on_failure": "stop"}}]
    },
    "evaluate": {"max_retries": 2, "validation": {"tests": "pass"}, "steps": [{"id": "test", "prompt": "Test it"}]},
    "release": {"enabled": false, "require_approval": true, "steps": [{"id": "ship", "prompt": "Ship it"}]}
  },
  "hooks": {
    "pre_build": [
      {"type": "document", "name": "standards", "path": "docs/standards.md"},
      {"type": "script", "path": "hooks/check.sh", "timeout": 60, "on_error": "warn"}
    ],
    "post_evaluate": [{"type": "skill", "skill": "summarise", "description": "Tell the team"}]
  },
  "autonomy": {"level": "guarded", "description": "careful", "pause_before_release": true}
}"#;

#[test]
fn a_file_of_an_older_system_runs_as_it_is() {
    let (plan, problems) = resolve(&[("older.json", OLDER)]).unwrap();
    let warned: Vec<String> = problems.iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(warned, ["unknown key `owner`", "unknown key `colour`"]);
    let context = Context::from([("work_id".to_owned(), "42".to_owned())]);
    let rows: Vec<String> = plan
        .phases
        .iter()
        .flat_map(|phase| &phase.tasks)
        .map(|task| format!("{}: {}", task.id, did(&task.fill(&context).unwrap().action)))
        .collect();
    assert_eq!(
        rows,
        [
            "frame:Fetch the item: agent Use the skill `item-fetcher`\n\nGet {what} is asked\n\nArguments:\n- item: 42",
            "frame:classify: agent Classify the {kind} of work",
            "architect:plan: agent /plan --for {work_id}\n\nConfiguration:\n```json\n{\n  \"depth\": {\n    \"max\": 3\n  }\n}\n```",
            "hook:pre-build-standards: document docs/standards.md",
            "hook:pre-build-check: script hooks/check.sh",
            "build:branch: shell git switch -c feat/{x} HEAD@{upstream}",
            "build:implement: agent Write {{code}} for {spec}",
            "evaluate:test: agent Test it",
            "hook:post-evaluate-summarise: agent Use the skill `summarise`\n\nTell the team",
            "release:ship: agent Ship it",
        ]
    );
    let script = plan.task(2, 1).unwrap();
    assert_eq!((script.timeout, handling(script)), (Some(Duration::from_secs(60)), "- continue".to_owned()));
    assert_eq!(plan.task(2, 0).unwrap().timeout, Some(Duration::from_secs(300)));
    assert_eq!(handling(plan.task(2, 3).unwrap()), "continue stop");
    let phases: Vec<String> = plan
        .phases
        .iter()
        .map(|phase| format!("{} {} {}", phase.name, phase.enabled, phase.max_retries))
        .collect();
    assert_eq!(
        phases,
        ["frame true 0", "architect true 0", "build true 0", "evaluate true 2", "release false 0"]
    );
}

#[test]
fn words_of_an_older_system_beside_ours_are_refused() {
    check(&[(
        &[("a.yaml", "phases: {build: {steps: [{id: a, agent: x, prompt: y, skill: z}]}}")],
        "error a.yaml:1:44: phases.build.steps[0].prompt: `prompt` has no effect: the step says `agent`\n\
         error a.yaml:1:55: phases.build.steps[0].skill: `skill` has no effect: the step says `agent`",
    )]);
}

#[test]
fn the_policy_of_a_chain() {
    let gates = |files: &[(&str, &str)]| {
        let (chain, _) = chain(files).unwrap();
        let settings = Settings::new(None, None, None, Vec::new()).unwrap();
        let resolution = settings.resolve(Scope::Workflow, Subject::Workflow(&chain), &[]).unwrap();
        let policy = resolution.policy;
        let gates = policy.require_approval_for.iter().map(|gate| {
            let own = resolution.sources.get(&format!("require_approval_for.{gate}"));
            format!("{gate} <{}>", own.unwrap_or(&resolution.sources["require_approval_for"]))
        });
        let tolerance = &resolution.sources["warning_tolerance"];
        format!(
            "{} | {:?} <{tolerance}>",
            gates.collect::<Vec<_>>().join(", "),
            policy.tolerance.warning.meaning
        )
    };
    let base = (
        "base.yaml",
        "autonomy: {warning_tolerance: high}\nphases:\n  build: {require_approval: true}\n  release: {}\n",
    );
    for (own, expected) in [
        ("", "build <base.yaml:3> | High <base.yaml:1>"),
        ("autonomy: {warning_tolerance: none}", "build <base.yaml:3> | None <a.yaml:2>"),
        (
            "autonomy: {require_approval_for: [release]}",
            "release <a.yaml:2>, build <base.yaml:3> | High <base.yaml:1>",
        ),
        ("autonomy: {require_approval_for: []}", "build <base.yaml:3> | High <base.yaml:1>"),
        ("phases: {build: {require_approval: false}}", "build <base.yaml:3> | High <base.yaml:1>"),
        (
            "phases: {release: {require_approval: true}}",
            "build <base.yaml:3>, release <a.yaml:2> | High <base.yaml:1>",
        ),
    ] {
        let own = format!("extends: base.yaml\n{own}");
        assert_eq!(gates(&[("a.yaml", &own), base]), expected, "{own}");
    }
}
