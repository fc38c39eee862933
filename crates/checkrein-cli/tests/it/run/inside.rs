//! What runs inside an attempt cannot answer for a person.

use super::{ran, scene, status, steps, waits_at};

/// A run that waits, and another whose step tries something about it.
fn tried(command: &str, token: bool) -> (String, String, String) {
    let place = scene(&steps(&[("a", "sh found warnings low")]));
    let (_, waiting) = ran(&place, &[], 3);
    let checkpoint = waits_at(&place, &waiting);
    let command = command.replace("CHECKPOINT", &checkpoint).replace("RUN", &waiting);
    // A token that lies around helps nobody in there.
    let lying = place.token("admin", "ann");
    let prefix = if token { format!("CHECKREIN_TOKEN={lying} ") } else { String::new() };
    let command = format!("{prefix}{command} > out 2> err; echo $? > code");
    let place = place.file("flow.yaml", &steps(&[("try", &command)]));
    ran(&place, &[], 0);
    (place.read("code").trim().to_owned(), place.read("err"), status(&place, &waiting))
}

#[test]
fn verdicts_yes_cancel_and_workers_are_refused() {
    for command in [
        "checkrein approve CHECKPOINT",
        "checkrein reject CHECKPOINT -m no",
        "checkrein resume RUN --yes",
        "checkrein rerun RUN --yes",
        "checkrein cancel RUN",
        "checkrein worker --once",
    ] {
        for token in [false, true] {
            let (code, said, after) = tried(command, token);
            assert_eq!(code, "1", "{command} with a token: {token}: {said}");
            assert!(said.contains("from inside an agent's attempt"), "{command}: {said}");
            assert_eq!(after, "held", "{command}");
        }
    }
}

#[test]
fn resuming_without_yes_only_holds_again() {
    let (code, said, after) = tried("checkrein resume RUN", false);
    assert_eq!((code.as_str(), after.as_str()), ("3", "held"), "{said}");
}

#[test]
fn a_step_gets_no_token_and_is_told_what_it_is() {
    let place = scene(&steps(&[("a", "env | sort > env-of-step")])).env("MINE", "kept");
    let token = place.token("admin", "ann");
    let run = place.run_as(&token, &["run", "flow.yaml", "--target", "feat/x", "--work-id", "237"]);
    super::expect(&run, 0);
    let id = super::id_of(&run);
    let env = place.read("env-of-step");
    assert!(!env.contains(&token) && !env.contains("CHECKREIN_TOKEN"), "{env}");
    for line in [
        "MINE=kept",
        &format!("CHECKREIN_RUN_ID={id}"),
        "CHECKREIN_WORKFLOW_ID=flow",
        "CHECKREIN_PHASE=build",
        "CHECKREIN_STEP=a",
        "CHECKREIN_ATTEMPT_NUMBER=1",
        "CHECKREIN_TARGET=feat/x",
        "CHECKREIN_WORK_ID=237",
    ] {
        assert!(env.lines().any(|known| known == line), "{line}: {env}");
    }
    assert!(
        env.contains("CHECKREIN_RESPONSE=/") && env.contains(&format!("CHECKREIN_ATTEMPT={id}/1")),
        "{env}"
    );
}

#[test]
fn a_run_inside_a_step_is_held_by_its_gates_like_any_other() {
    let inner = "checkrein run inner.yaml > out 2>&1; echo $? > code";
    let place = scene(&steps(&[("a", inner)])).file(
        "inner.yaml",
        "phases: {build: {steps: [{id: b, run: touch built}]}, release: {require_approval: true, steps: [{id: c, run: touch shipped}]}}",
    );
    let (_, outer) = ran(&place, &[], 0);
    assert_eq!(place.read("code"), "3\n", "{}", place.read("out"));
    assert!(place.path().join("built").exists() && !place.path().join("shipped").exists());
    assert_eq!(status(&place, &outer), "completed");
}

/// What an attempt leaves behind is adopted by its supervisor, so forgetting who it is does not help.
#[test]
fn forgetting_what_it_is_does_not_help_a_step() {
    let hidden = "env -i PATH=\"$PATH\" HOME=\"$HOME\" checkrein";
    let steps = steps(&[
        ("token", &format!("{hidden} token create --role admin --name me > token 2>&1; echo $? >> codes")),
        ("verdict", &format!("{hidden} approve other > verdict 2>&1; echo $? >> codes")),
        (
            "away",
            &format!(
                "(setsid {hidden} approve other > away 2>&1; touch gone) & until test -f gone; do sleep 0.01; done"
            ),
        ),
    ]);
    let place = scene(&steps);
    super::ran(&place, &[], 0);
    assert!(place.read("token").contains("role admin, not agent"), "{}", place.read("token"));
    for file in ["verdict", "away"] {
        assert!(place.read(file).contains("from inside an agent's attempt"), "{file}: {}", place.read(file));
    }
    assert!(!place.read("codes").contains('0'), "{}", place.read("codes"));
}
