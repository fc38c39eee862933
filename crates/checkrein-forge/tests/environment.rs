//! The caller's environment has no say in what git does. One test, because it changes that environment.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs;
use std::process::Command;

use checkrein_forge::*;
use support::*;

const INSIDE: &str = "CHECKREIN_FORGE_HOSTILE";

#[test]
fn nothing_of_the_callers_environment_reaches_git() {
    if std::env::var_os(INSIDE).is_some() {
        let job = Job::with(&[("a", "1\n")]);
        job.write("a", "2\n");
        job.write(".gitattributes", "* filter=x diff=x merge=x\n");
        assert_eq!(job.collect().findings, []);
        let diff = job.bare.diff(&job.main(), &job.head(), &DiffLimits::default()).unwrap();
        assert_eq!(diff.files.len(), 2);
        assert!(matches!(job.merge(Merge::Squash), Merged::Done(_)));
        job.clone_again();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (marker, evil) = (dir.path().join("marker"), dir.path().join("evil"));
    fs::write(&evil, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&evil).status().unwrap().success());
    let evil = evil.to_str().unwrap();
    let config = format!(
        "[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\thooksPath = {hooks}\n[filter \"x\"]\n\tclean = {evil}\n\tsmudge = {evil}\n[diff]\n\texternal = {evil}\n[diff \"x\"]\n\ttextconv = {evil}\n[uploadpack]\n\tpackObjectsHook = {evil}\n[init]\n\ttemplateDir = {hooks}\n",
        hooks = dir.path().display()
    );
    fs::write(dir.path().join(".gitconfig"), &config).unwrap();
    fs::create_dir_all(dir.path().join("git")).unwrap();
    fs::write(dir.path().join("git/config"), &config).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        std::os::unix::fs::symlink(evil, dir.path().join(hook)).unwrap();
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_of_the_callers_environment_reaches_git"])
        .env(INSIDE, "1")
        .env("HOME", dir.path())
        .env("XDG_CONFIG_HOME", dir.path())
        .env("GIT_CONFIG_GLOBAL", dir.path().join(".gitconfig"))
        .env("GIT_CONFIG_SYSTEM", dir.path().join(".gitconfig"))
        .env("GIT_EXTERNAL_DIFF", evil)
        .env("GIT_SSH_COMMAND", evil)
        .env("GIT_PAGER", evil)
        .env("GIT_DIR", "/nowhere")
        .env("GIT_INDEX_FILE", "/nowhere")
        .env("GIT_OBJECT_DIRECTORY", "/nowhere")
        .env("GIT_TEMPLATE_DIR", dir.path())
        .env("GIT_CONFIG_PARAMETERS", format!("'diff.external={evil}'"))
        .env("GIT_TRACE", dir.path().join("trace"))
        .status()
        .unwrap();
    assert!(status.success());
    assert!(!marker.exists(), "something of the environment ran");
    assert!(!dir.path().join("trace").exists());
}
