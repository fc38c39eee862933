//! A job on a repository that was there: whose it stays, and how the result comes back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Job, agent_of, commit, git, id_of, job, scene, try_git, with_repository};
use crate::place::Place;
use crate::run::{Ann, expect};

/// Every file of a repository with its content, mode and time, but for objects and branches of jobs.
fn snapshot(repo: &Path) -> BTreeMap<String, (Vec<u8>, u32, i64)> {
    let mut found = BTreeMap::new();
    let mut left = vec![repo.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(repo).unwrap().to_str().unwrap().to_owned();
            if [".git/objects", ".git/refs/heads/checkrein", ".git/logs/refs/heads/checkrein"]
                .contains(&name.as_str())
            {
                continue;
            }
            let meta = path.symlink_metadata().unwrap();
            if meta.is_dir() {
                left.push(path);
            } else {
                found.insert(name, (fs::read(&path).unwrap(), meta.mode(), meta.mtime_nsec()));
            }
        }
    }
    found
}

fn done(place: Place) -> Job {
    job(place, &["--repo", "repo", "--autonomy", "full"], 0)
}

/// What was told about the result.
fn published(job: &Job) -> String {
    let landed = job.events_of("phase_landed");
    landed.last().unwrap()["published"].as_str().unwrap().to_owned()
}

#[test]
fn a_dirty_tree_stays_as_it_is() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    fs::write(repo.join("readme"), "changed, not staged\n").unwrap();
    fs::write(repo.join("staged"), "staged\n").unwrap();
    git(&repo, &["add", "staged"]);
    fs::write(repo.join("staged"), "and changed again\n").unwrap();
    fs::write(repo.join("untracked"), "mine\n").unwrap();
    git(&repo, &["stash", "list"]);
    let before = snapshot(&repo);
    let job = done(place);
    let after = snapshot(&repo);
    let names = |of: &BTreeMap<String, _>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    for (name, was) in &before {
        assert_eq!(was, &after[name], "{name}");
    }
    let result = format!("checkrein/{}/result", job.id);
    let told = published(&job);
    assert!(told.contains(&result) && told.contains("git merge") && told.contains("checked out"), "{told}");
    assert_eq!(git(&repo, &["show", &format!("{result}:work-2")]), "work of 2.1");
    assert_eq!(git(&repo, &["show", &format!("{result}:readme")]), "hello", "what was committed counts");
    let names = git(&repo, &["ls-tree", "-r", "--name-only", &result]);
    assert_eq!(names, "plan.md\nreadme\nwork-2", "nothing of the job's own files");
    let mut merge = try_git(&repo, &["stash", "--include-untracked", "--quiet"]);
    assert_eq!(merge.1, 0, "{}", merge.0);
    merge = try_git(&repo, &["merge", "--quiet", &result]);
    assert_eq!(merge.1, 0, "the hint works: {}", merge.0);
}

#[test]
fn what_is_done_is_told_at_the_end() {
    let place = with_repository(scene("usual"));
    let job = done(place);
    let told = published(&job);
    let said = &job.given.stderr;
    assert!(said.contains(&format!("checkrein/{}/result", job.id)), "{told}\n{said}");
}

#[test]
fn a_branch_that_nobody_has_checked_out_is_moved() {
    let place = with_repository(scene(r#"until test -f "$here/go"; do sleep 0.02; done; usual"#));
    let repo = place.path().join("repo");
    let begun = git(&repo, &["rev-parse", "main"]);
    let queued = place.run(&[
        "job",
        "Write",
        "--agent",
        &agent_of(&place),
        "--repo",
        "repo",
        "--autonomy",
        "full",
        "--queue",
    ]);
    expect(&queued, 0);
    git(&repo, &["switch", "--quiet", "--create", "other"]);
    fs::write(place.path().join("go"), "").unwrap();
    let id = queued.stdout.trim().to_owned();
    expect(&place.run(&["resume", &id]), 0);
    assert_eq!(git(&repo, &["rev-parse", "other"]), begun);
    assert_eq!(git(&repo, &["show", "main:work-2"]), "work of 2.1");
    assert_eq!(git(&repo, &["log", "--format=%s", "main"]).lines().next_back(), Some("first"));
    let left = git(&repo, &["branch", "--format=%(refname:short)"]);
    assert_eq!(left, "main\nother", "nothing of the job but its result");
    assert!(!git(&repo, &["ls-tree", "-r", "--name-only", "main"]).contains(".checkrein"));
    assert_eq!(git(&repo, &["status", "--porcelain"]), "");
}

#[test]
fn a_branch_that_went_on_is_merged() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    let job = job(place, &["--repo", "repo", "--autonomy", "review"], 3);
    fs::write(repo.join("more"), "from carla\n").unwrap();
    let carlas = commit(&repo, "meanwhile");
    git(&repo, &["switch", "--quiet", "--create", "other"]);
    job.approve(0);
    assert_eq!(git(&repo, &["show", "main:more"]), "from carla");
    assert_eq!(git(&repo, &["show", "main:work-2"]), "work of 2.1");
    assert_eq!(try_git(&repo, &["merge-base", "--is-ancestor", &carlas, "main"]).1, 0);
}

#[test]
fn the_repository_around_here_is_taken() {
    let place = with_repository(scene("usual"));
    let deep = place.path().join("repo/deep/er");
    fs::create_dir_all(&deep).unwrap();
    let mut command = place.command(crate::place::BINARY);
    let agent = agent_of(&place);
    let ran = command.args(["job", "Write", "--agent", &agent]).current_dir(&deep).output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    let id = place.run(&["runs", "--json"]).json()["items"][0]["run_id"].as_str().unwrap().to_owned();
    let shown = place.run(&["show", &id, "--json"]).json();
    let directory =
        shown["job"]["definition"]["repository"]["existing"]["directory"].as_str().unwrap().to_owned();
    assert_eq!(Path::new(&directory), place.path().join("repo/.git").canonicalize().unwrap());
}

#[test]
fn a_linked_worktree_counts_as_its_own() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    git(&repo, &["worktree", "add", "--quiet", "-b", "side", "../linked"]);
    fs::write(place.path().join("linked/side"), "of the side branch\n").unwrap();
    let head = commit(&place.path().join("linked"), "side");
    let before = (snapshot(&repo), snapshot(&place.path().join("linked")));
    let job = job(place, &["--repo", "linked", "--autonomy", "full"], 0);
    let definition = &job.show()["job"]["definition"]["repository"]["existing"];
    assert_eq!((&definition["branch"], &definition["commit"]), (&"side".into(), &head.clone().into()));
    assert!(published(&job).contains("checked out"), "{}", published(&job));
    assert_eq!(before, (snapshot(&repo), snapshot(&job.place.path().join("linked"))));
    assert_eq!(git(&repo, &["rev-parse", "side"]), head);
    let result = format!("checkrein/{}/result", job.id);
    assert_eq!(git(&repo, &["show", &format!("{result}:side")]), "of the side branch");
}

#[test]
fn a_detached_head_gets_a_branch_of_the_result() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    git(&repo, &["switch", "--quiet", "--detach"]);
    let job = done(place);
    assert!(published(&job).contains("did not start from a branch"), "{}", published(&job));
    assert_eq!(git(&repo, &["show", &format!("checkrein/{}/result:work-2", job.id)]), "work of 2.1");
}

#[test]
fn what_is_no_repository_is_refused_before_anything_is_recorded() {
    let place = scene("usual").file("plain/x", "");
    fs::create_dir(place.path().join("empty")).unwrap();
    git(place.path(), &["init", "--quiet", "empty"]);
    for (directory, about) in [("plain", "plain"), ("empty", "commit"), ("nowhere", "nowhere")] {
        let refused = super::give(&place, &["--repo", directory]);
        assert!(matches!(refused.code, 2 | 6), "{directory}: {}", refused.seen());
        assert!(refused.stderr.contains(about), "{directory}: {}", refused.seen());
    }
    assert_eq!(crate::run::only_run(&place), None);
}

#[test]
fn a_job_that_changes_only_its_own_files_leaves_nothing() {
    let agent = r#"case $n in
      1) mkdir -p .checkrein/job; echo plan > .checkrein/job/plan.md; answer '{"next_todos":["think"]}' ;;
      2) answer '{"summary":"thought"}' ;;
      *) complete ;;
    esac"#;
    let place = with_repository(scene(agent));
    let repo = place.path().join("repo");
    let job = done(place);
    assert!(published(&job).contains("nothing outside its own files"), "{}", published(&job));
    assert_eq!(git(&repo, &["branch", "--list", "*/result"]), "");
    assert_eq!(git(&repo, &["log", "--format=%s", "main"]), "first");
}

#[test]
fn a_commit_on_a_branch_shown_there_is_part_of_the_review() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    let job = job(place, &["--repo", "repo"], 3);
    let branch = format!("checkrein/{}/phase-1-strategic", job.id);
    let beside = job.place.path().join("beside");
    git(&repo, &["worktree", "add", "--quiet", beside.to_str().unwrap(), &branch]);
    fs::write(beside.join("notes"), "from carla\n").unwrap();
    let head = commit(&beside, "carla's notes");
    job.ann("approve", &[], 6);
    assert_eq!(job.asked()["head"], head.as_str());
    job.ann("approve", &["--digest", &head], 0);
    job.resume(3);
    assert_eq!(job.file(&format!("checkrein/{}/main", job.id), "notes"), "from carla");
    assert_eq!(git(&beside, &["rev-parse", "HEAD"]), head, "what is checked out stays");
}

#[test]
fn hooks_and_filters_of_the_repository_do_not_run() {
    let place = with_repository(scene("usual"))
        .file("repo/.gitattributes", "* filter=bad diff=bad\n")
        .file("repo/.git/hooks/reference-transaction", "#!/bin/sh\ntouch \"$PWD/../hooked\"\n");
    let repo = place.path().join("repo");
    let hook = repo.join(".git/hooks/reference-transaction");
    commit(&repo, "attributes");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mark = place.path().join("filtered");
    let run = format!("touch {}; cat", mark.display());
    for key in ["filter.bad.clean", "filter.bad.smudge", "diff.bad.textconv", "core.fsmonitor"] {
        git(&repo, &["config", key, &run]);
    }
    let job = done(place);
    assert!(!mark.exists() && !job.place.path().join("hooked").exists());
    assert!(!published(&job).is_empty());
}

#[test]
fn a_job_goes_on_although_its_repository_is_gone_meanwhile() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    let queued = place.run(&["job", "Write", "--agent", &agent_of(&place), "--repo", "repo"]);
    expect(&queued, 3);
    let id = id_of(&queued);
    fs::rename(&repo, place.path().join("moved")).unwrap();
    let ann = Ann::of(&place);
    ann.lets_go_on(&place, &id, 3);
    // Only its result has nowhere to go, and that is told.
    let at = crate::run::waits_at(&place, &id);
    expect(&ann.says(&place, &["approve", &at]), 0);
    let lost = place.run(&["resume", &id]);
    assert_ne!(lost.code, 0, "{}", lost.seen());
    assert!(lost.stderr.contains("repo"), "{}", lost.seen());
    fs::rename(place.path().join("moved"), &repo).unwrap();
    expect(&place.run(&["resume", &id]), 0);
    assert_eq!(git(&repo, &["show", &format!("checkrein/{id}/result:work-2")]), "work of 2.1");
}
