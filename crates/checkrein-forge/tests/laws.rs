//! Whatever small tree is in a clone, the same tree is in the commit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use checkrein_forge::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use support::*;

#[derive(Clone, Debug, PartialEq)]
enum Node {
    File(Vec<u8>, bool),
    Link(Vec<u8>),
    Directory(BTreeMap<Vec<u8>, Node>),
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => prop::sample::select(b"ab-. \n\"\\:*!#~".to_vec()), 1 => 1_u8..=255];
    vec(byte, 1..6).prop_filter("no name of a file", |name| {
        !name.contains(&b'/') && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git")
    })
}

fn tree() -> impl Strategy<Value = BTreeMap<Vec<u8>, Node>> {
    let target = vec(1_u8..=255, 1..10);
    let leaf = prop_oneof![
        4 => (vec(any::<u8>(), 0..40), any::<bool>()).prop_map(|(bytes, run)| Node::File(bytes, run)),
        1 => target.prop_map(Node::Link),
    ];
    let node =
        leaf.prop_recursive(3, 12, 4, |inner| btree_map(name(), inner, 0..4).prop_map(Node::Directory));
    btree_map(name(), node, 0..5)
}

fn write(at: &std::path::Path, tree: &BTreeMap<Vec<u8>, Node>) {
    for (name, node) in tree {
        let path = at.join(OsStr::from_bytes(name));
        match node {
            Node::File(bytes, run) => {
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(if *run { 0o755 } else { 0o644 })).unwrap();
            }
            Node::Link(target) => symlink(OsStr::from_bytes(target), path).unwrap(),
            Node::Directory(inner) => {
                fs::create_dir(&path).unwrap();
                write(&path, inner);
            }
        }
    }
}

fn flat(prefix: &[u8], tree: &BTreeMap<Vec<u8>, Node>, into: &mut BTreeMap<Vec<u8>, (EntryKind, Vec<u8>)>) {
    for (name, node) in tree {
        let path = [prefix, name].concat();
        match node {
            Node::File(bytes, true) => drop(into.insert(path, (EntryKind::Executable, bytes.clone()))),
            Node::File(bytes, false) => drop(into.insert(path, (EntryKind::File, bytes.clone()))),
            Node::Link(target) => drop(into.insert(path, (EntryKind::Link, target.clone()))),
            Node::Directory(inner) => flat(&[path, b"/".to_vec()].concat(), inner, into),
        }
    }
}

#[test]
fn a_clone_is_collected_as_it_is() {
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    let checked = TestRunner::new(config).run(&(tree(), tree()), |(first, second)| check(&[first, second]));
    checked.unwrap();
}

fn check(trees: &[BTreeMap<Vec<u8>, Node>]) -> Result<(), TestCaseError> {
    let job = Job::with(&[]);
    for tree in trees {
        for entry in fs::read_dir(&job.clone).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name() != Some(OsStr::new(".git")) {
                job.bare.discard_clone(&path).unwrap();
            }
        }
        write(&job.clone, tree);
        let collected = job.collect();
        let odd = collected.findings.iter().find(|f| !matches!(f, Finding::LinkLeavesTree { .. }));
        prop_assert_eq!(odd, None);
        let mut expected = BTreeMap::new();
        flat(b"", tree, &mut expected);
        let mut found = BTreeMap::new();
        for entry in job.bare.list_files(&collected.head).unwrap() {
            let content = job.bare.show_file(&collected.head, &entry.path, 1000).unwrap();
            found.insert(entry.path.as_bytes().to_vec(), (entry.kind, content.bytes));
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(job.collect().landing, Landing::Nothing);
    }
    Ok(())
}

#[test]
fn files_that_rested_become_those_of_any_commit() {
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&(tree(), tree()), |(first, second)| check_rested(&first, &second)).unwrap();
}

fn check_rested(
    first: &BTreeMap<Vec<u8>, Node>,
    second: &BTreeMap<Vec<u8>, Node>,
) -> Result<(), TestCaseError> {
    let job = Job::with(&[(".gitignore", "/built\n")]);
    job.write("built", "by the agent");
    write(&job.clone, first);
    let collected = job.collect();
    job.bare.rest_clone(&job.clone, &collected).unwrap();

    let elsewhere = Job { clone: job.dir.path().join("elsewhere/clone"), ..job };
    elsewhere.bare.create_clone(&elsewhere.clone, &elsewhere.branch, &agent()).unwrap();
    for entry in fs::read_dir(&elsewhere.clone).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().as_bytes().starts_with(b".git") {
            elsewhere.bare.discard_clone(&path).unwrap();
        }
    }
    write(&elsewhere.clone, second);
    let head = elsewhere.collect().head;

    let job = Job { clone: elsewhere.dir.path().join("clone"), ..elsewhere };
    job.bare.create_clone(&job.clone, &job.branch, &agent()).unwrap();
    prop_assert_eq!(job.clone.join("built").exists(), collected.whole);
    prop_assert_eq!(sh(&job.clone, &["status", "--porcelain"]), "");
    let again = job.collect();
    prop_assert_eq!((again.head, again.landing), (head, Landing::Nothing));
    Ok(())
}

/// Each case runs git a hundred times, so a share of what is asked for is enough.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse::<u32>().ok())
        .map_or(12, |cases| cases / 50)
}
