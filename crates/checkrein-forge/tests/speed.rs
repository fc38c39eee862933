//! Size alone breaks nothing; how long the engine's part of a phase takes is printed, and measured by `scripts/bench`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs;
use std::time::Instant;

use checkrein_forge::*;
use support::*;

fn fill(job: &Job, files: usize) {
    for number in 0..files {
        let directory = job.clone.join(format!("dir-{}/sub-{}", number % 20, number % 7));
        fs::create_dir_all(&directory).unwrap();
        let text: String = (0..60).map(|line| format!("line {line} of file {number}\n")).collect();
        fs::write(directory.join(format!("file-{number}.txt")), text).unwrap();
    }
}

#[test]
fn a_phase_in_a_repository_of_a_thousand_files() {
    let job = Job::with(&[(".gitignore", "target/\n")]);
    fill(&job, 1000);
    job.collect();
    job.merge(Merge::Squash);
    let mut spent = Vec::new();
    for round in 0..5 {
        let branch = job.bare.names().phase(3 + round, checkrein_core::boundary::PhaseKind::Tactical, 1);
        let phase = Job {
            branch,
            dir: tempfile::tempdir().unwrap(),
            git: job.git.clone(),
            bare: job.bare.clone(),
            clone: job.dir.path().join(format!("clone-{round}")),
        };
        let start = Instant::now();
        phase.bare.cut_branch(&phase.branch, &phase.main()).unwrap();
        phase.bare.create_clone(&phase.clone, &phase.branch, &agent()).unwrap();
        let cloned = start.elapsed();
        phase.write("dir-1/sub-1/file-1.txt", format!("changed {round}"));
        phase.write(&format!("new-{round}"), "new");
        let start = Instant::now();
        let head = phase.collect().head;
        let collected = start.elapsed();
        assert!(matches!(phase.merge(Merge::Squash), Merged::Done(_)));
        phase.bare.delete_branch(&phase.branch, &head).unwrap();
        spent.push((collected, start.elapsed() - collected, cloned));
    }
    spent.sort();
    let (collect, merge, clone) = spent[spent.len() / 2];
    println!(
        "1,000 files: collect {collect:?}, squash merge and delete {merge:?}, branch and clone {clone:?}"
    );
}

#[test]
fn fifty_thousand_files_are_collected() {
    let job = Job::with(&[("a", "1")]);
    fill(&job, 50_000);
    let start = Instant::now();
    let collected = job.collect();
    let first = start.elapsed();
    assert_eq!((collected.files_changed.len(), collected.findings.len()), (50_000, 0));
    let start = Instant::now();
    assert_eq!(job.collect().landing, Landing::Nothing);
    let again = start.elapsed();
    let diff = job.bare.diff(&job.main(), &job.head(), &DiffLimits::default()).unwrap();
    assert_eq!((diff.files.len(), diff.cut), (50_000, true));
    println!("50,000 files: collect {first:?}, again {again:?}");
}
