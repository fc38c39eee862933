mod advertise;
mod fetch;
mod push;

use std::path::{Path, PathBuf};

use crate::job::create::{git, try_git};
use crate::place::Place;

/// Where a job is cloned from, with a token as the password.
fn url(place: &Place, token: &str, job: &str) -> String {
    format!("http://git:{token}@{}/git/{job}.git", place.address)
}

/// A clone of a job with the branch of its plan checked out.
fn cloned(place: &Place, token: &str, job: &str, name: &str) -> PathBuf {
    git(place.path(), &["clone", "--quiet", "--branch", "phase-1-strategic", &url(place, token, job), name]);
    place.path().join(name)
}

/// Commits a file in a clone; the commit.
fn commit(clone: &Path, file: &str, text: &str) -> String {
    std::fs::write(clone.join(file), text).unwrap();
    git(clone, &["add", "--all"]);
    git(clone, &["commit", "--quiet", "--message", "mine"]);
    git(clone, &["rev-parse", "HEAD"])
}

/// What a push that has to fail says.
fn refused(clone: &Path, arguments: &[&str]) -> String {
    let (said, done) = try_git(clone, &[&["push", "origin"], arguments].concat());
    assert!(!done, "{arguments:?}: {said}");
    said
}
