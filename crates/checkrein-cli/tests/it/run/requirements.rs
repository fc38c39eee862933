//! The table in `docs/requirements.md` names tests that are there.

use std::collections::BTreeSet;
use std::fs;

use crate::docs::repository;

const NAME: &str = "docs/requirements.md";

#[test]
fn every_test_in_the_table_is_there() {
    let table = fs::read_to_string(repository().join(NAME)).unwrap();
    let named: BTreeSet<&str> = table.split('`').filter(|text| text.contains("::")).collect();
    assert!(named.len() > 50, "{NAME} names only {}", named.len());
    for test in named.into_iter().filter(|name| *name != "run::requirements") {
        let (module, name) = test.rsplit_once("::").unwrap();
        let path = format!("crates/checkrein-cli/tests/it/{}.rs", module.replace("::", "/"));
        let source = fs::read_to_string(repository().join(&path)).unwrap_or_default();
        assert!(source.contains(&format!("#[test]\nfn {name}()")), "{NAME}: there is no test `{test}`");
    }
}

#[test]
fn every_requirement_is_in_the_table() {
    let table = fs::read_to_string(repository().join(NAME)).unwrap();
    let ids =
        (1..=23).map(|number| format!("FR{number}")).chain((1..=4).map(|number| format!("NFR{number}")));
    for id in ids {
        let row = table.lines().any(|line| line.starts_with(&format!("| {id} |")));
        assert!(row, "{NAME} must say where {id} is tested");
    }
}
