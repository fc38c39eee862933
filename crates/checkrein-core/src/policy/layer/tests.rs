//! Each row: what the layers say, weakest first, and what comes of it in one line.

use std::sync::Arc;

use super::*;
use crate::document::{Document, Format, Gravity, decode};
use crate::policy::{Ask, Autonomy, OnLimit, OnTimeout, Said, Shown, Trigger, migrate};
use LayerRank::{Change, Definition, Environment, ProjectConfig, Start, UserConfig};
use Scope::{Job, Worker, Workflow};

type Written<'t> = (LayerRank, &'t str);

/// What a person would call the place such a layer is written in.
fn name(rank: LayerRank) -> &'static str {
    match rank {
        LayerRank::BuiltIn => "builtin",
        UserConfig => "user",
        ProjectConfig => "project",
        Environment => "env",
        Definition => "file",
        Start => "start",
        Change => "change",
    }
}

fn read(rank: LayerRank, text: &str) -> Result<Layer, Problems> {
    let document = Arc::new(Document::parse(name(rank), text, Format::Yaml)?);
    let (autonomy, _) = decode::<Autonomy>(&document, Gravity::Error)?;
    Ok(Layer { rank, origin: Origin::within(&document, &[]), block: Block::of(autonomy) })
}

fn resolve(scope: Scope, layers: &[Written<'_>]) -> Result<Resolution, Problems> {
    let layers: Vec<Layer> = layers.iter().map(|(rank, text)| read(*rank, text)).collect::<Result<_, _>>()?;
    Resolution::resolve(scope, &layers, Classifier::builtin(), Reading::Coercing)
}

/// One field as `policy explain` would show it.
fn value(policy: &Policy, field: &str) -> String {
    fn or_dash<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }
    let triggers = |triggers: &[Trigger]| {
        format!("[{}]", triggers.iter().map(Trigger::to_string).collect::<Vec<_>>().join(", "))
    };
    let seconds =
        |time: Option<std::time::Duration>| or_dash(time.map(|time| format!("{}s", time.as_secs())));
    let list = |words: &[String]| format!("[{}]", words.join(", "));
    if let Some((phase, field)) = field.strip_prefix("overrides.").and_then(|rest| rest.rsplit_once('.')) {
        let own = policy.overrides.get(phase).cloned().unwrap_or_default();
        return match field {
            "hold_at" => or_dash(own.hold_at.as_deref().map(triggers)),
            "check_in_frequency" => or_dash(own.check_in_frequency.as_ref().map(Said::word)),
            "warning_tolerance" => or_dash(own.warning_tolerance.as_ref().map(Said::word)),
            "error_tolerance" => or_dash(own.error_tolerance.as_ref().map(Said::word)),
            "ask" => or_dash(own.ask.map(Ask::name)),
            other => panic!("no such field: {other}"),
        };
    }
    match field {
        "level" => or_dash(policy.level.as_deref()),
        "hold_at" => triggers(&policy.hold_at),
        "check_in_frequency" => or_dash(policy.check_in_frequency.as_ref().map(Said::word)),
        "checkpoint_types" => list(&policy.checkpoint_types),
        "warning_tolerance" => policy.tolerance.warning.word().to_owned(),
        "error_tolerance" => policy.tolerance.error.word().to_owned(),
        "limits.max_total_warnings" => or_dash(policy.limits.max_total_warnings),
        "limits.max_total_errors" => or_dash(policy.limits.max_total_errors),
        "limits.on_limit_reached" => match policy.limits.on_limit_reached {
            OnLimit::Stop => "stop".to_owned(),
            OnLimit::Truncate => "truncate".to_owned(),
        },
        "require_approval_for" => list(&policy.require_approval_for),
        "ask" => policy.ask.name().to_owned(),
        "timeout" => seconds(policy.timeout),
        "on_timeout" => match policy.on_timeout {
            OnTimeout::Hold => "hold".to_owned(),
            OnTimeout::Reject => "reject".to_owned(),
        },
        "protected_paths" => list(&policy.protected_paths),
        "budget.tokens" => or_dash(policy.budget.tokens),
        "budget.cost" => or_dash(policy.budget.cost),
        "budget.time" => seconds(policy.budget.time),
        "max_phases" => policy.max_phases.to_string(),
        other => panic!("no such field: {other}"),
    }
}

/// Everything that is not a built-in default, by source.
fn line(resolution: &Resolution) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let overrides = resolution.sources.keys().map(String::as_str).filter(|f| f.starts_with("overrides."));
    for field in ALL_FIELDS.iter().copied().chain(overrides) {
        let source = &resolution.sources[field];
        if source.rank == LayerRank::BuiltIn {
            continue;
        }
        let value = value(&resolution.policy, field);
        // Without a frequency `hold_at` says it all.
        if field.ends_with("check_in_frequency") && value == "-" {
            continue;
        }
        let short = field.replace("check_in_frequency", "frequency").replace("_tolerance", "");
        let (source, shown) = (source.to_string(), format!("{short}={value}"));
        match groups.iter_mut().find(|(own, _)| *own == source) {
            Some((_, fields)) => fields.push(shown),
            None => groups.push((source, vec![shown])),
        }
    }
    let groups: Vec<String> =
        groups.into_iter().map(|(source, fields)| format!("{source} {}", fields.join(" "))).collect();
    groups.join("; ")
}

fn outcome(scope: Scope, layers: &[Written<'_>]) -> String {
    match resolve(scope, layers) {
        Ok(resolution) => line(&resolution),
        Err(problems) => format!("refused: {problems}"),
    }
}

#[track_caller]
fn check(scope: Scope, rows: &[(&[Written<'_>], &str)]) {
    for (layers, expected) in rows {
        assert_eq!(outcome(scope, layers), *expected, "{scope}: {layers:?}");
    }
}

/// What is said about the layers: gravity, place, path, words and hint.
fn said(scope: Scope, layers: &[Written<'_>]) -> Vec<String> {
    let problems = match resolve(scope, layers) {
        Ok(resolution) => resolution.problems,
        Err(problems) => problems,
    };
    let gravity = |problem: &Problem| match problem.gravity {
        Gravity::Notice => "notice",
        Gravity::Warning => "warning",
        Gravity::Error => "error",
    };
    problems.iter().map(|problem| format!("{} {problem}", gravity(problem))).collect()
}

#[track_caller]
fn check_said(scope: Scope, rows: &[(&[Written<'_>], &[&str])]) {
    for (layers, expected) in rows {
        assert_eq!(said(scope, layers), *expected, "{scope}: {layers:?}");
    }
}

fn shown(scope: Scope, layers: &[Written<'_>]) -> serde_json::Value {
    serde_json::to_value(Shown::of(&resolve(scope, layers).unwrap())).unwrap()
}

#[test]
fn built_in_defaults_as_policy_show_prints_them() {
    insta::assert_snapshot!(shown(Workflow, &[]), @r#"{"level":null,"check_in_frequency":"per-phase","warning_tolerance":"low","error_tolerance":"none","limits":{"max_total_warnings":50,"max_total_errors":20,"on_limit_reached":"stop"},"checkpoint_types":[],"hold_at":[{"on":"phase"}],"overrides":{},"ask":"when_findings","warnings":[]}"#);
    insta::assert_snapshot!(shown(Worker, &[]), @r#"{"level":"semi_supervised","check_in_frequency":null,"warning_tolerance":"high","error_tolerance":"high","limits":{"max_total_warnings":null,"max_total_errors":null,"on_limit_reached":"stop"},"checkpoint_types":["phase_transition","deliverable","final_output"],"hold_at":[{"on":"phase_transition"},{"on":"deliverable"},{"on":"final_output"}],"overrides":{},"ask":"always","warnings":[]}"#);
    insta::assert_snapshot!(shown(Job, &[]), @r#"{"level":"partial","check_in_frequency":null,"warning_tolerance":"high","error_tolerance":"high","limits":{"max_total_warnings":null,"max_total_errors":null,"on_limit_reached":"stop"},"checkpoint_types":[],"hold_at":[{"on":"phase","phase_kind":"strategic","first":true},{"on":"complete"}],"overrides":{},"ask":"always","warnings":[]}"#);
}

#[test]
fn built_in_defaults_name_their_source() {
    for scope in Scope::ALL {
        let resolution = Resolution::builtin(scope);
        assert_eq!(line(&resolution), "", "{scope}");
        let level = resolution.policy.level.clone();
        for field in ALL_FIELDS {
            let source = &resolution.sources[*field];
            let governed = Field::ALL.iter().any(|own| own.name() == *field);
            let expected = if governed { level.clone() } else { None };
            assert_eq!((source.rank, &source.level), (LayerRank::BuiltIn, &expected), "{scope} {field}");
        }
    }
}

/// `null` everywhere and an empty block say nothing that changes a default.
#[test]
fn nothing_said_is_nothing_changed() {
    let all_null = "{level: null, check_in_frequency: null, checkpoint_types: null, hold_at: null, \
        warning_tolerance: null, error_tolerance: null, limits: null, overrides: null, \
        require_approval_for: null, pause_before_release: null, ask: null, timeout: null, \
        on_timeout: null, protected_paths: null, budget: null, max_phases: null, description: null, examples: []}";
    for scope in Scope::ALL {
        for text in ["{}", "{limits: {}, overrides: {}, budget: {}}", all_null] {
            let resolution = resolve(scope, &[(Start, text)]).unwrap();
            assert_eq!(resolution.policy, Policy::builtin(scope), "{scope} {text}");
            assert_eq!(resolution.problems, Problems::default(), "{scope} {text}");
        }
    }
}

#[test]
fn legacy_levels_stand_for_two_dimensions() {
    check(
        Workflow,
        &[
            (
                &[(Start, "dry-run")],
                "start:1 level=dry-run; level `dry-run` (start:1) hold_at=[every step] frequency=per-step warning=none error=none ask=when_findings",
            ),
            (
                &[(Start, "assist")],
                "start:1 level=assist; level `assist` (start:1) hold_at=[every phase] frequency=per-phase warning=none error=none ask=when_findings",
            ),
            (
                &[(Start, "guarded")],
                "start:1 level=guarded; level `guarded` (start:1) hold_at=[every phase] frequency=per-phase warning=low error=none ask=when_findings",
            ),
            (
                &[(Start, "autonomous")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
            (
                &[(Start, "{level: autonomous}")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
            // unknown: guarded's values
            (
                &[(Start, "yolo")],
                "start:1 level=guarded; level `guarded` (start:1) hold_at=[every phase] frequency=per-phase warning=low error=none ask=when_findings",
            ),
            // names of other scopes are unknown here
            (
                &[(Start, "partial")],
                "start:1 level=guarded; level `guarded` (start:1) hold_at=[every phase] frequency=per-phase warning=low error=none ask=when_findings",
            ),
            (
                &[(Start, "Guarded")],
                "start:1 level=guarded; level `guarded` (start:1) hold_at=[every phase] frequency=per-phase warning=low error=none ask=when_findings",
            ),
        ],
    );
}

#[test]
fn a_legacy_level_beside_a_frequency_is_ignored() {
    check(
        Workflow,
        &[
            // W8: plain defaults, not the level's tolerances
            (
                &[(Start, "{level: autonomous, check_in_frequency: per-step}")],
                "start:1 hold_at=[every step] frequency=per-step; default, cleared by start:1 warning=low error=none",
            ),
            (
                &[(Start, "{level: dry-run, check_in_frequency: end-only, warning_tolerance: high}")],
                "start:1 hold_at=[completion] frequency=end-only warning=high; default, cleared by start:1 error=none",
            ),
            (
                &[(Start, "{level: yolo, check_in_frequency: per-step}")],
                "start:1 hold_at=[every step] frequency=per-step; default, cleared by start:1 warning=low error=none",
            ),
            (
                &[(Start, "{level: guarded, check_in_frequency: weekly}")],
                "start:1 hold_at=[] frequency=weekly; default, cleared by start:1 warning=low error=none",
            ),
            // also over a level and over what is written out in a weaker layer
            (
                &[(Definition, "autonomous"), (Start, "{level: dry-run, check_in_frequency: per-step}")],
                "file:1 level=autonomous; start:1 hold_at=[every step] frequency=per-step; default, cleared by start:1 warning=low error=none; level `autonomous` (file:1) ask=when_findings",
            ),
            (
                &[
                    (Definition, "{warning_tolerance: high, ask: always}"),
                    (Start, "{level: dry-run, check_in_frequency: per-step}"),
                ],
                "start:1 hold_at=[every step] frequency=per-step; default, cleared by start:1 warning=low error=none; file:1 ask=always",
            ),
            // in a phase it is simply not there: what weaker layers and the whole say stays
            (
                &[(Start, "{overrides: {build: {level: dry-run, check_in_frequency: per-step}}}")],
                "start:1 overrides.build.frequency=per-step overrides.build.hold_at=[every step]",
            ),
            (
                &[
                    (Definition, "{overrides: {build: autonomous}}"),
                    (Start, "{overrides: {build: {level: dry-run, check_in_frequency: per-step}}}"),
                ],
                "level `autonomous` (file:1) overrides.build.ask=when_findings overrides.build.error=low overrides.build.warning=medium; start:1 overrides.build.frequency=per-step overrides.build.hold_at=[every step]",
            ),
            // only tolerances: the explicit ones win over the migrated
            (
                &[(Start, "{level: autonomous, warning_tolerance: none}")],
                "start:1 level=autonomous warning=none; level `autonomous` (start:1) hold_at=[completion] frequency=end-only error=low ask=when_findings",
            ),
            (
                &[(Start, "{level: dry-run, warning_tolerance: high, error_tolerance: medium}")],
                "start:1 level=dry-run warning=high error=medium; level `dry-run` (start:1) hold_at=[every step] frequency=per-step ask=when_findings",
            ),
            // `custom` is no legacy level
            (
                &[(Start, "{level: custom, check_in_frequency: per-step}")],
                "start:1 level=custom hold_at=[every step] frequency=per-step; level `custom` (start:1) ask=always",
            ),
            // no level at all
            (&[(Start, "{level: null}")], "default, cleared by start:1 level=-"),
            (
                &[(Start, "{level: null, check_in_frequency: per-step}")],
                "default, cleared by start:1 level=-; start:1 hold_at=[every step] frequency=per-step",
            ),
            (
                &[(Start, "{level: null, warning_tolerance: high}")],
                "default, cleared by start:1 level=-; start:1 warning=high",
            ),
            // a null beside a level is not written, so the level speaks
            (
                &[(Start, "{level: autonomous, check_in_frequency: null}")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
            (
                &[(Start, "{level: autonomous, warning_tolerance: null, error_tolerance: null}")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
            (
                &[(Start, "{level: autonomous, hold_at: null, ask: null}")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
        ],
    );
    check(
        Worker,
        &[
            (
                &[(Start, "{level: manual, hold_at: null}")],
                "start:1 level=manual; level `manual` (start:1) hold_at=[every boundary] warning=high error=high ask=always",
            ),
            (
                &[(Start, "{level: manual, checkpoint_types: null}")],
                "start:1 level=manual; level `manual` (start:1) hold_at=[every boundary] warning=high error=high ask=always; default, cleared by start:1 checkpoint_types=[phase_transition, deliverable, final_output]",
            ),
        ],
    );
    // a frequency beside a level of the other scopes is simply stronger
    check(
        Job,
        &[
            (
                &[(Start, "{level: guided, check_in_frequency: per-phase}")],
                "start:1 level=guided hold_at=[every phase] frequency=per-phase; level `guided` (start:1) warning=high error=high ask=always",
            ),
            (
                &[(Start, "{level: guided, error_tolerance: low}")],
                "start:1 level=guided error=low; level `guided` (start:1) hold_at=[every strategic phase, completion] warning=high ask=always",
            ),
        ],
    );
}

#[test]
fn what_is_said_about_levels() {
    check_said(
        Workflow,
        &[
            (
                &[(Start, "{level: guarded}")],
                &[
                    "notice start:1:2: level: Migrating legacy autonomy level 'guarded' to new model",
                    "notice start:1:2: level: autonomy level `guarded` is deprecated, its support ends after two major versions\n  hint: write `check_in_frequency: per-phase, warning_tolerance: low, error_tolerance: none` instead, in a file by `checkrein policy migrate FILE`",
                ],
            ),
            (
                &[(Start, "{level: assist}")],
                &[
                    "notice start:1:2: level: Migrating legacy autonomy level 'assist' to new model",
                    "notice start:1:2: level: autonomy level `assist` is deprecated, its support ends after two major versions\n  hint: write `check_in_frequency: per-phase, warning_tolerance: none, error_tolerance: none` instead, in a file by `checkrein policy migrate FILE`",
                ],
            ),
            (
                &[(Start, "{level: autonomous}")],
                &[
                    "notice start:1:2: level: Migrating legacy autonomy level 'autonomous' to new model",
                    "notice start:1:2: level: autonomy level `autonomous` is deprecated, its support ends after two major versions\n  hint: write `check_in_frequency: end-only, warning_tolerance: medium, error_tolerance: low` instead, in a file by `checkrein policy migrate FILE`",
                ],
            ),
            // W20: what is lost is said
            (
                &[(Start, "{level: dry-run}")],
                &[
                    "notice start:1:2: level: Migrating legacy autonomy level 'dry-run' to new model",
                    "notice start:1:2: level: autonomy level `dry-run` is deprecated, its support ends after two major versions; it does not prevent writes, steps run for real\n  hint: write `check_in_frequency: per-step, warning_tolerance: none, error_tolerance: none` instead, in a file by `checkrein policy migrate FILE`",
                ],
            ),
            (
                &[(Start, "{level: dry-run, check_in_frequency: per-step}")],
                &[
                    "notice start:1:2: level: level `dry-run` is ignored because `check_in_frequency` is set",
                    "notice start:1:2: level: autonomy level `dry-run` is deprecated, its support ends after two major versions; it does not prevent writes, steps run for real\n  hint: remove `level`",
                ],
            ),
            (
                &[(Start, "{level: yolo}")],
                &[
                    "warning start:1:2: level: unknown workflow level `yolo`, using `guarded`\n  hint: valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: gaurded}")],
                &[
                    "warning start:1:2: level: unknown workflow level `gaurded`, using `guarded`\n  hint: did you mean `guarded`? valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: guided}")],
                &[
                    "warning start:1:2: level: unknown workflow level `guided`, using `guarded`\n  hint: did you mean `guarded`? valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: yolo, check_in_frequency: per-step}")],
                &[
                    "warning start:1:2: level: unknown workflow level `yolo`, ignored\n  hint: valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
                ],
            ),
            (&[(Start, "{level: null}")], &[]),
            (&[(Start, "{level: custom, hold_at: []}")], &[]),
            (
                &[(Definition, "overrides:\n  build: assist\n  release: {level: yolo}")],
                &[
                    "notice file:2:3: overrides.build.level: Migrating legacy autonomy level 'assist' to new model",
                    "notice file:2:3: overrides.build.level: autonomy level `assist` is deprecated, its support ends after two major versions\n  hint: write `check_in_frequency: per-phase, warning_tolerance: none, error_tolerance: none` instead, in a file by `checkrein policy migrate FILE`",
                    "warning file:3:13: overrides.release.level: unknown workflow level `yolo`, using `guarded`\n  hint: valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
                ],
            ),
        ],
    );
    check_said(
        Worker,
        &[
            (&[(Start, "{level: semi_supervised}")], &[]),
            (
                &[(Start, "{level: semi-supervised}")],
                &[
                    "error start:1:2: level: unknown worker level `semi-supervised`\n  hint: did you mean `semi_supervised`? valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: guided}")],
                &[
                    "error start:1:2: level: unknown worker level `guided`\n  hint: `guided` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: ''}")],
                &[
                    "error start:1:2: level: unknown worker level ``\n  hint: valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
                ],
            ),
        ],
    );
    check_said(
        Job,
        &[
            (
                &[(Start, "{level: complete}")],
                &[
                    "error start:1:2: level: unknown job level `complete`\n  hint: valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
                ],
            ),
            (
                &[(Start, "{level: manual}")],
                &[
                    "error start:1:2: level: unknown job level `manual`\n  hint: `manual` is a worker level; valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
                ],
            ),
        ],
    );
}

#[test]
fn unknown_words_run_as_ruled_with_a_warning() {
    check(
        Workflow,
        &[
            (&[(Start, "{warning_tolerance: huge, error_tolerance: LOW}")], "start:1 warning=huge error=LOW"),
            (&[(Start, "{check_in_frequency: weekly}")], "start:1 hold_at=[] frequency=weekly"),
            (
                &[(Start, "{overrides: {build: {check_in_frequency: weekly, error_tolerance: some}}}")],
                "start:1 overrides.build.frequency=weekly overrides.build.error=some overrides.build.hold_at=[]",
            ),
        ],
    );
    check_said(
        Workflow,
        &[
            (
                &[(Start, "warning_tolerance: huge\nerror_tolerance: LOW")],
                &[
                    "warning start:1:1: warning_tolerance: unknown warning_tolerance `huge`, it ranks as `low`\n  hint: valid values: `none`, `low`, `medium`, `high`",
                    "warning start:2:1: error_tolerance: unknown error_tolerance `LOW`, it ranks as `low`\n  hint: did you mean `low`? valid values: `none`, `low`, `medium`, `high`",
                ],
            ),
            (
                &[(Start, "{check_in_frequency: per_phase}")],
                &[
                    "warning start:1:2: check_in_frequency: unknown check_in_frequency `per_phase`, no check-in happens\n  hint: did you mean `per-phase`? valid values: `per-step`, `per-phase`, `end-only`",
                ],
            ),
            (
                &[(Start, "{check_in_frequency: never}")],
                &[
                    "warning start:1:2: check_in_frequency: unknown check_in_frequency `never`, no check-in happens\n  hint: valid values: `per-step`, `per-phase`, `end-only`",
                ],
            ),
            (
                &[(Start, "{overrides: {build: {check_in_frequency: weekly, error_tolerance: some}}}")],
                &[
                    "warning start:1:22: overrides.build.check_in_frequency: unknown check_in_frequency `weekly`, no check-in happens\n  hint: valid values: `per-step`, `per-phase`, `end-only`",
                    "warning start:1:50: overrides.build.error_tolerance: unknown error_tolerance `some`, it ranks as `low`\n  hint: valid values: `none`, `low`, `medium`, `high`",
                ],
            ),
        ],
    );
    let resolution =
        resolve(Workflow, &[(Start, "{warning_tolerance: huge, check_in_frequency: weekly}")]).unwrap();
    assert_eq!(resolution.policy.tolerance.warning.meaning, crate::policy::Tolerance::Low);
    assert_eq!(resolution.policy.hold_at, []);
}

#[test]
fn limits_fill_field_by_field() {
    check(
        Workflow,
        &[
            (&[(Start, "{limits: {max_total_warnings: 5}}")], "start:1 limits.max_total_warnings=5"),
            (
                &[(Start, "{limits: {max_total_errors: 1, on_limit_reached: truncate}}")],
                "start:1 limits.max_total_errors=1 limits.on_limit_reached=truncate",
            ),
            (
                &[
                    (Definition, "{limits: {max_total_warnings: 5}}"),
                    (Start, "{limits: {max_total_errors: 7}}"),
                ],
                "file:1 limits.max_total_warnings=5; start:1 limits.max_total_errors=7",
            ),
            (
                &[
                    (Definition, "{limits: {max_total_warnings: 5}}"),
                    (Start, "{limits: {max_total_warnings: null}}"),
                ],
                "default, cleared by start:1 limits.max_total_warnings=50",
            ),
            (
                &[
                    (Definition, "{limits: {max_total_warnings: 5, on_limit_reached: truncate}}"),
                    (Start, "{limits: null}"),
                ],
                "default, cleared by start:1 limits.max_total_warnings=50 limits.max_total_errors=20 limits.on_limit_reached=stop",
            ),
            (
                &[(Start, "{limits: {max_total_warnings: 0}}")],
                "refused: start:1:31: limits.max_total_warnings: must be at least 1, found `0`",
            ),
            (
                &[(Start, "{limits: {max_total_errors: -3}}")],
                "refused: start:1:29: limits.max_total_errors: must be at least 1, found `-3`",
            ),
            (
                &[(Start, "{limits: {max_total_errors: many}}")],
                "refused: start:1:29: limits.max_total_errors: expected a whole number, found text `many`",
            ),
            (
                &[(Start, "{limits: {max_total_errors: 1.5}}")],
                "refused: start:1:29: limits.max_total_errors: expected a whole number, found a number `1.5`",
            ),
            (
                &[(Start, "{limits: {on_limit_reached: ignore}}")],
                "refused: start:1:29: limits.on_limit_reached: unknown value `ignore`, expected one of `stop`, `truncate`",
            ),
            (
                &[(Start, "{limits: {max_warnings: 3}}")],
                "refused: start:1:11: limits: unknown key `max_warnings`\n  hint: did you mean `max_total_warnings`?",
            ),
            (&[(Start, "{limits: 3}")], "refused: start:1:10: limits: expected a map, found a number `3`"),
            // W7: never per phase
            (&[(Start, "{overrides: {build: {limits: {max_total_errors: 1}}}}")], ""),
        ],
    );
    // the other scopes have none unless set
    check(
        Job,
        &[
            (&[(Start, "{limits: {max_total_warnings: 5}}")], "start:1 limits.max_total_warnings=5"),
            (
                &[(Definition, "{limits: {max_total_warnings: 5}}"), (Start, "{limits: null}")],
                "default, cleared by start:1 limits.max_total_warnings=- limits.max_total_errors=- limits.on_limit_reached=stop",
            ),
        ],
    );
    check_said(
        Workflow,
        &[
            (
                &[(Start, "overrides:\n  build:\n    limits: {max_total_errors: 1}")],
                &[
                    "warning start:3:5: overrides.build.limits: limits are global and ignored in a phase override\n  hint: move `limits` up to the autonomy block",
                ],
            ),
            (
                &[(Start, "overrides:\n  build:\n    limits: null")],
                &[
                    "warning start:3:5: overrides.build.limits: limits are global and ignored in a phase override\n  hint: move `limits` up to the autonomy block",
                ],
            ),
        ],
    );
}

#[test]
fn null_forgets_weaker_layers() {
    check(
        Workflow,
        &[
            (
                &[(Definition, "{warning_tolerance: high}"), (Start, "{warning_tolerance: null}")],
                "default, cleared by start:1 warning=low",
            ),
            (
                &[(Definition, "{check_in_frequency: per-step}"), (Start, "{check_in_frequency: null}")],
                "default, cleared by start:1 hold_at=[every phase] frequency=per-phase",
            ),
            (
                &[(Definition, "{check_in_frequency: per-step}"), (Start, "{hold_at: null}")],
                "default, cleared by start:1 hold_at=[every phase] frequency=per-phase",
            ),
            (
                &[(Definition, "{hold_at: [{on: step}]}"), (Start, "{hold_at: null}")],
                "default, cleared by start:1 hold_at=[every phase] frequency=per-phase",
            ),
            (
                &[(Definition, "{require_approval_for: [build]}"), (Start, "{require_approval_for: null}")],
                "default, cleared by start:1 require_approval_for=[]",
            ),
            (
                &[(Definition, "{ask: always}"), (Start, "{ask: null}")],
                "default, cleared by start:1 ask=when_findings",
            ),
            (
                &[
                    (Definition, "{timeout: 2h, on_timeout: reject}"),
                    (Start, "{timeout: null, on_timeout: null}"),
                ],
                "default, cleared by start:1 timeout=- on_timeout=hold",
            ),
            (
                &[
                    (Definition, "{budget: {tokens: 5, cost: 1.5, time: 10m}}"),
                    (Start, "{budget: {cost: null}}"),
                ],
                "file:1 budget.tokens=5 budget.time=600s; default, cleared by start:1 budget.cost=-",
            ),
            (
                &[(Definition, "{budget: {tokens: 5, cost: 1.5, time: 10m}}"), (Start, "{budget: null}")],
                "default, cleared by start:1 budget.tokens=- budget.cost=- budget.time=-",
            ),
            (
                &[(Start, "{budget: {cost: .nan}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `NaN`",
            ),
            (
                &[(Start, "{budget: {cost: .inf}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `inf`",
            ),
            (
                &[(Start, "{budget: {cost: -0.5}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `-0.5`",
            ),
            (&[(Start, "{budget: {cost: 3}}")], "start:1 budget.cost=3"),
            // a level goes with everything it brought, and with nothing else
            (
                &[(Definition, "autonomous"), (Start, "{level: null}")],
                "default, cleared by start:1 level=- hold_at=[every phase] frequency=per-phase warning=low error=none ask=when_findings",
            ),
            (
                &[(Definition, "{level: autonomous, error_tolerance: high}"), (Start, "{level: null}")],
                "default, cleared by start:1 level=- hold_at=[every phase] frequency=per-phase warning=low ask=when_findings; file:1 error=high",
            ),
            (
                &[(Definition, "autonomous"), (Start, "{level: null, warning_tolerance: high}")],
                "default, cleared by start:1 level=- hold_at=[every phase] frequency=per-phase error=none ask=when_findings; start:1 warning=high",
            ),
            // one phase, all phases, one field of one phase, the level of one phase
            (
                &[
                    (
                        Definition,
                        "{overrides: {build: {error_tolerance: low}, test: {error_tolerance: high}}}",
                    ),
                    (Start, "{overrides: {build: null}}"),
                ],
                "file:1 overrides.test.error=high",
            ),
            (
                &[
                    (
                        Definition,
                        "{overrides: {build: {error_tolerance: low}, test: {error_tolerance: high}}}",
                    ),
                    (Start, "{overrides: null}"),
                ],
                "",
            ),
            (
                &[
                    (Definition, "{overrides: {build: {error_tolerance: low, ask: always}}}"),
                    (Start, "{overrides: {build: {error_tolerance: null}}}"),
                ],
                "file:1 overrides.build.ask=always; start:1 overrides.build.error=-",
            ),
            (
                &[
                    (Definition, "{overrides: {build: {level: autonomous, ask: always}}}"),
                    (Start, "{overrides: {build: {level: null}}}"),
                ],
                "file:1 overrides.build.ask=always",
            ),
        ],
    );
    check(
        Worker,
        &[
            (
                &[(Definition, "{checkpoint_types: [draft]}"), (Start, "{checkpoint_types: null}")],
                "start:1 hold_at=[every phase_transition, every deliverable, every final_output]; default, cleared by start:1 checkpoint_types=[phase_transition, deliverable, final_output]",
            ),
            (
                &[(Definition, "manual"), (Start, "{level: null}")],
                "default, cleared by start:1 level=semi_supervised hold_at=[every phase_transition, every deliverable, every final_output] warning=high error=high ask=always",
            ),
            // the types of a weaker layer are held at again once the level is gone
            (
                &[(Definition, "{checkpoint_types: [draft]}"), (Start, "manual"), (Change, "{level: null}")],
                "default, cleared by change:1 level=semi_supervised hold_at=[every draft] warning=high error=high ask=always; file:1 checkpoint_types=[draft]",
            ),
        ],
    );
    check(
        Job,
        &[(
            &[(Definition, "full"), (Start, "{level: null}")],
            "default, cleared by start:1 level=partial hold_at=[first strategic phase, completion] warning=high error=high ask=always",
        )],
    );
}

#[test]
fn maps_merge_lists_and_scalars_replace() {
    check(
        Workflow,
        &[
            (
                &[(UserConfig, "{warning_tolerance: high}"), (ProjectConfig, "{warning_tolerance: none}")],
                "project:1 warning=none",
            ),
            (
                &[(UserConfig, "{warning_tolerance: high}"), (ProjectConfig, "{error_tolerance: low}")],
                "user:1 warning=high; project:1 error=low",
            ),
            (
                &[
                    (Definition, "{require_approval_for: [build, test]}"),
                    (Start, "{require_approval_for: [release]}"),
                ],
                "start:1 require_approval_for=[release]",
            ),
            (
                &[(Definition, "{require_approval_for: [build]}"), (Start, "{require_approval_for: []}")],
                "start:1 require_approval_for=[]",
            ),
            (
                &[
                    (Definition, "{hold_at: [{on: step}, {on: complete}]}"),
                    (Start, "{hold_at: [{on: phase, every: 2}]}"),
                ],
                "start:1 hold_at=[every 2nd phase]",
            ),
            (
                &[(Definition, "{hold_at: [{on: step}]}"), (Start, "{check_in_frequency: end-only}")],
                "start:1 hold_at=[completion] frequency=end-only",
            ),
            (
                &[(Definition, "{check_in_frequency: end-only}"), (Start, "{hold_at: [{on: step}]}")],
                "start:1 hold_at=[every step]",
            ),
            // both in one block add up
            (
                &[(Start, "{check_in_frequency: end-only, hold_at: [{on: step}]}")],
                "start:1 hold_at=[every step, completion] frequency=end-only",
            ),
            (
                &[(Definition, "{budget: {tokens: 5}}"), (Start, "{budget: {time: 90s}}")],
                "file:1 budget.tokens=5; start:1 budget.time=90s",
            ),
            (
                &[
                    (Definition, "{overrides: {build: {error_tolerance: low}}}"),
                    (Start, "{overrides: {build: {warning_tolerance: high}, test: {ask: always}}}"),
                ],
                "file:1 overrides.build.error=low; start:1 overrides.build.warning=high overrides.test.ask=always",
            ),
            (
                &[
                    (Definition, "{overrides: {build: {check_in_frequency: per-step}}}"),
                    (Start, "{overrides: {build: {hold_at: [{on: phase}]}}}"),
                ],
                "start:1 overrides.build.hold_at=[every phase]",
            ),
            // sugar for one gate
            (&[(Start, "{pause_before_release: true}")], "start:1 require_approval_for=[release]"),
            (
                &[(Start, "{pause_before_release: true, require_approval_for: [build, release]}")],
                "start:1 require_approval_for=[build, release]",
            ),
            (
                &[(Definition, "{require_approval_for: [build]}"), (Start, "{pause_before_release: true}")],
                "start:1 require_approval_for=[build, release]",
            ),
            (&[(Start, "{pause_before_release: false}")], ""),
            // undone by a stronger layer, with nothing else
            (
                &[(Definition, "{pause_before_release: true}"), (Start, "{pause_before_release: false}")],
                "start:1 require_approval_for=[]",
            ),
            (
                &[(Definition, "{pause_before_release: true}"), (Start, "{pause_before_release: null}")],
                "start:1 require_approval_for=[]",
            ),
            (
                &[
                    (Definition, "{pause_before_release: true, require_approval_for: [build]}"),
                    (Start, "{pause_before_release: false}"),
                ],
                "start:1 require_approval_for=[build]",
            ),
            (
                &[
                    (ProjectConfig, "{require_approval_for: [build, release]}"),
                    (Definition, "{pause_before_release: true}"),
                    (Start, "{pause_before_release: false}"),
                ],
                "project:1 require_approval_for=[build, release]",
            ),
            (
                &[
                    (Definition, "{pause_before_release: true}"),
                    (Start, "{require_approval_for: [release]}"),
                    (Change, "{pause_before_release: false}"),
                ],
                "start:1 require_approval_for=[release]",
            ),
            (
                &[
                    (Definition, "{pause_before_release: true}"),
                    (Start, "{pause_before_release: true}"),
                    (Change, "{timeout: 1s}"),
                ],
                "start:1 require_approval_for=[release]; change:1 timeout=1s",
            ),
            // every rank is stronger than the one before it
            (
                &[
                    (UserConfig, "{timeout: 1s}"),
                    (ProjectConfig, "{timeout: 2s}"),
                    (Environment, "{timeout: 3s}"),
                    (Definition, "{timeout: 4s}"),
                    (Start, "{timeout: 5s}"),
                    (Change, "{timeout: 6s}"),
                ],
                "change:1 timeout=6s",
            ),
        ],
    );
}

#[test]
fn a_level_replaces_what_weaker_layers_say_and_loses_to_what_is_beside_or_above_it() {
    check(
        Job,
        &[
            // weaker fields are replaced: hold_at, frequency, tolerance, ask
            (
                &[
                    (Definition, "{hold_at: [{on: phase}], error_tolerance: none, ask: when_findings}"),
                    (Start, "full"),
                ],
                "start:1 level=full; level `full` (start:1) hold_at=[] warning=high error=high ask=always",
            ),
            (
                &[(Definition, "{check_in_frequency: per-phase, warning_tolerance: low}"), (Start, "guided")],
                "start:1 level=guided; level `guided` (start:1) hold_at=[every strategic phase, completion] warning=high error=high ask=always",
            ),
            // but not what a level does not speak about
            (
                &[(Definition, "{limits: {max_total_errors: 3}, timeout: 1h}"), (Start, "full")],
                "start:1 level=full; level `full` (start:1) hold_at=[] warning=high error=high ask=always; file:1 limits.max_total_errors=3 timeout=3600s",
            ),
            (
                &[(Definition, "{overrides: {phase-1-strategic: {error_tolerance: low}}}"), (Start, "full")],
                "start:1 level=full; level `full` (start:1) hold_at=[] warning=high error=high ask=always; file:1 overrides.phase-1-strategic.error=low",
            ),
            // fields beside a level
            (
                &[(Start, "{level: guided, hold_at: [{on: complete}], ask: when_findings}")],
                "start:1 level=guided hold_at=[completion] ask=when_findings; level `guided` (start:1) warning=high error=high",
            ),
            (
                &[(Start, "{level: full, warning_tolerance: low}")],
                "start:1 level=full warning=low; level `full` (start:1) hold_at=[] error=high ask=always",
            ),
            // fields above a level
            (
                &[(Definition, "dependent"), (Start, "{error_tolerance: none}")],
                "file:1 level=dependent; level `dependent` (file:1) hold_at=[every phase, completion] warning=high ask=always; start:1 error=none",
            ),
            (
                &[(Definition, "dependent"), (Start, "{hold_at: []}")],
                "file:1 level=dependent; start:1 hold_at=[]; level `dependent` (file:1) warning=high error=high ask=always",
            ),
            (
                &[(Definition, "dependent"), (Start, "{check_in_frequency: per-phase}")],
                "file:1 level=dependent; start:1 hold_at=[every phase] frequency=per-phase; level `dependent` (file:1) warning=high error=high ask=always",
            ),
            (
                &[(Definition, "dependent"), (Start, "{ask: when_findings}")],
                "file:1 level=dependent; level `dependent` (file:1) hold_at=[every phase, completion] warning=high error=high; start:1 ask=when_findings",
            ),
            // a level above a level
            (
                &[(ProjectConfig, "dependent"), (Definition, "review")],
                "file:1 level=review; level `review` (file:1) hold_at=[completion] warning=high error=high ask=always",
            ),
            (
                &[(ProjectConfig, "{level: dependent, error_tolerance: low}"), (Definition, "review")],
                "file:1 level=review; level `review` (file:1) hold_at=[completion] warning=high error=high ask=always",
            ),
        ],
    );
    check(
        Workflow,
        &[
            // a level below a frequency above: W8 is about one block
            (
                &[(Definition, "autonomous"), (Start, "{check_in_frequency: per-step}")],
                "file:1 level=autonomous; start:1 hold_at=[every step] frequency=per-step; level `autonomous` (file:1) warning=medium error=low ask=when_findings",
            ),
            (
                &[(Definition, "{check_in_frequency: per-step}"), (Start, "autonomous")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[completion] frequency=end-only warning=medium error=low ask=when_findings",
            ),
            (
                &[(Definition, "{warning_tolerance: high, ask: always}"), (Start, "assist")],
                "start:1 level=assist; level `assist` (start:1) hold_at=[every phase] frequency=per-phase warning=none error=none ask=when_findings",
            ),
        ],
    );
}

#[test]
fn custom_holds_where_it_is_told() {
    check(
        Job,
        &[
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, every: 3}]}")],
                "start:1 level=custom hold_at=[every 3rd phase]; level `custom` (start:1) ask=always",
            ),
            (
                &[(
                    Start,
                    "{level: custom, hold_at: [{on: phase, milestone: schema agreed}, {on: complete}]}",
                )],
                "start:1 level=custom hold_at=[every phase with milestone `schema agreed`, completion]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, confidence_below: 0.7}]}")],
                "start:1 level=custom hold_at=[every phase with confidence below 0.7]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, phase_kind: strategic, first: true}]}")],
                "start:1 level=custom hold_at=[first strategic phase]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: '*'}], error_tolerance: low, ask: when_findings}")],
                "start:1 level=custom hold_at=[every boundary] error=low ask=when_findings",
            ),
            (
                &[(Start, "{level: custom, hold_at: []}")],
                "start:1 level=custom hold_at=[]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, check_in_frequency: per-phase}")],
                "start:1 level=custom hold_at=[every phase] frequency=per-phase; level `custom` (start:1) ask=always",
            ),
            // the tolerance of weaker layers stays
            (
                &[(Definition, "{error_tolerance: low}"), (Start, "{level: custom, hold_at: []}")],
                "start:1 level=custom hold_at=[]; file:1 error=low; level `custom` (start:1) ask=always",
            ),
            // somebody has to say where
            (
                &[(Start, "custom")],
                "refused: start:1:1: level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[(Start, "{level: custom, hold_at: null}")],
                "refused: start:1:2: level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[(Definition, "{hold_at: [{on: phase}]}"), (Start, "custom")],
                "refused: start:1:1: level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[(Start, "{level: custom, checkpoint_types: [draft]}")],
                "refused: start:1:17: checkpoint_types: `checkpoint_types` is for workers and does nothing in a job\n  hint: write `hold_at` instead\nstart:1:2: level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[(Start, "{overrides: {phase-1-strategic: custom}}")],
                "refused: start:1:14: overrides.phase-1-strategic.level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[(Start, "{overrides: {phase-1-strategic: {level: custom, hold_at: [{on: phase}]}}}")],
                "level `custom` (start:1) overrides.phase-1-strategic.ask=always; start:1 overrides.phase-1-strategic.hold_at=[every phase]",
            ),
            // a stronger layer may be the one who says it
            (
                &[(Definition, "custom"), (Start, "{hold_at: [{on: phase}]}")],
                "file:1 level=custom; start:1 hold_at=[every phase]; level `custom` (file:1) ask=always",
            ),
            (
                &[(Definition, "custom"), (Start, "{check_in_frequency: per-phase}")],
                "file:1 level=custom; start:1 hold_at=[every phase] frequency=per-phase; level `custom` (file:1) ask=always",
            ),
            (
                &[(Definition, "custom"), (Start, "full")],
                "start:1 level=full; level `full` (start:1) hold_at=[] warning=high error=high ask=always",
            ),
            (
                &[
                    (ProjectConfig, "custom"),
                    (Definition, "{hold_at: [{on: phase}]}"),
                    (Start, "{error_tolerance: low}"),
                    (Change, "{level: custom}"),
                ],
                "refused: change:1:2: level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
            ),
            (
                &[
                    (Definition, "{overrides: {phase-1-strategic: custom}}"),
                    (Start, "{overrides: {phase-1-strategic: {hold_at: []}}}"),
                ],
                "level `custom` (file:1) overrides.phase-1-strategic.ask=always; start:1 overrides.phase-1-strategic.hold_at=[]",
            ),
            // triggers that cannot be
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, every: 0}]}")],
                "refused: start:1:27: hold_at[0]: `every` must be at least 1, found `0`",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, confidence_below: 1.5}]}")],
                "refused: start:1:27: hold_at[0]: `confidence_below` must be from 0 to 1, found `1.5`",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{every: 2}]}")],
                "refused: start:1:27: hold_at[0]: missing key `on`",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, evry: 2}]}")],
                "refused: start:1:39: hold_at[0]: unknown key `evry`\n  hint: did you mean `every`?",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: phase, phase_kind: final}]}")],
                "refused: start:1:51: hold_at[0].phase_kind: unknown value `final`, expected one of `strategic`, `tactical`",
            ),
        ],
    );
    check(
        Worker,
        &[
            (
                &[(Start, "{level: custom, checkpoint_types: [draft, deliverable]}")],
                "start:1 level=custom hold_at=[every draft, every deliverable] checkpoint_types=[draft, deliverable]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, checkpoint_types: [draft], hold_at: [{on: step}]}")],
                "start:1 level=custom hold_at=[every step, every draft] checkpoint_types=[draft]; level `custom` (start:1) ask=always",
            ),
            (
                &[(Start, "{level: custom, hold_at: [{on: draft}]}")],
                "start:1 level=custom hold_at=[every draft]; level `custom` (start:1) ask=always",
            ),
        ],
    );
}

#[test]
fn checkpoint_types_under_each_worker_level() {
    check(
        Worker,
        &[
            (
                &[(Start, "{checkpoint_types: [draft]}")],
                "start:1 hold_at=[every draft] checkpoint_types=[draft]",
            ),
            (
                &[(Start, "{level: semi_supervised, checkpoint_types: [draft]}")],
                "start:1 level=semi_supervised hold_at=[every draft] checkpoint_types=[draft]; level `semi_supervised` (start:1) warning=high error=high ask=always",
            ),
            (
                &[(Start, "{level: semi_supervised, checkpoint_types: []}")],
                "start:1 level=semi_supervised hold_at=[] checkpoint_types=[]; level `semi_supervised` (start:1) warning=high error=high ask=always",
            ),
            (
                &[(Start, "{level: manual, checkpoint_types: [draft]}")],
                "start:1 level=manual checkpoint_types=[draft]; level `manual` (start:1) hold_at=[every boundary] warning=high error=high ask=always",
            ),
            (
                &[(Start, "{level: autonomous, checkpoint_types: [draft]}")],
                "start:1 level=autonomous checkpoint_types=[draft]; level `autonomous` (start:1) hold_at=[] warning=high error=high ask=always",
            ),
            // remembered for the level that asks for them
            (
                &[(Definition, "{checkpoint_types: [draft]}"), (Start, "semi_supervised")],
                "start:1 level=semi_supervised; level `semi_supervised` (start:1) hold_at=[every draft] warning=high error=high ask=always; file:1 checkpoint_types=[draft]",
            ),
            (
                &[(Definition, "{level: manual, checkpoint_types: [draft]}"), (Start, "semi_supervised")],
                "start:1 level=semi_supervised; level `semi_supervised` (start:1) hold_at=[every draft] warning=high error=high ask=always; file:1 checkpoint_types=[draft]",
            ),
            (
                &[(Definition, "semi_supervised"), (Start, "{checkpoint_types: [draft]}")],
                "file:1 level=semi_supervised; start:1 hold_at=[every draft] checkpoint_types=[draft]; level `semi_supervised` (file:1) warning=high error=high ask=always",
            ),
            (
                &[(Definition, "manual"), (Start, "{checkpoint_types: [draft]}")],
                "file:1 level=manual; level `manual` (file:1) hold_at=[every boundary] warning=high error=high ask=always; start:1 checkpoint_types=[draft]",
            ),
            // C1: any string is a type
            (
                &[(Start, "{checkpoint_types: ['*', Draft, phase]}")],
                "start:1 hold_at=[every boundary, every Draft, every phase] checkpoint_types=[*, Draft, phase]",
            ),
            // one phase under another level
            (
                &[(Start, "{level: autonomous, overrides: {build: semi_supervised, test: manual}}")],
                "start:1 level=autonomous; level `autonomous` (start:1) hold_at=[] warning=high error=high ask=always; level `semi_supervised` (start:1) overrides.build.ask=always overrides.build.error=high overrides.build.hold_at=[every phase_transition, every deliverable, every final_output] overrides.build.warning=high; level `manual` (start:1) overrides.test.ask=always overrides.test.error=high overrides.test.hold_at=[every boundary] overrides.test.warning=high",
            ),
            (
                &[(
                    Start,
                    "{level: autonomous, checkpoint_types: [draft], overrides: {build: semi_supervised}}",
                )],
                "start:1 level=autonomous checkpoint_types=[draft]; level `autonomous` (start:1) hold_at=[] warning=high error=high ask=always; level `semi_supervised` (start:1) overrides.build.ask=always overrides.build.error=high overrides.build.hold_at=[every draft] overrides.build.warning=high",
            ),
        ],
    );
    check_said(
        Worker,
        &[
            (
                &[(Definition, "{level: manual, checkpoint_types: [draft]}")],
                &[
                    "warning file:1:17: checkpoint_types: `checkpoint_types` has no effect under level `manual`\n  hint: level `semi_supervised` holds at them",
                ],
            ),
            (
                &[(ProjectConfig, "autonomous"), (Definition, "{checkpoint_types: [draft]}")],
                &[
                    "warning file:1:2: checkpoint_types: `checkpoint_types` has no effect under level `autonomous`\n  hint: level `semi_supervised` holds at them",
                ],
            ),
            (&[(Definition, "{checkpoint_types: [draft]}")], &[]),
            (&[(Definition, "{level: custom, checkpoint_types: [draft]}")], &[]),
            // meant for others, or for a level or a phase that looks at them
            (&[(ProjectConfig, "{checkpoint_types: [draft]}"), (Definition, "manual")], &[]),
            (&[(Definition, "{level: manual, checkpoint_types: [draft]}"), (Start, "semi_supervised")], &[]),
            (
                &[(
                    Start,
                    "{level: autonomous, checkpoint_types: [draft], overrides: {build: semi_supervised}}",
                )],
                &[],
            ),
        ],
    );
    check_said(
        Workflow,
        &[
            (
                &[(Start, "{checkpoint_types: [draft]}")],
                &[
                    "warning start:1:2: checkpoint_types: `checkpoint_types` is for workers and does nothing in a workflow\n  hint: write `hold_at` instead",
                ],
            ),
            (&[(Start, "{checkpoint_types: null}")], &[]),
        ],
    );
    check_said(
        Job,
        &[(
            &[(Start, "{checkpoint_types: [draft]}")],
            &[
                "warning start:1:2: checkpoint_types: `checkpoint_types` is for workers and does nothing in a job\n  hint: write `hold_at` instead",
            ],
        )],
    );
}

#[test]
fn policy_show_prints_what_was_resolved() {
    let layers = [
        (ProjectConfig, "{level: guarded, limits: {max_total_errors: 3}}"),
        (
            Start,
            "{warning_tolerance: huge, hold_at: [{on: phase, every: 2}], overrides: {build: {check_in_frequency: per-step, error_tolerance: low}}}",
        ),
    ];
    insta::assert_snapshot!(format!("{:#}", shown(Workflow, &layers)), @r#"
    {
      "level": "guarded",
      "check_in_frequency": null,
      "warning_tolerance": "huge",
      "error_tolerance": "none",
      "limits": {
        "max_total_warnings": 50,
        "max_total_errors": 3,
        "on_limit_reached": "stop"
      },
      "checkpoint_types": [],
      "hold_at": [
        {
          "on": "phase",
          "every": 2
        }
      ],
      "overrides": {
        "build": {
          "check_in_frequency": "per-step",
          "error_tolerance": "low"
        }
      },
      "ask": "when_findings",
      "warnings": [
        "Migrating legacy autonomy level 'guarded' to new model",
        "autonomy level `guarded` is deprecated, its support ends after two major versions",
        "unknown warning_tolerance `huge`, it ranks as `low`"
      ]
    }
    "#);
}

#[test]
fn policy_show_prints_all_a_phase_holds_at() {
    for (own, expected) in [
        ("{check_in_frequency: per-step}", serde_json::json!({"check_in_frequency": "per-step"})),
        ("{check_in_frequency: weekly}", serde_json::json!({"check_in_frequency": "weekly"})),
        ("{hold_at: [{on: step}]}", serde_json::json!({"hold_at": [{"on": "step"}]})),
        ("{hold_at: []}", serde_json::json!({"hold_at": []})),
        (
            "{check_in_frequency: per-step, hold_at: [{on: phase, every: 2}]}",
            serde_json::json!({"check_in_frequency": "per-step", "hold_at": [{"on": "phase", "every": 2}, {"on": "step"}]}),
        ),
        ("{ask: always}", serde_json::json!({"ask": "always"})),
    ] {
        let text = format!("{{overrides: {{build: {own}}}}}");
        assert_eq!(shown(Workflow, &[(Start, &text)])["overrides"]["build"], expected, "{own}");
    }
}

#[test]
fn a_budget_is_more_than_nothing() {
    check(
        Workflow,
        &[
            (
                &[(Start, "{budget: {tokens: 1, cost: 0.01, time: 1s}}")],
                "start:1 budget.tokens=1 budget.cost=0.01 budget.time=1s",
            ),
            (
                &[(Start, "{budget: {tokens: 0}}")],
                "refused: start:1:19: budget.tokens: must be at least 1, found `0`",
            ),
            (
                &[(Start, "{budget: {cost: 0}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `0`",
            ),
            (
                &[(Start, "{budget: {cost: -2.5}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `-2.5`",
            ),
            (
                &[(Start, "{budget: {cost: .inf}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `inf`",
            ),
            (
                &[(Start, "{budget: {cost: .nan}}")],
                "refused: start:1:17: budget.cost: must be a number above 0, found `NaN`",
            ),
            (
                &[(Start, "{budget: {time: 0s}}")],
                "refused: start:1:17: budget.time: must be more than no time",
            ),
        ],
    );
}

#[test]
fn a_type_that_is_nearly_a_kind_is_asked_about() {
    check_said(
        Worker,
        &[
            (
                &[(Start, "{hold_at: [{on: phase}, {on: phaes}]}")],
                &[
                    "notice start:1:26: hold_at[1].on: `phaes` is a checkpoint type of your own\n  hint: did you mean `phase`?",
                ],
            ),
            (
                &[(Start, "{overrides: {build: {hold_at: [{on: Step}]}}}")],
                &[
                    "notice start:1:33: overrides.build.hold_at[0].on: `Step` is a checkpoint type of your own\n  hint: did you mean `step`?",
                ],
            ),
            (&[(Start, "{hold_at: [{on: draft}, {on: '*'}]}")], &[]),
        ],
    );
}

#[test]
fn a_run_holds_only_where_it_comes_by() {
    for (scope, text, expected) in [
        (
            Job,
            "{hold_at: [{on: fase}]}",
            "start:1:13: hold_at[0].on: a job has no boundary `fase` to hold at\n  hint: did you mean `phase`? valid values: `phase`, `complete`, `*`",
        ),
        (
            Job,
            "{hold_at: [{on: step}]}",
            "start:1:13: hold_at[0].on: a job has no boundary `step` to hold at\n  hint: valid values: `phase`, `complete`, `*`",
        ),
        (
            Job,
            "{check_in_frequency: per-step}",
            "start:1:2: check_in_frequency: a job never checks in `per-step`\n  hint: write `hold_at` or a level instead",
        ),
        (Job, "{check_in_frequency: per-phase, hold_at: [{on: '*'}]}", ""),
        (Workflow, "{hold_at: [{on: hook}, {on: phase_entry}]}", ""),
        (
            Workflow,
            "{hold_at: [{on: deliverable}]}",
            "start:1:13: hold_at[0].on: a workflow has no boundary `deliverable` to hold at\n  hint: valid values: `step`, `hook`, `phase_entry`, `phase`, `complete`, `*`",
        ),
        (Worker, "{hold_at: [{on: deliverable}, {on: anything}]}", ""),
        (
            Job,
            "{require_approval_for: [release], pause_before_release: true}",
            "start:1:2: require_approval_for: `require_approval_for` does nothing in a job\n  hint: a job holds at the ends of its phases; write `hold_at`\nstart:1:35: pause_before_release: `pause_before_release` does nothing in a job\n  hint: a job holds at the ends of its phases; write `hold_at`",
        ),
        (
            Workflow,
            "{protected_paths: [Makefile]}",
            "start:1:2: protected_paths: `protected_paths` does nothing in a workflow\n  hint: protected files are for jobs: write it under `autonomy.job`",
        ),
        (
            Worker,
            "{check_in_frequency: per-step}",
            "start:1:2: check_in_frequency: a worker never checks in `per-step`\n  hint: write `hold_at` or a level instead",
        ),
        (
            Worker,
            "{overrides: {p: {check_in_frequency: per-phase}}}",
            "start:1:18: overrides.p.check_in_frequency: a worker never checks in `per-phase`\n  hint: write `hold_at` or a level instead",
        ),
        (
            Worker,
            "{check_in_frequency: end-only, hold_at: [{on: deliverable}]}",
            "start:1:2: check_in_frequency: a worker never checks in `end-only`\n  hint: write `hold_at` or a level instead",
        ),
        (
            Worker,
            "{hold_at: [{on: ''}]}",
            "start:1:13: hold_at[0].on: checkpoint type `` is empty\n  hint: write the type as the worker does, such as `deliverable`",
        ),
        (
            Worker,
            "{hold_at: [{on: x}, {on: ' deliverable'}]}",
            "start:1:22: hold_at[1].on: checkpoint type ` deliverable` begins or ends with white space\n  hint: write the type as the worker does, such as `deliverable`",
        ),
        (
            Worker,
            "{checkpoint_types: ['']}",
            "start:1:21: checkpoint_types[0]: checkpoint type `` is empty\n  hint: write the type as the worker does, such as `deliverable`",
        ),
        (
            Worker,
            "{checkpoint_types: [a, 'b ']}",
            "start:1:24: checkpoint_types[1]: checkpoint type `b ` begins or ends with white space\n  hint: write the type as the worker does, such as `deliverable`",
        ),
        (
            Job,
            "{hold_at: [{on: phase, milestone: ' '}]}",
            "start:1:24: hold_at[0].milestone: a milestone has a name, found nothing\n  hint: write its name as the plan has it",
        ),
        (Job, "{hold_at: [{on: '*', milestone: m}]}", ""),
        (
            Workflow,
            "{hold_at: [{on: '*', milestone: m}]}",
            "start:1:22: hold_at[0].milestone: a workflow reaches no milestones to hold at\n  hint: leave `milestone` out; only jobs have them",
        ),
        (
            Worker,
            "{overrides: {p: {hold_at: [{on: phase, milestone: m}]}}}",
            "start:1:40: overrides.p.hold_at[0].milestone: a worker reaches no milestones to hold at\n  hint: leave `milestone` out; only jobs have them",
        ),
        (
            Workflow,
            "{require_approval_for: [' ']}",
            "start:1:25: require_approval_for[0]: a phase has a name, found nothing\n  hint: write the name of a phase, such as `release`",
        ),
    ] {
        let resolved = resolve(scope, &[(Start, text)]);
        let told = resolved.map_or_else(|problems| problems.to_string(), |_| String::new());
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn a_word_nobody_knows_is_refused_unless_a_file_is_of_an_older_system() {
    for (scope, text, expected) in [
        (
            Workflow,
            "{level: gaurded}",
            "start:1:2: level: unknown workflow level `gaurded`\n  hint: did you mean `guarded`? valid levels: `dry-run`, `assist`, `guarded`, `autonomous`, `custom`",
        ),
        (
            Workflow,
            "{check_in_frequency: per_phase}",
            "start:1:2: check_in_frequency: unknown check_in_frequency `per_phase`\n  hint: did you mean `per-phase`? valid values: `per-step`, `per-phase`, `end-only`",
        ),
        (
            Job,
            "{error_tolerance: some}",
            "start:1:2: error_tolerance: unknown error_tolerance `some`\n  hint: valid values: `none`, `low`, `medium`, `high`",
        ),
    ] {
        let layer = read(Start, text).unwrap();
        let strict =
            |layer: &Layer| Resolution::resolve(scope, [layer], Classifier::builtin(), Reading::Strict);
        assert_eq!(strict(&layer).unwrap_err().to_string(), expected, "{text}");
        let older = Layer { origin: layer.origin.clone().older(true), ..layer };
        assert_eq!(
            strict(&older).unwrap().problems.iter().next().map(|problem| problem.gravity),
            Some(Gravity::Warning)
        );
    }
}

#[test]
fn completion_belongs_to_the_whole() {
    check_said(
        Workflow,
        &[
            (
                &[(Start, "{overrides: {build: {hold_at: [{on: step}, {on: complete}]}}}")],
                &[
                    "error start:1:45: overrides.build.hold_at[1].on: completion belongs to the whole, a phase does not hold there\n  hint: move it to `hold_at` of the autonomy block",
                ],
            ),
            (&[(Start, "{hold_at: [{on: complete}]}")], &[]),
        ],
    );
}

const CHANGES: &[(Scope, &str, &str)] = &[
    (Workflow, "guarded", "{error_tolerance: high}"),
    (Workflow, "{overrides: {build: {ask: always}}}", "{overrides: {build: null, test: autonomous}}"),
    (Workflow, "{check_in_frequency: weekly, error_tolerance: some}", "{require_approval_for: [release]}"),
    (Worker, "{checkpoint_types: ['*', draft]}", "manual"),
    (Worker, "semi_supervised", "{level: null, timeout: 1h 30m}"),
    (
        Job,
        "{level: custom, hold_at: [{on: phase, confidence_below: 0.7}, {on: phase, milestone: x}]}",
        "full",
    ),
    (
        Job,
        "{budget: {tokens: 18446744073709551615, cost: 0.1, time: 250ms}}",
        "{level: guided, limits: {max_total_errors: 3}}",
    ),
];

#[test]
fn a_change_leaves_the_original_untouched() {
    for (scope, started, change) in CHANGES {
        let original = resolve(*scope, &[(Start, started)]).unwrap();
        let before = original.clone();
        let amended = original.amend(&read(Change, change).unwrap()).unwrap();
        assert_eq!(original, before, "{started} then {change}");
        assert_ne!(amended.policy, before.policy, "{started} then {change}");
        assert_eq!(
            amended,
            resolve(*scope, &[(Start, started), (Change, change)]).unwrap(),
            "{started} then {change}"
        );
    }
}

#[test]
fn a_wrong_change_is_refused_and_changes_nothing() {
    let original = resolve(Job, &[(Start, "guided")]).unwrap();
    let before = original.clone();
    let refused =
        original.amend(&read(Change, "{level: guidde, error_tolerance: high}").unwrap()).unwrap_err();
    assert!(refused.has_errors());
    assert_eq!(original, before);
}

#[test]
fn a_snapshot_reads_back_as_it_was() {
    for (scope, started, change) in CHANGES {
        let resolution = resolve(*scope, &[(Start, started)]).unwrap();
        let text = serde_json::to_string(&resolution).unwrap();
        let read_back: Resolution = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&read_back.policy, &read_back.sources),
            (&resolution.policy, &resolution.sources),
            "{started}"
        );
        let change = read(Change, change).unwrap();
        assert_eq!(
            read_back.amend(&change).unwrap().policy,
            resolution.amend(&change).unwrap().policy,
            "{started}"
        );
    }
}

#[test]
fn examples_are_checked_against_the_policy_their_layer_leaves() {
    let stops = "examples:\n- name: a high error stops\n  response: {errors: [{text: e, severity: high}]}\n  expect: stop\n";
    check(
        Workflow,
        &[
            (&[(Definition, stops)], ""),
            (
                &[(
                    Definition,
                    "{error_tolerance: high, examples: [{boundary: step, response: {errors: [e]}, expect: proceed}]}",
                )],
                "file:1 error=high",
            ),
            // a null response is a null result, none is nothing to judge
            (&[(Definition, "{examples: [{response: null, expect: stop}, {expect: proceed}]}")], ""),
            (
                &[(
                    Definition,
                    "{examples: [{boundary: phase, expect: {outcome: proceed, check_in: true}}]}",
                )],
                "",
            ),
            (
                &[(
                    Definition,
                    "{examples: [{boundary: phase, findings_since_check_in: 1, expect: {outcome: hold, rule: trigger}}]}",
                )],
                "",
            ),
            (
                &[(
                    Definition,
                    "{examples: [{totals: {warnings: 49}, response: {warnings: [minor]}, expect: {outcome: stop, rule: limit.warnings}}]}",
                )],
                "",
            ),
            (
                &[(
                    Definition,
                    "{examples: [{type: hook, result_handling: {on_failure: continue}, response: {errors: [e]}, expect: proceed}]}",
                )],
                "",
            ),
            (
                &[(
                    Definition,
                    "{pause_before_release: true, examples: [{boundary: {kind: phase_entry, phase: release}, expect: {outcome: hold, rule: gate}}]}",
                )],
                "file:1 require_approval_for=[release]",
            ),
            // a stronger layer may loosen what a weaker one had checked
            (&[(ProjectConfig, stops), (Start, "{error_tolerance: high}")], "start:1 error=high"),
            // and a weaker one is part of what a stronger one checks
            (
                &[(ProjectConfig, "{error_tolerance: high}"), (Definition, stops)],
                "refused: file:2:3: examples[0]: example `a high error stops` expects stop, the policy says proceed",
            ),
            // what fails
            (
                &[(
                    Definition,
                    "error_tolerance: high\nexamples:\n- response: {errors: [e]}\n  expect: stop\n",
                )],
                "refused: file:3:3: examples[0]: example expects stop, the policy says proceed",
            ),
            (
                &[(
                    Definition,
                    "{examples: [{response: {errors: [e]}, expect: {outcome: stop, rule: limit.errors}}]}",
                )],
                "refused: file:1:13: examples[0]: example expects stop by limit.errors, the policy says stop by tolerance.error: Error exceeds tolerance: e",
            ),
            (
                &[(Definition, "{examples: [{boundary: step, expect: {outcome: proceed, check_in: true}}]}")],
                "refused: file:1:13: examples[0]: example expects proceed with a check-in, the policy says proceed without a check-in",
            ),
            (
                &[(
                    Definition,
                    "{examples: [{boundary: phase, expect: {outcome: proceed, check_in: false}}]}",
                )],
                "refused: file:1:13: examples[0]: example expects proceed without a check-in, the policy says proceed with a check-in",
            ),
            (
                &[(Definition, "{examples: [{expect: proceed}, {expect: hold}, {expect: stop}]}")],
                "refused: file:1:32: examples[1]: example expects hold, the policy says proceed\nfile:1:48: examples[2]: example expects stop, the policy says proceed",
            ),
            // what cannot be read
            (
                &[(Definition, "{examples: [{boundary: step}]}")],
                "refused: file:1:13: examples[0]: missing key `expect`",
            ),
            (
                &[(Definition, "{examples: [{expect: halt}]}")],
                "refused: file:1:22: examples[0].expect: unknown value `halt`, expected one of `proceed`, `hold`, `stop`",
            ),
            (
                &[(Definition, "{examples: [{expect: hodl}]}")],
                "refused: file:1:22: examples[0].expect: unknown value `hodl`, expected one of `proceed`, `hold`, `stop`\n  hint: did you mean `hold`?",
            ),
            (
                &[(Definition, "{examples: [{expect: {outcome: halt}}]}")],
                "refused: file:1:32: examples[0].expect.outcome: unknown value `halt`, expected one of `proceed`, `hold`, `stop`",
            ),
            (
                &[(Definition, "{examples: [{bondary: step, expect: stop}]}")],
                "refused: file:1:14: examples[0]: unknown key `bondary`\n  hint: did you mean `boundary`?",
            ),
        ],
    );
}

#[test]
fn every_example_is_told_apart() {
    let layers = [
        read(ProjectConfig, "examples:\n- name: quiet\n  expect: proceed\n- expect: stop\n").unwrap(),
        read(Definition, "examples:\n\n- {name: loud, expect: hold}\n").unwrap(),
    ];
    let (_, tested) = Resolution::test(Workflow, &layers, Classifier::builtin(), Reading::Strict).unwrap();
    let told: Vec<String> = tested
        .iter()
        .map(|one| {
            let at = one.position.unwrap();
            let failure = one.failure.as_ref().map_or("met".to_owned(), |failure| failure.to_string());
            format!("{}:{}:{} {} {}: {failure}", one.source, at.line, at.column, one.path, one.name)
        })
        .collect();
    assert_eq!(
        told,
        [
            "project:2:3 examples[0] quiet: met",
            "project:4:3 examples[1] example 2: example expects stop, the policy says proceed",
            "file:3:3 examples[0] loud: example `loud` expects hold, the policy says proceed",
        ]
    );
}

#[test]
fn every_problem_says_where_it_is() {
    for (scope, text, line, column, path) in [
        (Workflow, "autonomy:\n  level: yolo", 2, 3, "autonomy.level"),
        (Workflow, "autonomy: yolo", 1, 1, "autonomy.level"),
        (
            Workflow,
            "autonomy:\n  error_tolerance: low\n  warning_tolerance: huge",
            3,
            3,
            "autonomy.warning_tolerance",
        ),
        (Workflow, "autonomy:\n  check_in_frequency: weekly", 2, 3, "autonomy.check_in_frequency"),
        (Workflow, "autonomy:\n  checkpoint_types: [a]", 2, 3, "autonomy.checkpoint_types"),
        (Workflow, "autonomy:\n  overrides:\n    build: yolo", 3, 5, "autonomy.overrides.build.level"),
        (
            Workflow,
            "autonomy:\n  overrides:\n    build:\n      limits: {}",
            4,
            7,
            "autonomy.overrides.build.limits",
        ),
        (
            Workflow,
            "autonomy:\n  overrides: {build: {error_tolerance: x}}",
            2,
            23,
            "autonomy.overrides.build.error_tolerance",
        ),
        (Worker, "autonomy:\n  level: guided", 2, 3, "autonomy.level"),
        (Job, "autonomy:\n  level: custom", 2, 3, "autonomy.level"),
        (
            Workflow,
            "autonomy:\n  examples:\n    - expect: proceed\n    - expect: stop",
            4,
            7,
            "autonomy.examples[1]",
        ),
    ] {
        let document = Arc::new(Document::parse("flow.yaml", text, Format::Yaml).unwrap());
        let node = document.root.get("autonomy").unwrap();
        let (autonomy, _) =
            crate::document::decode_part::<Autonomy>(&document, node, "autonomy", Gravity::Error).unwrap();
        let origin = Origin::within(&document, &["autonomy"]);
        let layer = Layer { rank: Definition, origin, block: Block::of(autonomy) };
        let problems = match Resolution::resolve(scope, [&layer], Classifier::builtin(), Reading::Coercing) {
            Ok(resolution) => resolution.problems,
            Err(problems) => problems,
        };
        let places: Vec<_> =
            problems.iter().map(|p| (p.source.as_str(), p.position, p.path.as_str())).collect();
        assert_eq!(places, [("flow.yaml", Some(Position { line, column }), path)], "{text}");
    }
}

/// A file with its legacy levels rewritten resolves to the policy it had, also over weaker layers.
#[test]
fn migrating_a_file_changes_no_policy() {
    for text in [
        "dry-run",
        "assist",
        "guarded",
        "autonomous",
        "{level: autonomous, limits: {max_total_errors: 3}}",
        "{level: autonomous, warning_tolerance: none}",
        "{level: autonomous, warning_tolerance: null}",
        "{level: autonomous, check_in_frequency: null}",
        "{level: autonomous, check_in_frequency: per-step}",
        "{level: autonomous, check_in_frequency: per-step, error_tolerance: high}",
        "{level: autonomous, check_in_frequency: per-step, error_tolerance: null}",
        "{level: autonomous, check_in_frequency: weekly}",
        "{level: autonomous, ask: always}",
        "{level: autonomous, ask: null}",
        "{level: autonomous, hold_at: [{on: step}]}",
        "{level: autonomous, hold_at: [{on: step}], check_in_frequency: null}",
        "{level: autonomous, hold_at: [{on: step}], check_in_frequency: per-phase}",
        "{warning_tolerance: high, overrides: {build: dry-run}}",
        "{ask: always, overrides: {build: dry-run}}",
        "{warning_tolerance: high, overrides: {build: {level: dry-run, error_tolerance: high}}}",
        "{warning_tolerance: high, overrides: {build: {level: dry-run, error_tolerance: null}}}",
        "{warning_tolerance: high, overrides: {build: {level: dry-run, check_in_frequency: end-only}}}",
        "{overrides: {build: {level: dry-run, check_in_frequency: end-only, error_tolerance: null}}}",
    ] {
        for weaker in [
            "{}",
            "autonomous",
            "{level: custom, hold_at: [{on: phase, every: 2}]}",
            "{warning_tolerance: medium, error_tolerance: high, ask: always, hold_at: [{on: step}]}",
            "{overrides: {build: {warning_tolerance: medium, ask: always, hold_at: []}}}",
            "{overrides: {build: autonomous}}",
        ] {
            let resolved = |text: &str| {
                let document = Arc::new(Document::parse("flow.yaml", text, Format::Yaml).unwrap());
                let node = document.root.get("autonomy").unwrap();
                let (autonomy, _) =
                    crate::document::decode_part::<Autonomy>(&document, node, "autonomy", Gravity::Error)
                        .unwrap();
                let origin = Origin::within(&document, &["autonomy"]);
                let layer = Layer { rank: Definition, origin, block: Block::of(autonomy) };
                let layers = [read(ProjectConfig, weaker).unwrap(), layer];
                let policy = Resolution::resolve(Workflow, &layers, Classifier::builtin(), Reading::Coercing)
                    .unwrap()
                    .policy;
                // The name goes; what it stood for stays.
                Policy { level: None, ..policy }
            };
            let text = format!("autonomy: {text}\n");
            let migrated = migrate(&Document::parse("flow.yaml", &text, Format::Yaml).unwrap()).unwrap();
            assert!(!migrated.changes.is_empty(), "{text}");
            assert_eq!(
                resolved(&migrated.text),
                resolved(&text),
                "{text} over {weaker} became {}",
                migrated.text
            );
        }
    }
}

/// What the layers protect beside the default list, or instead of it, and who says so.
#[track_caller]
fn protects(layers: &[Written<'_>], expected: &str) {
    let seen = match resolve(Job, layers) {
        Err(problems) => format!("refused: {problems}"),
        Ok(resolution) => {
            let (own, default) = (&resolution.policy.protected_paths, Policy::builtin(Job).protected_paths);
            let own = match own.strip_prefix(default.as_slice()) {
                Some(more) => format!("default + [{}]", more.join(", ")),
                None => format!("[{}]", own.join(", ")),
            };
            format!("{own} ({})", resolution.sources["protected_paths"])
        }
    };
    assert_eq!(seen, expected, "{layers:?}");
}

#[test]
fn everybody_may_protect_more_files_and_only_the_user_fewer() {
    let refused = "only your own settings can replace `protected_paths`\n  hint: write a list to add to it, or move \
                   this to your own settings";
    protects(&[], "default + [] (default)");
    protects(&[(ProjectConfig, "{protected_paths: []}")], "default + [] (default)");
    protects(
        &[
            (UserConfig, "{protected_paths: [u]}"),
            (ProjectConfig, "{protected_paths: [p, u]}"),
            (Start, "{protected_paths: [s/]}"),
        ],
        "default + [u, p, s] (default and user:1 and project:1 and start:1)",
    );
    protects(&[(UserConfig, "{protected_paths: {replace: [u]}}")], "[u] (user:1)");
    protects(&[(UserConfig, "{protected_paths: {replace: []}}")], "[] (user:1)");
    protects(
        &[(UserConfig, "{protected_paths: {replace: [u]}}"), (Definition, "{protected_paths: [d]}")],
        "[u, d] (user:1 and file:1)",
    );
    // What the user protects nobody else takes away.
    protects(
        &[
            (UserConfig, "{protected_paths: [u]}"),
            (ProjectConfig, "{protected_paths: [p]}"),
            (Start, "{protected_paths: null}"),
        ],
        "default + [u] (default, cleared by start:1)",
    );
    for rank in [ProjectConfig, Environment, Definition, Start, Change] {
        let layers = [(rank, "{protected_paths: {replace: [x]}}")];
        let seen = resolve(Job, &layers).unwrap_err().to_string();
        let place = format!("{}:1:20: protected_paths.replace: {refused}", name(rank));
        assert_eq!(seen, place, "{rank:?}");
    }
    let wrong = [
        ("{protected_paths: {replce: [x]}}", "replce"),
        ("{protected_paths: x}", "expected a list of patterns, or `{replace: [PATTERN, …]}`"),
        ("{protected_paths: [a, 'x[']}", "`x[` has a bracket that is not closed"),
        ("{protected_paths: {replace: ['']}}", "`` names no file"),
    ];
    for (text, said) in wrong {
        let seen = resolve(Job, &[(UserConfig, text)]).unwrap_err().to_string();
        assert!(seen.starts_with("user:1:") && seen.contains(said), "{seen}");
    }
}

/// What a run was started with stays protected, whatever is changed while it runs.
#[test]
fn a_started_run_keeps_its_protected_files() {
    let started =
        resolve(Job, &[(UserConfig, "{protected_paths: {replace: [u]}}"), (Start, "{protected_paths: [s]}")])
            .unwrap();
    let change = |text: &str| {
        let amended = Resolution::of(started.policy.clone()).amend(&read(Change, text).unwrap());
        amended.map(|resolution| resolution.policy.protected_paths)
    };
    assert_eq!(change("full").unwrap(), ["u", "s"]);
    assert_eq!(change("{protected_paths: [c]}").unwrap(), ["u", "s", "c"]);
    assert_eq!(change("{protected_paths: null}").unwrap(), ["u", "s"]);
    change("{protected_paths: {replace: []}}").unwrap_err();
}

#[test]
fn phases_without_approval_are_limited_in_jobs() {
    check(
        Job,
        &[
            (
                &[(Start, "{level: full, max_phases: 5}")],
                "start:1 level=full max_phases=5; level `full` (start:1) hold_at=[] warning=high error=high ask=always",
            ),
            (
                &[(ProjectConfig, "{max_phases: 5}"), (Start, "{max_phases: null}")],
                "default, cleared by start:1 max_phases=50",
            ),
            (&[(Start, "{max_phases: 0}")], "refused: start:1:14: max_phases: must be at least 1, found `0`"),
        ],
    );
    let seen = said(Workflow, &[(Definition, "{max_phases: 5}")]);
    assert_eq!(
        seen,
        [
            "warning file:1:2: max_phases: `max_phases` is for jobs and does nothing in a workflow\n  hint: write it under `autonomy.job`"
        ]
    );
}
