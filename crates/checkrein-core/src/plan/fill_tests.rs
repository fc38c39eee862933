//! Placeholders in texts, commands and tasks.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::placeholder::escape_text;
use super::shell::escape_shell;
use super::*;

fn context() -> Context {
    let pairs = [("target", "billing"), ("work_id", "42"), ("odd", "a{b}{target}")];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn texts() {
    for (text, expected) in [
        ("", ""),
        ("no braces", "no braces"),
        ("{target}", "billing"),
        ("work on {target}, item {work_id}.", "work on billing, item 42."),
        ("{target}{work_id}", "billing42"),
        // A value is not looked into.
        ("{odd}", "a{b}{target}"),
        // Everything else with braces stays.
        (r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1}}"#),
        (r#"{"a": {target}}"#, r#"{"a": billing}"#),
        (
            "{} {a,b} {1} { target } {Target} {a.b} {a-b} {target",
            "{} {a,b} {1} { target } {Target} {a.b} {a-b} {target",
        ),
        ("${target} ${{target}} $ {target}", "${target} ${{target}} $ billing"),
        ("{{ .Name }} {{", "{{ .Name }} {{"),
        // Doubled braces are the braces themselves.
        ("{{target}} {{{target}}} {{nobody}}", "{target} {{target}} {nobody}"),
        ("é{target}ü", "ébillingü"),
    ] {
        assert_eq!(fill_text(text, &context()).as_deref(), Ok(expected), "{text}");
        assert_eq!(fill_text(&escape_text(text), &Context::new()).as_deref(), Ok(text), "escaped");
    }
}

#[test]
fn what_has_no_value_is_named() {
    let told = |text: &str, context: &Context| {
        let error = fill_text(text, context).unwrap_err();
        assert_eq!(fill_shell(text, context).unwrap_err(), error, "the same in a command");
        format!("{error}\n{}", error.hint)
    };
    assert_eq!(
        told("on {targt}", &context()),
        "there is no value for `{targt}`\ndid you mean `{target}`? Write `{{targt}}` for the text itself"
    );
    assert_eq!(
        told("{print}", &context()),
        "there is no value for `{print}`\nknown: `target`, `work_id`, `odd`. Write `{{print}}` for the text itself"
    );
    assert_eq!(
        told("{print}", &Context::new()),
        "there is no value for `{print}`\nnothing is known here. Write `{{print}}` for the text itself"
    );
}

/// `T` stands for the reference to `target`.
#[test]
fn commands() {
    for (command, expected) in [
        ("make", "make"),
        ("make {target}", r#"make "T""#),
        ("make --for={target}/x", r#"make --for="T"/x"#),
        (r#"echo "on {target}!""#, r#"echo "on T!""#),
        ("echo 'on {target}!'", r#"echo 'on '"T"'!'"#),
        (r#"echo "it's {target}" it\'s {target}"#, r#"echo "it's T" it\'s "T""#),
        (r#"echo "a\"{target}""#, r#"echo "a\"T""#),
        // Not ours.
        (
            "awk '{print $1}' | xargs -I{} echo {} {a,b} ${X:-y}",
            "awk '{print $1}' | xargs -I{} echo {} {a,b} ${X:-y}",
        ),
        ("awk '{{print}}'", "awk '{print}'"),
        ("docker ps --format '{{.ID}}'", "docker ps --format '{{.ID}}'"),
        (
            "git log HEAD@{upstream}; curl -w %{http_code} ${x} \\{x} '\\{x}'",
            "git log HEAD@{upstream}; curl -w %{http_code} ${x} \\{x} '\\{x}'",
        ),
        (r"\{{x}} \${x} \\{target}", r#"\{{x}} \${x} \\"T""#),
        ("f() { x; }", "f() { x; }"),
        ("${X:-{target}}", r#"${X:-"T"}"#),
        // Comments.
        ("make # for {nobody} it's\nmake {target}", "make # for {nobody} it's\nmake \"T\""),
        ("echo a#{target} ${#x} {target}", r#"echo a#"T" ${#x} "T""#),
        ("make \\\n# {nobody}\n{target}", "make \\\n# {nobody}\n\"T\""),
        ("make \\#{target}", r#"make \#"T""#),
        // Substitutions begin anew.
        (r#"echo "$(cat '{target}' {target} "{target}")" {target}"#, r#"echo "$(cat ''"T"'' "T" "T")" "T""#),
        ("echo `cat {target} # {x}` {target}", r#"echo `cat "T" # {x}` "T""#),
        (r#"echo "`cat {target}`{target}""#, r#"echo "`cat "T"`T""#),
        ("x=$( (a; b) | cat {target}) {target}", r#"x=$( (a; b) | cat "T") "T""#),
        ("x=$(( 1 << 2 )) {target}", r#"x=$(( 1 << 2 )) "T""#),
        ("x=$((a); cat {target})", r#"x=$((a); cat "T")"#),
        // Here-documents.
        ("cat <<E\nit's \"{target}\"\nE\necho {target}", "cat <<E\nit's \"T\"\nE\necho \"T\""),
        ("cat <<'E'\nit's {nobody}\nE\necho {target}", "cat <<'E'\nit's {nobody}\nE\necho \"T\""),
        ("cat <<-\"E F\" {target}\n{x}\n\tE F\n{target}", "cat <<-\"E F\" \"T\"\n{x}\n\tE F\n\"T\""),
        ("cat <<A <<\\B\n{target}\nA\n{x}\nA\nB\n{target}", "cat <<A <<\\B\nT\nA\n{x}\nA\nB\n\"T\""),
        ("cat <<A\n$(echo {target}\nA\n) {target}\nA", "cat <<A\n$(echo \"T\"\nA\n) T\nA"),
        ("cat <<< {target}\n{target}", "cat <<< \"T\"\n\"T\""),
        // What never ends is still no trouble.
        ("echo '{target}", r#"echo ''"T"'"#),
        ("cat <<", "cat <<"),
        ("\\", "\\"),
    ] {
        let (filled, variables) = fill_shell(command, &context()).unwrap();
        assert_eq!(filled.replace("${CHECKREIN_VALUE_TARGET}", "T"), expected, "{command}");
        let target = ("CHECKREIN_VALUE_TARGET".to_owned(), "billing".to_owned());
        assert_eq!(variables, if expected.contains('T') { vec![target] } else { vec![] }, "{command}");
        assert_eq!(fill_shell(&escape_shell(command), &Context::new()).unwrap().0, command, "escaped");
    }
}

#[test]
fn a_value_is_no_part_of_a_calculation() {
    for command in
        ["echo $(( {work_id} + 1 ))", "echo \"$((1 + {work_id}))\"", "if ((x > {work_id})); then a; fi"]
    {
        let error = fill_shell(command, &context()).unwrap_err();
        assert!(error.message.contains("`{work_id}` stands in shell arithmetic"), "{error}");
    }
}

fn task(action: Action) -> Task {
    Task {
        id: "build:a".to_owned(),
        name: "a".to_owned(),
        kind: StepOrHook::Step,
        timing: None,
        description: None,
        action,
        arguments: IndexMap::from([
            ("target".to_owned(), "own-{target}".to_owned()),
            ("the note".to_owned(), "two\nlines".to_owned()),
        ]),
        env: IndexMap::from([("FOR".to_owned(), "{target}/{work_id}".to_owned())]),
        working_directory: Some("src/{target}".to_owned()),
        timeout: None,
        idle_timeout: None,
        requires: Vec::new(),
        handling: Handling::default(),
    }
}

#[test]
fn a_task_is_filled_arguments_first() {
    let filled = task(Action::Agent("Work on {target}".to_owned())).fill(&context()).unwrap();
    let expected = "Work on own-billing\n\nArguments:\n- target: own-billing\n- the note: two\n  lines";
    assert_eq!(filled.action, Action::Agent(expected.to_owned()));
    assert_eq!(filled.working_directory.as_deref(), Some("src/own-billing"));
    let shell = task(Action::Shell("make {target} {work_id}".to_owned())).fill(&context()).unwrap();
    let expected = r#"make "${CHECKREIN_VALUE_TARGET}" "${CHECKREIN_VALUE_WORK_ID}""#;
    assert_eq!(shell.action, Action::Shell(expected.to_owned()));
    let env: Vec<String> = shell.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        env,
        [
            "FOR=own-billing/42",
            "CHECKREIN_ARG_TARGET=own-billing",
            "CHECKREIN_ARG_THE_NOTE=two\nlines",
            "CHECKREIN_VALUE_TARGET=own-billing",
            "CHECKREIN_VALUE_WORK_ID=42",
        ]
    );
    let script = task(Action::Script("{target}.sh".to_owned())).fill(&context()).unwrap();
    assert_eq!(script.action, Action::Script("{target}.sh".to_owned()), "a path is taken as it stands");
}

#[test]
fn a_task_says_where_a_value_is_missing() {
    let plain = || task(Action::Shell("x".to_owned()));
    let with = |name: &str| IndexMap::from([(name.to_owned(), "{gone}".to_owned())]);
    for (task, expected) in [
        (Task { arguments: with("n"), ..plain() }, "argument `n`: there is no value for `{gone}`"),
        (Task { env: with("N"), ..plain() }, "variable `N`: there is no value for `{gone}`"),
        (
            Task { working_directory: Some("{gone}".to_owned()), ..plain() },
            "`working_directory`: there is no value for `{gone}`",
        ),
        (Task { action: Action::Shell("{gone}".to_owned()), ..plain() }, "there is no value for `{gone}`"),
    ] {
        assert_eq!(task.fill(&context()).unwrap_err().to_string(), expected);
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "'", "\"", "`", "$(", ")", "((", "$", "{", "}", "{a}", "{{a}}", "\\", "\n", "#", " ", "<<E", "E",
        "x", "@", ";", "é", "$((", "))", "<<-'E'", "\t",
    ]);
    prop::collection::vec(bits, 0..24).prop_map(|bits| bits.concat())
}

proptest! {
    /// What a command comes to does not depend on a value in any way.
    #[test]
    fn a_value_never_reaches_the_command(command in hostile(), value in ".*", other in hostile()) {
        let filled = |value: &str| fill_shell(&command, &Context::from([("a".to_owned(), value.to_owned())]));
        match (filled(&value), filled(&other)) {
            (Ok((one, variables)), Ok((two, _))) => {
                prop_assert_eq!(one, two);
                prop_assert!(variables.iter().all(|(_, own)| *own == value));
            }
            (one, two) => prop_assert_eq!(one.map(|_| ()), two.map(|_| ())),
        }
    }

    #[test]
    fn what_is_escaped_is_filled_to_itself(text in hostile()) {
        prop_assert_eq!(fill_text(&escape_text(&text), &Context::new()), Ok(text.clone()));
        let (command, variables) = fill_shell(&escape_shell(&text), &Context::new()).unwrap();
        prop_assert_eq!(command, text);
        prop_assert!(variables.is_empty());
    }

    #[test]
    fn a_value_stands_in_a_text_as_it_is(before in "[^{}$]*", value in ".*", after in "[^{}]*") {
        let filled = fill_text(&format!("{before}{{a}}{after}"), &Context::from([("a".to_owned(), value.clone())]));
        prop_assert_eq!(filled.unwrap(), format!("{before}{value}{after}"));
    }
}

#[test]
fn what_a_plan_fills_is_known() {
    let taken = |step: Value| {
        let phases = json!([{"name": "build", "enabled": true, "max_retries": 0, "tasks": [step]}]);
        let plan: Plan = serde_json::from_value(json!({"workflow": "w", "phases": phases})).unwrap();
        let names: Vec<String> = plan.placeholders().into_iter().collect();
        (names.join(" "), ["other", "Other", "a.b"].map(|name| plan.takes_value(name)))
    };
    let task = |more: Value| {
        let mut task = json!({"id": "build:a", "name": "a", "kind": "step"});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        taken(task)
    };
    let none = [false; 3];
    assert_eq!(
        task(json!({"action": {"shell": "echo {b} '{a}' ${c} {{d}} # {e}"}})),
        ("a b".to_owned(), none)
    );
    assert_eq!(
        task(json!({
            "action": {"agent": "do {x} and {y}"}, "arguments": {"x": "{z}"}, "env": {"E": "{e}"},
            "working_directory": "{w}",
        })),
        ("e w y z".to_owned(), none)
    );
    assert_eq!(task(json!({"action": {"script": "{p}.sh"}})), (String::new(), [true, false, false]));
}
