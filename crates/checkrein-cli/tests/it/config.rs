use std::fs;

use checkrein_core::config::{SCHEMAS, env};
use insta::assert_snapshot;

use crate::docs::{check_file, repository};
use crate::place::Place;

#[test]
fn schemas_in_the_repository_are_those_of_the_code() {
    for schema in SCHEMAS {
        let printed = Place::new().run(&["config", "schema", schema.name]);
        assert_eq!(printed.code, 0);
        check_file(&format!("schemas/{}.json", schema.name), &printed.stdout);
    }
    let kept = fs::read_dir(repository().join("schemas")).unwrap().count();
    assert_eq!(kept, SCHEMAS.len(), "a schema in `schemas/` belongs to nothing");
}

#[test]
fn an_unknown_schema_names_the_known_ones() {
    assert_snapshot!(Place::new().run(&["config", "schema", "workflw"]).seen(), @r"
    -- stderr
    error: there is no schema `workflw`
      hint: did you mean `workflow`?
    -- exit 2
    ");
    assert_snapshot!(Place::new().run(&["config", "schema"]).seen());
}

#[test]
fn every_variable_is_listed_and_documented() {
    let listed = Place::new().env("FLAME_POP_THRESHOLD", "85").run(&["config", "env"]);
    assert_snapshot!(listed.seen());
    let manual = fs::read_to_string(repository().join("docs/configuration.md")).unwrap();
    for (name, _) in env::SETTINGS {
        assert!(manual.contains(&format!("`{name}`")), "docs/configuration.md does not name {name}");
    }
}

#[test]
fn a_misspelt_variable_is_noticed() {
    let ran = Place::new()
        .env("CHECKREIN_JOB_AUTONOMI", "full")
        .env("CHECKREIN_JOB_ID", "7")
        .run(&["policy", "check"]);
    assert_eq!(
        ran.stderr,
        "warning: CHECKREIN_JOB_AUTONOMI: unknown variable, ignored\n  hint: did you mean `CHECKREIN_JOB_AUTONOMY`?\n"
    );
}

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Place::new().run(&["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("checkrein"), "{shell}");
    }
}
