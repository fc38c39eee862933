//! Each row: a file or variable as people write it, and what it comes to in one line.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::env::{DWORKERS_DEFAULT_AUTONOMY, JOB_AUTONOMY, WORKER_AUTONOMY, WORKFLOW_AUTONOMY};
use super::*;
use crate::document::{Document, Format, Gravity, Problem, Problems};
use crate::policy::{Layer, LayerRank, Policy, Reading, Resolution, Scope};

fn document(name: &str, text: &str) -> Result<Arc<Document>, Problems> {
    Document::parse(name, text, Format::of_name(name)).map(Arc::new)
}

fn gravity(problem: &Problem) -> String {
    let word = match problem.gravity {
        Gravity::Notice => "notice",
        Gravity::Warning => "warning",
        Gravity::Error => "error",
    };
    format!("{word} {problem}")
}

fn told(problems: &Problems) -> String {
    problems.iter().map(gravity).collect::<Vec<_>>().join("\n")
}

/// Level and tolerances with where the level came from.
fn brief(resolution: &Resolution) -> String {
    let policy = &resolution.policy;
    let level = policy.level.as_deref().unwrap_or("-");
    let (warning, error) = (policy.tolerance.warning.word(), policy.tolerance.error.word());
    let source = |field: &str| resolution.sources[field].to_string();
    format!("{level} <{}> {warning}/{error} <{}>", source("level"), source("warning_tolerance"))
}

fn settings(project: &str, tenant: Option<&str>, environment: &[(&str, &str)]) -> Result<Settings, Problems> {
    let (project, _) =
        CheckreinFile::read(&document("checkrein.yaml", project)?, Owner::Project, Reading::Strict)?;
    let tenant =
        tenant.map(|text| Tenant::read(&document("tenant.yaml", text)?, Reading::Strict)).transpose()?;
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let tenant = tenant.map(|(tenant, _)| (tenant, NamedBy::Caller));
    Ok(Settings::new(None, Some(project), tenant, environment.collect()).unwrap())
}

fn answer(result: Result<String, Problems>) -> String {
    result.unwrap_or_else(|problems| told(&problems))
}

/// What a checkrein.yaml says about each scope it speaks of.
fn scopes(text: &str) -> String {
    answer((|| {
        let (file, problems) =
            CheckreinFile::read(&document("checkrein.yaml", text)?, Owner::Project, Reading::Strict)?;
        let mut lines = Vec::new();
        for scope in Scope::ALL {
            if let Some(layer) = file.layer(LayerRank::ProjectConfig, scope) {
                let resolution = Resolution::resolve(
                    scope,
                    [&layer],
                    crate::classify::Classifier::builtin(),
                    Reading::Strict,
                )?;
                lines.push(format!("{scope}: {}", brief(&resolution)));
            }
        }
        lines.extend(problems.iter().map(gravity));
        Ok(lines.join("\n"))
    })())
}

#[track_caller]
fn check(read: impl Fn(&str) -> String, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(read(text), *expected, "{text}");
    }
}

#[test]
fn autonomy_in_checkrein_yaml() {
    check(
        scopes,
        &[
            ("", ""),
            ("autonomy:\n", ""),
            ("autonomy: {}\n", "workflow: - <default> low/none <default>"),
            // by scope
            (
                "autonomy:\n  workflow: {warning_tolerance: high}\n  worker: manual\n  job: {level: guided, error_tolerance: low}\n",
                "workflow: - <default> high/none <checkrein.yaml:2>\nworker: manual <checkrein.yaml:3> high/high <level `manual` (checkrein.yaml:3)>\njob: guided <checkrein.yaml:4> high/low <level `guided` (checkrein.yaml:4)>",
            ),
            (
                "autonomy: {job: null, worker: manual}\n",
                "worker: manual <checkrein.yaml:1> high/high <level `manual` (checkrein.yaml:1)>",
            ),
            // a name means what its scope says
            (
                "autonomy:\n  workflow: autonomous\n  worker: autonomous\n",
                "workflow: autonomous <checkrein.yaml:2> medium/low <level `autonomous` (checkrein.yaml:2)>\nworker: autonomous <checkrein.yaml:3> high/high <level `autonomous` (checkrein.yaml:3)>",
            ),
            // a bare block is the workflows'
            (
                "autonomy: {check_in_frequency: per-step, error_tolerance: low}\n",
                "workflow: - <default> low/low <default>",
            ),
            // a bare name belongs to the scope that knows it
            (
                "autonomy: guided\n",
                "job: guided <checkrein.yaml:1> high/high <level `guided` (checkrein.yaml:1)>",
            ),
            (
                "autonomy: manual\n",
                "worker: manual <checkrein.yaml:1> high/high <level `manual` (checkrein.yaml:1)>",
            ),
            (
                "autonomy: guarded\n",
                "workflow: guarded <checkrein.yaml:1> low/none <level `guarded` (checkrein.yaml:1)>",
            ),
            // or to nobody
            (
                "autonomy: autonomous\n",
                "error checkrein.yaml:1:1: autonomy: level `autonomous` does not say for which scope it is meant\n  hint: write `autonomy: {workflow: autonomous}`; scopes with this level: `workflow`, `worker`",
            ),
            (
                "autonomy: custom\n",
                "error checkrein.yaml:1:1: autonomy: level `custom` does not say for which scope it is meant\n  hint: write `autonomy: {workflow: custom}`; scopes with this level: `workflow`, `worker`, `job`",
            ),
            (
                "autonomy: yolo\n",
                "error checkrein.yaml:1:1: autonomy: unknown level `yolo`\n  hint: write a level by scope, as in `autonomy: {job: guided}`",
            ),
            (
                "autonomy: guidde\n",
                "error checkrein.yaml:1:1: autonomy: unknown level `guidde`\n  hint: did you mean `guided`?",
            ),
            // what is wrong
            ("autonomy: 3\n", "error checkrein.yaml:1:11: autonomy: expected a map, found a number `3`"),
            ("autonomy: [guided]\n", "error checkrein.yaml:1:11: autonomy: expected a map, found a list"),
            (
                "autonomy: {job: 3}\n",
                "error checkrein.yaml:1:17: autonomy.job: expected a map, found a number `3`",
            ),
            (
                "autonomy: {job: guidde}\n",
                "error checkrein.yaml:1:12: autonomy.job.level: unknown job level `guidde`\n  hint: did you mean `guided`? valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
            ),
            (
                "autonomy: {worker: guided}\n",
                "error checkrein.yaml:1:12: autonomy.worker.level: unknown worker level `guided`\n  hint: `guided` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            // all of it, whichever scope is asked for
            (
                "autonomy: {worker: guided, job: manual}\nworkers: {a: {autonomy: full}, b: {autonomy: manual}}\n",
                "error checkrein.yaml:1:12: autonomy.worker.level: unknown worker level `guided`\n  hint: `guided` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`\nerror checkrein.yaml:1:28: autonomy.job.level: unknown job level `manual`\n  hint: `manual` is a worker level; valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`\nerror checkrein.yaml:2:15: workers.a.autonomy.level: unknown worker level `full`\n  hint: `full` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "autonomy: {job: {overrides: {1: {level: yolo}}}}\n",
                "error checkrein.yaml:1:30: autonomy.job.overrides.1: a job has no phase `1`\n  hint: its phases are named `phase-1-strategic`, `phase-2-tactical` and so on\nerror checkrein.yaml:1:34: autonomy.job.overrides.1.level: unknown job level `yolo`\n  hint: valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
            ),
            (
                "autonomy: {jobs: guided, worker: manual}\n",
                "error checkrein.yaml:1:12: autonomy: unknown key `jobs`\n  hint: did you mean `job`?",
            ),
            (
                "autonomy: {worker: manual, error_tolerance: low}\n",
                "error checkrein.yaml:1:28: autonomy: unknown key `error_tolerance`\n  hint: allowed here: `workflow`, `worker`, `job`",
            ),
            (
                "autonomy: {eror_tolerance: low}\n",
                "error checkrein.yaml:1:12: autonomy: unknown key `eror_tolerance`\n  hint: did you mean `error_tolerance`?",
            ),
            (
                "autonmy: {job: guided}\nworkers: []\n",
                "error checkrein.yaml:1:1: unknown key `autonmy`\n  hint: did you mean `autonomy`?\nerror checkrein.yaml:2:10: workers: expected a map, found a list",
            ),
            (
                "autonomy: {workflow: {limits: {max_total_errors: 0}}}\n",
                "error checkrein.yaml:1:50: autonomy.workflow.limits.max_total_errors: must be at least 1, found `0`",
            ),
        ],
    );
}

/// What is said about a checkrein.yaml when it is read, and about its frames.
fn said_of(text: &str) -> String {
    answer((|| {
        let file = CheckreinFile::read(&document("checkrein.yaml", text)?, Owner::Project, Reading::Strict);
        file.map(|(_, problems)| told(&problems))
    })())
}

#[test]
fn frames_and_words_in_checkrein_yaml() {
    check(
        said_of,
        &[
            ("frames: {level: auto, pushThreshold: 60, weights: {duration: 2}}\n", ""),
            (
                "frames:\n  level: always\n  aggregation: sum\n",
                "error checkrein.yaml:2:3: frames.level: unknown value `always`, ignored; valid are manual, suggest, auto\nerror checkrein.yaml:3:3: frames.aggregation: unknown value `sum`, ignored; valid are average, weighted, max",
            ),
            (
                "frames:\n  enabledHeuristics:\n    - duration\n    - duratoin\n  weights: {complexity: -1, compelxity: 1}\n",
                "error checkrein.yaml:4:7: frames.enabledHeuristics[1]: unknown heuristic `duratoin`, ignored; did you mean `duration`?\nerror checkrein.yaml:5:29: frames.weights.compelxity: unknown heuristic `compelxity`, ignored; did you mean `complexity`?\nerror checkrein.yaml:5:13: frames.weights.complexity: `-1` is not a number of 0 or more, ignored",
            ),
            (
                "frames:\n  heuristics:\n    mine: {family: push, score: errors > 3}\n    broken: {family: pop, score: 'errors +'}\n    duration: {family: pop, score: '1'}\n  enabledHeuristics: [mine, broken]\n",
                "error checkrein.yaml:4:5: frames.heuristics.broken: not an expression: `errors` is not known; there are goal, artifacts, successes, failures, noProgressTurns, tokens, contextLimit, ignored\nerror checkrein.yaml:5:5: frames.heuristics.duration: a built-in heuristic has this name, ignored\nerror checkrein.yaml:6:29: frames.enabledHeuristics[1]: unknown heuristic `broken`, ignored; valid are failure_boundary, context_switch, complexity, duration, goal_completion, stagnation, context_overflow",
            ),
            ("classify: {severity: {high: {add: [outage]}}, category: {style: {replace: [nit$]}}}\n", ""),
            (
                "classify:\n  severity:\n    high:\n      add: [outage, '!!']\n  category: {style: {replace: ['', nit]}}\n",
                "error checkrein.yaml:4:21: classify.severity.high.add[1]: `!!` is not a word to look for: it begins with no letter or digit\nerror checkrein.yaml:5:32: classify.category.style.replace[0]: `` is not a word to look for: it begins with no letter or digit",
            ),
        ],
    );
}

#[test]
fn values_that_can_do_nothing_are_refused() {
    let own = |text: &str| {
        let file = document("checkrein.yaml", text);
        let read = file.and_then(|file| CheckreinFile::read(&file, Owner::User, Reading::Strict));
        answer(read.map(|_| String::new()))
    };
    let variable = |place: &str, name: &str| {
        format!(
            "error {place}: `{name}` is not the name of a variable\n  hint: write the name alone, such as `API_KEY`"
        )
    };
    for (text, expected) in [
        ("secrets: [A, '']\n", variable("checkrein.yaml:1:14: secrets[1]", "")),
        (
            "agents: {claude: {environment: [A=B]}}\n",
            variable("checkrein.yaml:1:33: agents.claude.environment[0]", "A=B"),
        ),
        (
            "output: {max_bytes: 0}\n",
            "error checkrein.yaml:1:10: output.max_bytes: must be at least 1, found `0`".to_owned(),
        ),
        (
            "models: {m: {api: openai, model: x, url: 'ftp://x'}}\n",
            "error checkrein.yaml:1:37: models.m.url: `ftp://x` does not begin with `https://` or `http://`".to_owned(),
        ),
        (
            "forge: {}\n",
            "error checkrein.yaml:1:1: forge: a forge needs its `kind`\n  hint: write `gitea`, `github` or `local`".to_owned(),
        ),
        ("forge: {kind: local}\nsecrets: [A]\noutput: {max_bytes: 1}\n", String::new()),
    ] {
        assert_eq!(own(text), expected, "{text}");
    }
    assert_eq!(expert("x", &[("x", "environment: [A B]\n")]), variable("x.yaml:1:15: environment[0]", "A B"));
    assert_eq!(
        expert("x", &[("x", "disk_bytes: 0\n")]),
        "error x.yaml:1:1: disk_bytes: must be at least 1, found `0`"
    );
    assert_eq!(gates("flow.yaml", "secrets: ['']\nphases: {}\n"), variable("flow.yaml:1:11: secrets[0]", ""));
}

/// A parent may speak of a phase that only its children have (W17).
#[test]
fn a_gate_is_for_a_phase_of_any_file_in_the_chain() {
    let parent = "autonomy: {require_approval_for: [release]}\nphases: {build: {steps: [{id: a, run: x}]}}\n";
    let chain = |child: &str| {
        let find = |_: &Workflow, _: &str| document("parent.yaml", parent);
        answer(document("child.yaml", child).and_then(|child| {
            let (chain, _) = Workflow::chain(&child, find)?;
            crate::plan::Plan::resolve(&chain)?.1.refuse_or(String::new()).map(|(fine, _)| fine)
        }))
    };
    assert_eq!(chain("extends: parent.yaml\nphases: {release: {steps: [{id: b, run: x}]}}\n"), "");
    assert!(chain("extends: parent.yaml\nphases: {}\n").contains("there is no phase `release`"));
    assert!(gates("parent.yaml", parent).contains("there is no phase `release`"));
}

#[test]
fn an_agent_without_a_name_is_refused() {
    let hint = "an agent has a name, found nothing\n  hint: name an agent or a command, such as `claude`, or leave it out";
    let own = |text: &str| {
        let file = document("checkrein.yaml", text);
        answer(
            file.and_then(|file| CheckreinFile::read(&file, Owner::User, Reading::Strict))
                .map(|_| String::new()),
        )
    };
    assert_eq!(own("agent: ''\n"), format!("error checkrein.yaml:1:1: agent: {hint}"));
    assert_eq!(own("agent: 'cmd: '\n"), format!("error checkrein.yaml:1:1: agent: {hint}"));
    assert_eq!(
        own("agents: {a: {command: ' '}}\n"),
        format!("error checkrein.yaml:1:14: agents.a.command: {hint}")
    );
    assert_eq!(own("agent: claude\nagents: {a: {command: x}}\n"), "");
    assert_eq!(expert("x", &[("x", "agent: ''\n")]), format!("error x.yaml:1:1: agent: {hint}"));
    assert_eq!(gates("flow.yaml", "agent: ''\nphases: {}\n"), format!("error flow.yaml:1:1: agent: {hint}"));
}

/// Every worker of a tenant file with its level.
fn workers_of(name: &str, text: &str) -> String {
    answer((|| {
        let (tenant, _) = Tenant::read(&document(name, text)?, Reading::Strict)?;
        let settings = Settings::new(None, None, Some((tenant, NamedBy::Caller)), Vec::new()).unwrap();
        let mut lines = Vec::new();
        for worker in settings.workers() {
            let resolution = settings.resolve(Scope::Worker, Subject::Worker(worker), &[])?;
            let level = resolution.policy.level.clone().unwrap_or_default();
            lines.push(format!("{worker}={level} <{}>", resolution.sources["level"]));
        }
        let label =
            settings.tenant.as_ref().and_then(|(tenant, _)| tenant.label()).map(|label| format!("{label}: "));
        Ok(label.unwrap_or_default() + &lines.join(", "))
    })())
}

const PRINTED: &str = "workers:
  analyst:
    autonomy: semi_supervised
  researcher:
    autonomy: autonomous
  data_analyst:
    autonomy: semi_supervised
  manager:
    autonomy: manual
";

#[test]
fn a_tenant_as_it_is_printed() {
    let wrapped = format!(
        "tenant:\n  id: acme\n  name: Acme\n{}",
        PRINTED.replace("workers", "  workers").replace("\n  ", "\n    ")
    );
    check(
        |text| workers_of("tenant.yaml", text),
        &[
            (
                PRINTED,
                "analyst=semi_supervised <tenant.yaml:3>, data_analyst=semi_supervised <tenant.yaml:7>, manager=manual <tenant.yaml:9>, researcher=autonomous <tenant.yaml:5>",
            ),
            (
                &wrapped,
                "Acme: analyst=semi_supervised <tenant.yaml:6>, data_analyst=semi_supervised <tenant.yaml:10>, manager=manual <tenant.yaml:12>, researcher=autonomous <tenant.yaml:8>",
            ),
            (
                &format!("id: acme\n{PRINTED}"),
                "acme: analyst=semi_supervised <tenant.yaml:4>, data_analyst=semi_supervised <tenant.yaml:8>, manager=manual <tenant.yaml:10>, researcher=autonomous <tenant.yaml:6>",
            ),
        ],
    );
    check(
        |text| workers_of("tenant.json", text),
        &[
            (
                r#"{"workers": {"analyst": {"autonomy": "semi_supervised"}, "manager": {"autonomy": "manual"}}}"#,
                "analyst=semi_supervised <tenant.json:1>, manager=manual <tenant.json:1>",
            ),
            (
                r#"{"tenant": {"workers": {"manager": {"autonomy": {"level": "manual"}}}}}"#,
                "manager=manual <tenant.json:1>",
            ),
        ],
    );
    check(
        |text| workers_of("tenant.toml", text),
        &[("[workers.manager]\nautonomy = \"manual\"\n", "manager=manual <tenant.toml:2>")],
    );
}

#[test]
fn odd_tenants() {
    check(
        |text| workers_of("tenant.yaml", text),
        &[
            ("workers: {}\n", ""),
            ("workers:\n  analyst:\n", "analyst=semi_supervised <default>"),
            ("workers:\n  analyst: {}\n", "analyst=semi_supervised <default>"),
            ("workers:\n  analyst: {autonomy: null}\n", "analyst=semi_supervised <default>"),
            (
                "workers:\n  analyst: {autonomy: {level: semi_supervised, checkpoint_types: [draft]}}\n",
                "analyst=semi_supervised <tenant.yaml:2>",
            ),
            (
                "worker:\n  analyst: {autonomy: manual}\n",
                "error tenant.yaml:1:1: unknown key `worker`\n  hint: did you mean `workers`?",
            ),
            (
                "workers:\n  analyst: {autnomy: manual}\n",
                "error tenant.yaml:2:13: workers.analyst: unknown key `autnomy`\n  hint: did you mean `autonomy`?",
            ),
            (
                "workers:\n  analyst: manual\n",
                "error tenant.yaml:2:12: workers.analyst: expected a map, found text `manual`",
            ),
            (
                "tenant:\n  wrokers: {}\n",
                "error tenant.yaml:2:3: tenant: unknown key `wrokers`\n  hint: did you mean `workers`?",
            ),
            (
                "workers:\n  analyst:\n    autonomy: semi-supervised\n",
                "error tenant.yaml:3:5: workers.analyst.autonomy.level: unknown worker level `semi-supervised`\n  hint: did you mean `semi_supervised`? valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "workers:\n  analyst:\n    autonomy: MANUAL\n",
                "error tenant.yaml:3:5: workers.analyst.autonomy.level: unknown worker level `MANUAL`\n  hint: did you mean `manual`? valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "workers:\n  analyst:\n    autonomy: partial\n",
                "error tenant.yaml:3:5: workers.analyst.autonomy.level: unknown worker level `partial`\n  hint: `partial` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "workers:\n  analyst:\n    autonomy: {level: yolo}\n",
                "error tenant.yaml:3:16: workers.analyst.autonomy.level: unknown worker level `yolo`\n  hint: valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            // also beside one that is fine, and in the wrapper
            (
                "workers: {manager: {autonomy: manual}}\ntenant: {workers: {analyst: {autonomy: yolo}}}\n",
                "error tenant.yaml:2:30: tenant.workers.analyst.autonomy.level: unknown worker level `yolo`\n  hint: valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "workers: {analyst: {autonomy: manual}}\ntenant: {workers: {analyst: {autonomy: yolo}}}\n",
                "error tenant.yaml:2:30: tenant.workers.analyst.autonomy.level: unknown worker level `yolo`\n  hint: valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
            ),
            (
                "workers:\n  analyst: {autonomy: manual}\n  analyst: {autonomy: autonomous}\n",
                "error tenant.yaml:3:3: key `analyst` is given twice",
            ),
        ],
    );
}

/// C2: worker entry > DWORKERS_DEFAULT_AUTONOMY > semi_supervised.
#[test]
fn whose_word_counts_for_a_worker() {
    let level = |project: &str, tenant: Option<&str>, environment: &[(&str, &str)]| {
        answer(settings(project, tenant, environment).and_then(|settings| {
            let resolution = settings.resolve(Scope::Worker, Subject::Worker("analyst"), &[])?;
            Ok(format!("{} <{}>", resolution.policy.level.unwrap_or_default(), resolution.sources["level"]))
        }))
    };
    let manual = [(DWORKERS_DEFAULT_AUTONOMY, "manual")];
    let entry = "workers: {analyst: {autonomy: autonomous}}\n";
    for (project, tenant, environment, expected) in [
        ("", None, &[][..], "semi_supervised <default>"),
        ("", None, &manual, "manual <DWORKERS_DEFAULT_AUTONOMY>"),
        ("", None, &[(DWORKERS_DEFAULT_AUTONOMY, " manual ")], "manual <DWORKERS_DEFAULT_AUTONOMY>"),
        ("", None, &[(DWORKERS_DEFAULT_AUTONOMY, "")], "semi_supervised <default>"),
        ("", Some(entry), &manual, "autonomous <tenant.yaml:1>"),
        (entry, None, &manual, "autonomous <checkrein.yaml:1>"),
        // another worker's entry is not this one's
        (
            "",
            Some("workers: {writer: {autonomy: autonomous}}\n"),
            &manual,
            "manual <DWORKERS_DEFAULT_AUTONOMY>",
        ),
        ("", Some("workers: {analyst: {}}\n"), &manual, "manual <DWORKERS_DEFAULT_AUTONOMY>"),
        // a tenant file is stronger than checkrein.yaml
        ("workers: {analyst: {autonomy: manual}}\n", Some(entry), &[], "autonomous <tenant.yaml:1>"),
        // what the project says about all workers is weaker than the variable
        ("autonomy: {worker: autonomous}\n", None, &manual, "manual <DWORKERS_DEFAULT_AUTONOMY>"),
        ("autonomy: {worker: autonomous}\n", None, &[], "autonomous <checkrein.yaml:1>"),
        // of the two variables our own is stronger
        (
            "",
            None,
            &[(DWORKERS_DEFAULT_AUTONOMY, "manual"), (WORKER_AUTONOMY, "autonomous")],
            "autonomous <CHECKREIN_WORKER_AUTONOMY>",
        ),
        // a bad value is refused, also where a stronger one stands
        (
            "",
            None,
            &[(DWORKERS_DEFAULT_AUTONOMY, "full")],
            "error DWORKERS_DEFAULT_AUTONOMY: level: unknown worker level `full`\n  hint: `full` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
        ),
        (
            "",
            Some(entry),
            &[(DWORKERS_DEFAULT_AUTONOMY, "Manual")],
            "error DWORKERS_DEFAULT_AUTONOMY: level: unknown worker level `Manual`\n  hint: did you mean `manual`? valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
        ),
    ] {
        assert_eq!(level(project, tenant, environment), expected, "{project} {tenant:?} {environment:?}");
    }
}

/// An entry is as strong as whoever named the place it stands in.
#[test]
fn whose_tenant_counts_for_a_worker() {
    let file = |name: &str, level: &str| {
        let text = format!("workers: {{analyst: {{autonomy: {level}}}}}\n");
        let text = if level.is_empty() { String::new() } else { text };
        CheckreinFile::read(&document(name, &text).unwrap(), Owner::Project, Reading::Strict).unwrap().0
    };
    let tenant = "workers: {analyst: {autonomy: semi_supervised, reviewer: auto-approve}}\n";
    for (user, project, named_by, expected) in [
        ("manual", "autonomous", NamedBy::Caller, "tenant.yaml:1"),
        ("manual", "autonomous", NamedBy::Project, "tenant.yaml:1"),
        ("manual", "autonomous", NamedBy::User, "project.yaml:1"),
        ("manual", "", NamedBy::User, "tenant.yaml:1"),
        ("manual", "", NamedBy::Project, "tenant.yaml:1"),
        ("", "autonomous", NamedBy::User, "project.yaml:1"),
    ] {
        let (tenant, _) = Tenant::read(&document("tenant.yaml", tenant).unwrap(), Reading::Strict).unwrap();
        let settings = Settings::new(
            Some(file("user.yaml", user)),
            Some(file("project.yaml", project)),
            Some((tenant, named_by)),
            Vec::new(),
        )
        .unwrap();
        let resolution = settings.resolve(Scope::Worker, Subject::Worker("analyst"), &[]).unwrap();
        assert_eq!(
            resolution.sources["level"].to_string(),
            expected,
            "user {user}, project {project}, {named_by:?}"
        );
        assert_eq!(settings.reviewer("analyst"), Reviewer::AutoApprove, "nobody else names a reviewer");
    }
}

#[test]
fn policies_in_variables() {
    let of = |scope: Scope, name: &'static str| {
        move |text: &str| {
            answer(
                settings("", None, &[(name, text)])
                    .and_then(|settings| Ok(brief(&settings.resolve(scope, Subject::Anyone, &[])?))),
            )
        }
    };
    check(
        of(Scope::Workflow, WORKFLOW_AUTONOMY),
        &[
            (
                "guarded",
                "guarded <CHECKREIN_WORKFLOW_AUTONOMY> low/none <level `guarded` (CHECKREIN_WORKFLOW_AUTONOMY)>",
            ),
            (r#"{"warning_tolerance": "high"}"#, "- <default> high/none <CHECKREIN_WORKFLOW_AUTONOMY>"),
            (
                r#""guarded""#,
                "guarded <CHECKREIN_WORKFLOW_AUTONOMY> low/none <level `guarded` (CHECKREIN_WORKFLOW_AUTONOMY)>",
            ),
            (
                "null",
                "- <default, cleared by CHECKREIN_WORKFLOW_AUTONOMY> low/none <default, cleared by CHECKREIN_WORKFLOW_AUTONOMY>",
            ),
            ("   ", "- <default> low/none <default>"),
            (
                r#"{"warning_tolerance": "high""#,
                "error CHECKREIN_WORKFLOW_AUTONOMY:1:1: not valid JSON: unterminated object",
            ),
            (
                r#"{"warning_tolerence": "high"}"#,
                "error CHECKREIN_WORKFLOW_AUTONOMY:1:2: unknown key `warning_tolerence`\n  hint: did you mean `warning_tolerance`?",
            ),
            (
                r#"{"limits": {"max_total_errors": 0}}"#,
                "error CHECKREIN_WORKFLOW_AUTONOMY:1:33: limits.max_total_errors: must be at least 1, found `0`",
            ),
        ],
    );
    check(
        of(Scope::Job, JOB_AUTONOMY),
        &[
            ("guided", "guided <CHECKREIN_JOB_AUTONOMY> high/high <level `guided` (CHECKREIN_JOB_AUTONOMY)>"),
            (
                r#"{"level": "guided", "error_tolerance": "low"}"#,
                "guided <CHECKREIN_JOB_AUTONOMY> high/low <level `guided` (CHECKREIN_JOB_AUTONOMY)>",
            ),
            (
                "manual",
                "error CHECKREIN_JOB_AUTONOMY: level: unknown job level `manual`\n  hint: `manual` is a worker level; valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
            ),
        ],
    );
    // a variable of one scope says nothing about another
    check(
        of(Scope::Job, WORKER_AUTONOMY),
        &[("manual", "partial <default> high/high <level `partial` (default)>")],
    );
}

#[test]
fn misspelt_variables() {
    check(
        |name| told(&env::unknown([name])),
        &[
            (
                "CHECKREIN_JOB_AUTONMY",
                "notice CHECKREIN_JOB_AUTONMY: unknown variable, ignored\n  hint: did you mean `CHECKREIN_JOB_AUTONOMY`?",
            ),
            (
                "DWORKERS_DEFAULT_AUTONOMOUS",
                "notice DWORKERS_DEFAULT_AUTONOMOUS: unknown variable, ignored\n  hint: did you mean `DWORKERS_DEFAULT_AUTONOMY`?",
            ),
            (
                "FLAME_PUSH_TRESHOLD",
                "notice FLAME_PUSH_TRESHOLD: unknown variable, ignored\n  hint: did you mean `FLAME_PUSH_THRESHOLD`?",
            ),
            (JOB_AUTONOMY, ""),
            ("CHECKREIN_AUTONOMY", ""),
            ("CHECKREIN_BRIEF", ""),
            ("PATH", ""),
            ("CHECKREIN_SOMETHING_ELSE_ENTIRELY", ""),
        ],
    );
    for (name, _) in env::SETTINGS {
        assert_eq!(told(&env::unknown([*name])), "", "{name}");
    }
}

/// An expert with these files beside the built-in ones: its description and its policy.
fn expert(name: &str, files: &[(&str, &str)]) -> String {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let known: Vec<String> = files.keys().map(|name| (*name).to_owned()).collect();
    answer((|| {
        let found = Expert::find(
            name,
            |wanted| match files.get(wanted) {
                Some(text) => {
                    let document = document(&format!("{wanted}.yaml"), text)?;
                    ExpertFile::read(&document, Owner::User).map(|(file, _)| Some(file))
                }
                None => Ok(None),
            },
            &known,
        )?;
        let settings = settings("", None, &[])?;
        let resolution = settings.resolve(Scope::Job, Subject::Expert(&found), &[])?;
        Ok(format!("{} ({})", brief(&resolution), found.description.as_deref().unwrap_or("-")))
    })())
}

/// R6: null in an override forgets what the expert said.
#[test]
fn null_in_an_override_takes_the_expert_back() {
    let read = |text: &str| ExpertFile::read(&document("x.json", text).unwrap(), Owner::User).unwrap().0;
    let said = r#"{"autonomy": {"level": "dependent", "timeout": "2h"}, "agent": "claude", "instructions": "Be kind",
        "merge": "rebase", "timeout": "5m", "environment": ["A"], "disk_bytes": 7, "sandbox": true, "requires": ["gpu"]}"#;
    let file = read(said);
    let expert = Expert::find("x", |_| Ok(Some(file.clone())), &[]).unwrap();
    let settings = settings("", None, &[]).unwrap();
    for (over, level) in [
        ("{}", "dependent"),
        (r#"{"autonomy": null}"#, "partial"),
        (r#"{"autonomy": {"level": null}}"#, "partial"),
        (r#"{"autonomy": "full"}"#, "full"),
    ] {
        let start: Vec<Layer> = read(over).layer().into_iter().collect();
        let policy = settings.resolve(Scope::Job, Subject::Expert(&expert), &start).unwrap().policy;
        assert_eq!(policy.level.as_deref(), Some(level), "{over}");
        assert_eq!(policy.timeout.is_some(), over != r#"{"autonomy": null}"#, "{over}");
    }
    let cleared = r#"{"agent": null, "instructions": null, "merge": null, "timeout": null, "environment": null,
        "disk_bytes": null, "sandbox": null, "requires": null}"#;
    let settled = |over: &str| Expert::job_settings(Some(&expert), Some(&read(over)));
    assert_eq!(settled(cleared), Expert::job_settings(None, None));
    assert_eq!(settled("{}"), Expert::job_settings(Some(&expert), None));
}

/// L3: the five and their levels.
#[test]
fn built_in_experts() {
    check(
        |name| expert(name, &[]),
        &[
            (
                "coder",
                "partial <expert `coder`> high/high <level `partial` (expert `coder`)> (writes code; the plan and the result are reviewed)",
            ),
            (
                "debugger",
                "full <expert `debugger`> high/high <level `full` (expert `debugger`)> (finds and mends a fault on its own)",
            ),
            (
                "researcher",
                "partial <expert `researcher`> high/high <level `partial` (expert `researcher`)> (researches; the plan and the result are reviewed)",
            ),
            (
                "validator",
                "review <expert `validator`> high/high <level `review` (expert `validator`)> (checks work and hands in a report)",
            ),
            (
                "writer",
                "partial <expert `writer`> high/high <level `partial` (expert `writer`)> (writes prose; the outline and the result are reviewed)",
            ),
            ("codr", "error --expert: unknown expert `codr`\n  hint: did you mean `coder`?"),
            (
                "plumber",
                "error --expert: unknown expert `plumber`\n  hint: known experts: `coder`, `debugger`, `researcher`, `validator`, `writer`",
            ),
        ],
    );
}

#[test]
fn experts_extend_each_other() {
    let files = [
        ("plain", "description: nothing of its own\n"),
        ("defaults-only", "$extends: defaults\nautonomy: {error_tolerance: low}\n"),
        ("careful", "$extends: coder\ndescription: asks more\nautonomy: guided\n"),
        ("strict", "$extends: careful\nautonomy: {error_tolerance: low}\n"),
        ("silent", "$extends: debugger\n"),
        ("writer", "$extends: writer\nautonomy: {warning_tolerance: low}\n"),
        ("egg", "$extends: hen\n"),
        ("hen", "$extends: egg\n"),
        ("self", "description: x\n$extends: self\n"),
        ("lost", "description: x\n$extends: carefull\n"),
        ("gone", "$extends: plumber\n"),
        ("wrong", "autonomy: manual\n"),
        ("misspelt", "extends: coder\n"),
        ("empty", ""),
    ];
    check(
        |name| expert(name, &files),
        &[
            ("plain", "partial <default> high/high <level `partial` (default)> (nothing of its own)"),
            ("defaults-only", "partial <default> high/low <level `partial` (default)> (-)"),
            ("careful", "guided <careful.yaml:3> high/high <level `guided` (careful.yaml:3)> (asks more)"),
            ("strict", "guided <careful.yaml:3> high/low <level `guided` (careful.yaml:3)> (asks more)"),
            (
                "silent",
                "full <expert `debugger`> high/high <level `full` (expert `debugger`)> (finds and mends a fault on its own)",
            ),
            // a file that extends the built-in expert of its own name
            (
                "writer",
                "partial <expert `writer`> low/high <writer.yaml:2> (writes prose; the outline and the result are reviewed)",
            ),
            // what cannot be
            ("egg", "error hen.yaml:1:1: $extends: experts extend each other in a circle: egg → hen → egg"),
            ("self", "error self.yaml:2:1: $extends: experts extend each other in a circle: self → self"),
            (
                "lost",
                "error lost.yaml:2:1: $extends: unknown expert `carefull`\n  hint: did you mean `careful`?",
            ),
            (
                "gone",
                "error gone.yaml:1:1: $extends: unknown expert `plumber`\n  hint: known experts: `coder`, `debugger`, `researcher`, `validator`, `writer`, `careful`, `defaults-only`, `egg`, `empty`, `gone`, `hen`, `lost`, `misspelt`, `plain`, `self`, `silent`, `strict`, `wrong`",
            ),
            (
                "wrong",
                "error wrong.yaml:1:1: autonomy.level: unknown job level `manual`\n  hint: `manual` is a worker level; valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
            ),
            ("misspelt", "error misspelt.yaml:1:1: unknown key `extends`\n  hint: did you mean `$extends`?"),
            ("empty", "partial <default> high/high <level `partial` (default)> (-)"),
            ("carful", "error --expert: unknown expert `carful`\n  hint: did you mean `careful`?"),
        ],
    );
}

fn workflow(name: &str, text: &str) -> Result<(Workflow, Problems), Problems> {
    Workflow::read(&document(name, text)?)
}

fn policy_of(name: &str, text: &str) -> Policy {
    let (workflow, _) = workflow(name, text).unwrap();
    let settings = settings("", None, &[]).unwrap();
    settings.resolve(Scope::Workflow, Subject::Workflow(&[workflow]), &[]).unwrap().policy
}

const YAML: &str = r#"
id: ship-it
autonomy: { check_in_frequency: per-step, warning_tolerance: medium, overrides: { evaluate: { error_tolerance: low } } }
phases:
  build:
    pre_steps:  [ { id: branch, run: git switch -c feat } ]
    steps:
      - id: implement
        run: ./build.sh
        timeout: 10m
        result_handling: { on_warning: continue }
  evaluate: { max_retries: 2, require_approval: true, steps: [ { id: test, run: cargo test } ] }
  archive: {}
hooks:
  pre_build: [ { name: lint, run: ./lint.sh, result_handling: { on_failure: continue } } ]
"#;

const JSON: &str = r#"{
  "id": "ship-it",
  "autonomy": {"check_in_frequency": "per-step", "warning_tolerance": "medium", "overrides": {"evaluate": {"error_tolerance": "low"}}},
  "phases": {
    "build": {
      "pre_steps": [{"id": "branch", "run": "git switch -c feat"}],
      "steps": [{"id": "implement", "run": "./build.sh", "timeout": "10m", "result_handling": {"on_warning": "continue"}}]
    },
    "evaluate": {"max_retries": 2, "require_approval": true, "steps": [{"id": "test", "run": "cargo test"}]},
    "archive": {}
  },
  "hooks": {"pre_build": [{"name": "lint", "run": "./lint.sh", "result_handling": {"on_failure": "continue"}}]}
}"#;

const TOML: &str = r#"
id = "ship-it"

[autonomy]
check_in_frequency = "per-step"
warning_tolerance = "medium"
overrides.evaluate.error_tolerance = "low"

[phases.build]
pre_steps = [{ id = "branch", run = "git switch -c feat" }]

[[phases.build.steps]]
id = "implement"
run = "./build.sh"
timeout = "10m"
result_handling = { on_warning = "continue" }

[phases.evaluate]
max_retries = 2
require_approval = true
steps = [{ id = "test", run = "cargo test" }]

[phases.archive]

[[hooks.pre_build]]
name = "lint"
run = "./lint.sh"
result_handling = { on_failure = "continue" }
"#;

#[test]
fn a_workflow_is_the_same_in_every_format() {
    let (yaml, problems) = workflow("flow.yaml", YAML).unwrap();
    assert_eq!(told(&problems), "");
    let policy = policy_of("flow.yaml", YAML);
    assert_eq!(policy.require_approval_for, ["evaluate"]);
    assert_eq!(policy.for_phase(Some("evaluate")).error_tolerance, crate::policy::Tolerance::Low);
    assert_eq!(
        yaml.file.phases.keys().collect::<Vec<_>>(),
        ["build", "evaluate", "archive"],
        "in the order written"
    );
    for (name, text) in [("flow.json", JSON), ("flow.toml", TOML)] {
        let (other, problems) = workflow(name, text).unwrap();
        assert_eq!(told(&problems), "", "{name}");
        assert_eq!(format!("{:?}", other.file), format!("{:?}", yaml.file), "{name}");
        assert_eq!(policy_of(name, text), policy, "{name}");
    }
}

/// The gates of a workflow file and what is said about it.
fn gates(name: &str, text: &str) -> String {
    answer((|| {
        let (workflow, problems) = workflow(name, text)?;
        let settings = settings("", None, &[])?;
        let resolution = settings.resolve(Scope::Workflow, Subject::Workflow(&[workflow]), &[])?;
        let mut lines = vec![format!("gates: [{}]", resolution.policy.require_approval_for.join(", "))];
        lines.extend(problems.iter().chain(resolution.problems.iter()).map(gravity));
        Ok(lines.join("\n"))
    })())
}

#[test]
fn gates_in_a_workflow_file() {
    let with = |autonomy: &str, release: &str| {
        gates("flow.yaml", &format!("autonomy: {autonomy}\nphases: {{build: {{}}, release: {release}}}\n"))
    };
    for (autonomy, release, expected) in [
        ("{}", "{}", "gates: []"),
        ("{}", "{require_approval: true}", "gates: [release]"),
        ("null", "{require_approval: true}", "gates: [release]"),
        ("{pause_before_release: true}", "{}", "gates: [release]"),
        ("{pause_before_release: true}", "{require_approval: true}", "gates: [release]"),
        ("{require_approval_for: [build]}", "{require_approval: true}", "gates: [build, release]"),
        ("{require_approval_for: [build]}", "{}", "gates: [build]"),
        ("{require_approval_for: [build], pause_before_release: true}", "{}", "gates: [build, release]"),
        ("{pause_before_release: false, require_approval_for: [release]}", "{}", "gates: [release]"),
        ("{require_approval_for: []}", "{require_approval: true}", "gates: [release]"),
        (
            "{require_approval_for: [relaese, deploy]}",
            "{}",
            "error flow.yaml:1:35: autonomy.require_approval_for[0]: there is no phase `relaese`\n  hint: did you mean `release`?\n\
             error flow.yaml:1:44: autonomy.require_approval_for[1]: there is no phase `deploy`\n  hint: phases of this file: `build`, `release`",
        ),
    ] {
        assert_eq!(with(autonomy, release), expected, "{autonomy} {release}");
    }
}

#[test]
fn what_a_workflow_file_is_told() {
    check(
        |text| gates("flow.yaml", text),
        &[
            ("phases: {}\n", "gates: []"),
            (
                "phases:\n  build:\n    steps:\n      - {id: a, run: x}\n      - {id: a, run: y}\n",
                "error flow.yaml:5:9: phases.build.steps[1]: step id `a` is used twice in phase `build`",
            ),
            (
                "phases:\n  build:\n    pre_steps: [{id: a, run: x}]\n    post_steps: [{name: a, run: y}]\n",
                "error flow.yaml:4:18: phases.build.post_steps[0]: step id `a` is used twice in phase `build`",
            ),
            (
                "phases:\n  build: {steps: [{id: a, run: x}]}\n  test: {steps: [{id: a, run: x}]}\n",
                "gates: []",
            ),
            (
                "phases:\n  build: {steps: [{run: x}]}\n",
                "error flow.yaml:2:19: phases.build.steps[0]: a step has no id\n  hint: give it an `id`",
            ),
            (
                "phases:\n  build:\n    steps:\n      - id: a\n        run: x\n        result_handling:\n          on_failure: continue\n",
                "gates: []\nwarning flow.yaml:7:11: phases.build.steps[0].result_handling.on_failure: `on_failure: continue` is ignored: a step's failure always stops",
            ),
            (
                "result_handling: {on_failure: continue}\nphases:\n  build: {result_handling: {on_failure: continue}}\n",
                "gates: []\nwarning flow.yaml:1:19: result_handling.on_failure: `on_failure: continue` is ignored: a step's failure always stops\nwarning flow.yaml:3:29: phases.build.result_handling.on_failure: `on_failure: continue` is ignored: a step's failure always stops",
            ),
            (
                "phases: {build: {}}\nhooks: {pre_biuld: [], before_build: [], post_deploy: [], post_build: []}\n",
                "error flow.yaml:2:9: hooks.pre_biuld: there is no phase `biuld`, its hooks never run\n  hint: did you mean `pre_build`?\nerror flow.yaml:2:24: hooks.before_build: `before_build` is neither before nor after a phase, its hooks never run\n  hint: did you mean `pre_build`?\nerror flow.yaml:2:42: hooks.post_deploy: there is no phase `deploy`, its hooks never run\n  hint: hooks are keyed `pre_PHASE` or `post_PHASE`",
            ),
            ("extends: base\nhooks: {pre_build: []}\n", "gates: []"),
            (
                "phases: {build: {}}\nhooks: {pre_build: [{name: a, path: a/../../b.sh}, {name: b, path: a..b.sh}]}\n",
                "error flow.yaml:2:31: hooks.pre_build[0].path: `a/../../b.sh` leads out of the repository: `..` is refused",
            ),
            (
                "phases:\n  build: {steps: [{id: a}, {id: b, description: look around}, {id: c, prompt: p}]}\n",
                "error flow.yaml:2:19: phases.build.steps[0]: a step says nothing to do\n  hint: give it a `run` command or an `agent` prompt",
            ),
            (
                "phases:\n  build: {steps: [{id: a, run: x, result_handling: {on_failure: stop}}]}\n",
                "gates: []",
            ),
            (
                "phases: {build: {}}\nhooks:\n  pre_build: [{name: a, run: x, result_handling: {on_failure: continue}}]\n",
                "gates: []",
            ),
            (
                "phases:\n  build: {steps: [{id: a, rnu: x}]}\n",
                "error flow.yaml:2:27: phases.build.steps[0]: unknown key `rnu`\n  hint: did you mean `run`?",
            ),
            (
                "phases:\n  build: {step: []}\n",
                "error flow.yaml:2:11: phases.build: unknown key `step`\n  hint: did you mean `steps`?",
            ),
            ("phase: {}\n", "error flow.yaml:1:1: unknown key `phase`\n  hint: did you mean `phases`?"),
            (
                "phases:\n  build: {steps: [{id: a, run: x, timeout: soon}]}\n",
                "error flow.yaml:2:44: phases.build.steps[0].timeout: expected a length of time such as `90s`, `10m` or `1h 30m`, found text `soon`",
            ),
            ("phases: [build]\n", "error flow.yaml:1:9: phases: expected a map, found a list"),
            (
                "autonomy: {overrides: {biuld: {ask: always}}}\nphases: {build: {}}\n",
                "error flow.yaml:1:24: autonomy.overrides.biuld: there is no phase `biuld`\n  hint: did you mean `build`?",
            ),
            // an inherited phase is not in this file
            (
                "extends: base\nautonomy: {overrides: {build: {ask: always}}, require_approval_for: [release]}\n",
                "gates: [release]",
            ),
            (
                "autonomy: yolo\n",
                "error flow.yaml:1:1: autonomy.level: unknown workflow level `yolo`\n  hint: valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
            ),
            (
                "autonomy: {limits: {max_total_warnings: 0}}\n",
                "error flow.yaml:1:41: autonomy.limits.max_total_warnings: must be at least 1, found `0`",
            ),
        ],
    );
}

/// A gate points at whoever asked for it, and only that one can take it back.
#[test]
fn where_gates_come_from() {
    let text =
        "autonomy: {AUTONOMY}\nphases:\n  build: {}\n  release:\n    steps: []\n    require_approval: true\n";
    let gates = |autonomy: &str, start: &str| {
        let (workflow, _) = workflow("flow.yaml", &text.replace("{AUTONOMY}", autonomy)).unwrap();
        let start = env::layer(LayerRank::Start, "--autonomy", start).unwrap();
        let resolution = settings("", None, &[])
            .unwrap()
            .resolve(Scope::Workflow, Subject::Workflow(&[workflow]), &[start])
            .unwrap();
        let gate = |gate: &String| {
            let own = resolution.sources.get(&format!("require_approval_for.{gate}"));
            format!("{gate} <{}>", own.unwrap_or(&resolution.sources["require_approval_for"]))
        };
        resolution.policy.require_approval_for.iter().map(gate).collect::<Vec<_>>().join(", ")
    };
    for (autonomy, start, expected) in [
        ("null", "{}", "release <flow.yaml:6>"),
        ("{pause_before_release: true}", "{}", "release <flow.yaml:6>"),
        ("{pause_before_release: true}", r#"{"pause_before_release": false}"#, "release <flow.yaml:6>"),
        ("null", r#"{"pause_before_release": false}"#, "release <flow.yaml:6>"),
        ("null", r#"{"require_approval_for": ["build"]}"#, "build <--autonomy>"),
        ("null", r#"{"require_approval_for": null}"#, ""),
    ] {
        assert_eq!(gates(autonomy, start), expected, "{autonomy} {start}");
    }
}

/// The hints of unknown keys list all known ones, which no row here is about.
fn without_hints(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("  hint: ")).collect::<Vec<_>>().join("\n")
}

/// W21: files of an older system load as they are; our own do not forgive.
#[test]
fn unknown_keys_of_older_files_are_warnings() {
    check(
        |text| without_hints(&gates("flow.json", text)),
        &[
            (
                r#"{"id": "default", "version": 2, "extends": null, "skip_steps": [], "phases": {"build": {"enabled": true, "description": "d",
                "steps": [{"name": "implement", "prompt": "do it", "priority": 1, "arguments": {"work": "{work_id}"}, "config": {"deep": [1]}}],
                "validation": ["x"], "max_retries": 3, "require_approval": true}},
                "hooks": {"pre_build": [{"type": "script", "name": "lint", "path": "./lint.sh", "timeout": 300, "on_error": "fail", "color": "red"}]},
                "autonomy": {"level": "guarded", "description": "d", "pause_before_release": true, "require_approval_for": ["release"], "mood": "calm"}}"#,
                "gates: [release, build]\nwarning flow.json:1:19: unknown key `version`\nwarning flow.json:2:68: phases.build.steps[0]: unknown key `priority`\nwarning flow.json:4:133: hooks.pre_build[0]: unknown key `color`\nwarning flow.json:5:137: autonomy: unknown key `mood`\nwarning flow.json:5:125: autonomy.require_approval_for[0]: there is no phase `release`\nnotice flow.json:5:30: autonomy.level: Migrating legacy autonomy level 'guarded' to new model\nnotice flow.json:5:30: autonomy.level: autonomy level `guarded` is deprecated, its support ends after two major versions",
            ),
            // words of ours inside what a step carries do not make the file ours
            (
                r#"{"phases": {"build": {"steps": [{"id": "a", "prompt": "p", "config": {"run": 1}, "arguments": {"agent": "x"}, "mood": 1}]}}}"#,
                "gates: []\nwarning flow.json:1:111: phases.build.steps[0]: unknown key `mood`",
            ),
            (
                r#"{"phases": {"run": {"steps": [{"id": "a", "prompt": "p", "mood": 1}]}}}"#,
                "gates: []\nwarning flow.json:1:58: phases.run.steps[0]: unknown key `mood`",
            ),
            // but a step with `run` or `agent` is ours
            (
                r#"{"phases": {"build": {"steps": [{"id": "a", "run": "x", "mood": 1}]}}}"#,
                "error flow.json:1:57: phases.build.steps[0]: unknown key `mood`",
            ),
            (
                r#"{"phases": {"build": {"post_steps": [{"id": "a", "agent": "x", "mood": 1}]}}}"#,
                "error flow.json:1:64: phases.build.post_steps[0]: unknown key `mood`",
            ),
            (
                r#"{"phases": {}, "hooks": {"pre_build": [{"name": "a", "run": "x", "mood": 1}]}}"#,
                "error flow.json:1:66: hooks.pre_build[0]: unknown key `mood`",
            ),
            (
                r#"{"agent": "claude -p", "phases": {}, "mood": 1}"#,
                "error flow.json:1:38: unknown key `mood`",
            ),
            // wrong types are errors everywhere
            (
                r#"{"phases": {"build": {"steps": {"id": "a"}}}}"#,
                "error flow.json:1:32: phases.build.steps: expected a list, found a map",
            ),
            (
                r#"{"phases": {"build": {"steps": [{"name": "a"}, {"name": "a"}]}}}"#,
                "error flow.json:1:48: phases.build.steps[1]: step id `a` is used twice in phase `build`",
            ),
        ],
    );
    check(
        |text| without_hints(&gates("flow.yaml", text)),
        &[(
            "phases: {build: {steps: [{id: a, prompt: p, mood: 1}]}}\n",
            "error flow.yaml:1:45: phases.build.steps[0]: unknown key `mood`",
        )],
    );
}

#[test]
fn layers_of_a_run_in_order() {
    let settings = settings(
        "autonomy: {workflow: {timeout: 1s, budget: {tokens: 1}}}\n",
        None,
        &[(WORKFLOW_AUTONOMY, r#"{"timeout": "2s", "on_timeout": "reject"}"#)],
    )
    .unwrap();
    let (workflow, _) = workflow("flow.yaml", "autonomy: {timeout: 3s, error_tolerance: low}\n").unwrap();
    let start: Layer = env::layer(LayerRank::Start, "--autonomy", r#"{"timeout": "4s"}"#).unwrap();
    let resolution = settings.resolve(Scope::Workflow, Subject::Workflow(&[workflow]), &[start]).unwrap();
    let sources: Vec<String> = ["timeout", "error_tolerance", "on_timeout", "budget.tokens", "ask"]
        .iter()
        .map(|field| format!("{field} <{}>", resolution.sources[*field]))
        .collect();
    assert_eq!(
        sources,
        [
            "timeout <--autonomy>",
            "error_tolerance <flow.yaml:1>",
            "on_timeout <CHECKREIN_WORKFLOW_AUTONOMY>",
            "budget.tokens <checkrein.yaml:1>",
            "ask <default>",
        ]
    );
}
